package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/trouble"
	"github.com/dlxtop/dlxtop/ui/term"
)

// ReadyField returns how many messages are ready in a queue, or that it is unknown because the queue is down.
func ReadyField(ready model.Opt[int64], down bool, some term.Style) term.Span {
	if down {
		return term.Danger.Span("down").By(float64(ready.Or(-1)))
	}
	return term.Number(ready, some)
}

// compareOpt sorts unknown values below known ones.
func compareOpt[N cmp.Ordered](a, b model.Opt[N]) int {
	x, known := a.Get()
	y, other := b.Get()
	switch {
	case known == other:
		return cmp.Compare(x, y)
	case known:
		return 1
	}

	return -1
}

// ReadableError words an error for the user, with the next step if there is one.
func ReadableError(err error) string {
	var connect *trouble.Error
	if errors.As(err, &connect) {
		return connect.Cause + ": " + connect.Next
	}
	queue := []error{model.ErrQueueGone, model.ErrQueueDown, model.ErrQueueExclusive, model.ErrConsumeRefused}
	for _, known := range queue {
		if errors.Is(err, known) {
			return known.Error()
		}
	}

	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time: the broker is busy, or what was asked for is large"
	}

	return err.Error()
}

// Age returns a duration for the header: whole seconds, then minutes, hours and days.
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm %02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh %02dm", int(d.Hours()), int(d.Minutes())%60)
	}

	return model.Count(int(d.Hours())/24) + "d"
}

// Absolute returns a typed path made absolute, with ~ expanded: it says where the file is.
func Absolute(path string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("~ is unknown: %w", err)
		}
		path = home + rest
	}

	return filepath.Abs(path)
}

// AgoOf returns "2m ago", "?" when unknown.
func AgoOf(t model.Opt[time.Time], now time.Time) string {
	at, known := t.Get()
	if !known {
		return "?"
	}
	age, _, _ := strings.Cut(Age(max(now.Sub(at), 0)), " ")
	return age + " ago"
}

// ClockOf returns the time of day for today, "Nov 19" for another day, "?" when unknown.
func ClockOf(t model.Opt[time.Time], now time.Time) string {
	at, known := t.Get()
	if !known {
		return "?"
	}
	at, now = at.Local(), now.Local()
	if at.YearDay() == now.YearDay() && at.Year() == now.Year() {
		return at.Format("15:04")
	}

	return at.Format("Jan 2")
}
