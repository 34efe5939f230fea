package ui

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/ui/picture"
)

// agreed finds numbers on a screen, and fails when they differ. It returns how many there are.
func (term *terminal) agreed(numbers *regexp.Regexp, screen string) int {
	term.t.Helper()
	found := numbers.FindAllStringSubmatch(screen, -1)
	for _, f := range found {
		a, b := strings.Join(f[1:], ""), strings.Join(found[0][1:], "")
		must.That(term.t, a == b, "%s and %s on one screen:\n%s", b, a, screen)
	}
	return len(found)
}

// TestOneCountOnAScreen: while messages fail, header, tab, list, picture and what is below and beside it say the same
// number of them. Polls are an hour apart here: what only they told would differ.
func TestOneCountOnAScreen(t *testing.T) {
	storySizes(t, func(t *testing.T, width, height int) {
		o, channel := storyVHost(t)
		o.Interval = time.Hour
		must.Get(channel.QueueDeclare("ship", true, false, false, false, nil))(t)
		failInto(t, channel, "ship.failed", "classic", "ValueError: no address", 1)
		publish(t, channel, "ship.failed", make([]amqp.Publishing, 699)...)
		screen := newTerminal(t, o, width, height)
		screen.await("3 Failed 700", "700 ready")
		everywhere, least := regexp.MustCompile(`\b(70\d)\b`), 4
		for n := 701; n < 705; n++ {
			if n == 703 {
				everywhere, least = regexp.MustCompile(`3 Failed (70\d)|\b(70\d) (?:failed|ready|messages  )`), 2
				screen.press(keyEnter)
				screen.await("MOVED  live")
			}
			publish(t, channel, "ship.failed", amqp.Publishing{})
			screen.awaitThat("the new count", func(s string) bool {
				return screen.agreed(everywhere, s) >= least && strings.Contains(s, fmt.Sprint("3 Failed ", n))
			})
		}
	})
}

// TestChartAndDotsAreOfThePicture: the chart's rates are those of the box, and where dots move it is not said that
// nothing did.
func TestChartAndDotsAreOfThePicture(t *testing.T) {
	o, channel := storyVHost(t)
	must.Get(channel.QueueDeclare("ship", true, false, false, false, nil))(t)
	failInto(t, channel, "ship.failed", "classic", "ValueError: no address", 1)
	deliveries := must.Get(channel.Consume("ship", "", true, false, false, false, nil))(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			_ = channel.PublishWithContext(ctx, "", "ship", false, false, amqp.Publishing{})
			select {
			case <-ctx.Done():
			case <-deliveries:
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	defer func() { cancel(); <-done }()
	screen := newTerminal(t, o, 120, 36)
	screen.awaitThat("it moves", func(s string) bool { return regexp.MustCompile(`[1-9]\d*\.\d/s out`).MatchString(s) })
	screen.press(keyEnter)
	screen.await("story/ship", "MOVED  ")
	moving := func(s string) {
		must.That(t, !strings.Contains(s, picture.MarkDot) || !strings.Contains(s, "nothing moved"),
			"dots move, and nothing moved:\n%s", s)
	}
	screen.press("c")
	screen.awaitThat("the rate is in the box and in the chart", func(s string) bool {
		moving(s)
		both := screen.agreed(regexp.MustCompile(`(\d+\.\d)/s out|out (\d+\.\d)/s`), s)
		return both == 2 && !strings.Contains(s, "out 0.0/s")
	})
	screen.press("c")
	screen.awaitThat("it is delivered", func(s string) bool {
		moving(s)
		return strings.Contains(s, "delivered")
	})
}
