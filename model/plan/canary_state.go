package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// CanaryPhase is how far a canary is, or how it ended.
type CanaryPhase string

// The phases.
const (
	CanaryWaits     CanaryPhase = "waits"     // until the sent messages are taken
	CanaryWatches   CanaryPhase = "watches"   // whether they come back
	CanaryUnsettled CanaryPhase = "unsettled" // nothing came back, but they are not acknowledged
	CanaryPassed    CanaryPhase = "passed"    // acknowledged, where that is known, and nothing came back
	CanaryHurried   CanaryPhase = "hurried"   // the user did not want to wait any longer
	CanaryFailed    CanaryPhase = "came back" // some of the messages
	CanaryCut       CanaryPhase = "cut"       // it ended before anything was known
)

// CanaryState is what a canary is doing, or has shown at the end. The zero value: no canary, or it has not begun.
type CanaryState struct {
	Phase CanaryPhase
	Sent  int              // messages so far
	Back  int              // with CanaryFailed: how many came back
	Wait  time.Duration    // how long it watches
	Until time.Time        // when it stops waiting
	Idle  []model.QueueRef // with CanaryWaits: queues of sent messages that have no consumers
	Ahead int64            // with CanaryWaits: messages up to the last one sent
	Acks  *CanaryAcks      // with CanaryUnsettled
}

// Waits reports whether it is waiting; Run.GoOn ends that.
func (s *CanaryState) Waits() bool {
	return s.Phase == CanaryWaits || s.Phase == CanaryWatches || s.Phase == CanaryUnsettled
}

// Words say exactly what it is doing, or has shown; "" without a canary.
func (s *CanaryState) Words() string {
	switch s.Phase {
	case CanaryWaits:
		words := model.Sayf("%d sent, waiting until %s taken", s.Sent, many(s.Sent, "it is", "they are"))
		if why := s.WaitsFor(); why != "" {
			words += ": " + why
		}
		return words
	case CanaryWatches:
		return model.Sayf("%d taken, watching for %s that none comes back", s.Sent, s.Wait)
	case CanaryUnsettled:
		return model.Sayf("%d taken, %s", s.Sent, s.Acks.ackWords())
	case CanaryPassed:
		not := many(s.Sent, "was taken, and did not come", "were taken, and none came")
		return model.Sayf("%d %s back within %s", s.Sent, not, s.Wait)
	case CanaryHurried:
		return model.Sayf("after %d it went on without waiting to the end", s.Sent)
	case CanaryFailed:
		return model.Sayf("%d of %d came back", s.Back, s.Sent)
	case CanaryCut:
		return model.Sayf("%d sent; stopped before the outcome was known", s.Sent)
	}
	return ""
}

// Left is the remaining wait, to follow Words: ", 7s left"; "" when it does not wait.
func (s *CanaryState) Left(now time.Time) string {
	if !s.Waits() || s.Until.IsZero() {
		return ""
	}
	return ", " + model.ShortDuration(max(s.Until.Sub(now), 0).Truncate(time.Second)) + " left"
}

// WaitsFor is why the sent messages are not taken, as far as their queues show; "" when they do not.
func (s *CanaryState) WaitsFor() string {
	idle := make([]string, len(s.Idle))
	for i, q := range s.Idle {
		idle[i] = model.Printable(q.String())
	}
	switch {
	case len(idle) > 0:
		return "no consumers on " + strings.Join(idle, ", ")
	case s.Ahead > 0:
		return model.Plural(s.Ahead, "message") + " to go in its queue"
	}
	return ""
}

// ackWords say what a queue shows instead of an acknowledgement.
func (a *CanaryAcks) ackWords() string {
	queue := model.Printable(a.Queue.String())
	words := fmt.Sprintf("%d of %d acknowledged in %s", min(max(a.Taken, 0), a.Sent), a.Sent, queue)
	if a.Taken <= 0 {
		words = "none acknowledged in " + queue
	}
	if a.Unacked > 0 {
		words += fmt.Sprintf(", %d unacknowledged", a.Unacked)
	}
	if a.Redelivered > 0 {
		words += fmt.Sprintf(", redelivered %d times", a.Redelivered)
	}
	return words
}
