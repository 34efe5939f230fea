package ui

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/ports"
)

// terminalSizes are those that every main screen is recorded at.
var terminalSizes = []struct {
	name          string
	width, height int
}{{"120x36", 120, 36}, {"80x24", 80, 24}}

// frozen are options under which nothing happens but what the test does: no time passes and no second poll comes by
// itself.
func frozen(source ports.Source) Options {
	return Options{Source: source, Title: "prod", Interval: time.Hour, Now: newClock().now, dotStep: time.Hour}
}

// lively are options for tests of the polling.
func lively(source ports.Source, c *clock) Options {
	return Options{Source: source, Title: "prod", Interval: 10 * time.Millisecond, Now: c.now}
}

func TestScreens(t *testing.T) {
	for _, size := range terminalSizes {
		for _, tc := range []struct {
			name string
			keys []string
			has  string
		}{
			{"flows", nil, "MOVED/s"},
			{"flows-failed", []string{"j"}, "ucenter@user@failed"},
			{"flows-filter", []string{"/", "user"}, "of 6"},
			{"queues", []string{"2"}, "OUT/s"},
			{"failed", []string{"3", "f"}, "FAILED QUEUE"},
			{"findings", []string{"4"}, "WHAT"},
			{"explain", []string{"4", keyEnter}, "Buffers feed the worker"},
			{"help", []string{"?"}, "everywhere"},
			{"palette", []string{":", "f"}, "findings"},
		} {
			t.Run(tc.name+"/"+size.name, func(t *testing.T) {
				before := busyBroker()
				source := &recorded{snapshot: before}
				term := newTerminal(t, frozen(source), size.width, size.height)
				term.await("1,204")
				source.tell(later(before, 2*time.Second, map[string]int64{"ucenter@user@retry": 1199, "test-delay": 2}))
				term.press(keyCtrlR)
				term.await("1,199")
				term.press(tc.keys...)
				term.await(tc.has)
				term.settle()
				term.golden()
			})
		}
	}
}

func TestNothingToShow(t *testing.T) {
	term := newTerminal(t, frozen(&recorded{snapshot: recording(queue("lonely"))}), 80, 24)
	term.await("No flows here.", "Looked at 1 queue and 1 exchange in vhost /.", "dlxtop demo")
	term.press("3")
	term.await("No failed queues.")
	term.press("4")
	term.await("No findings.")
}

func TestTooSmall(t *testing.T) {
	term := newTerminal(t, frozen(&recorded{snapshot: busyBroker()}), 60, 10)
	term.await("dlxtop needs 60 x 16, this is 60 x 10.")
	term.press("4") // nobody sees what it would do
	term.resize(80, 24)
	term.await("FLOW", "ucenter@user")
	term.resize(1, 1)
	term.resize(60, 10)
	term.await("dlxtop needs")
	term.press("q")
	term.awaitEnd()
}

// TestSmallestTerminal: at 60 x 16 each screen has its rows, its tabs and a way out.
func TestSmallestTerminal(t *testing.T) {
	term := newTerminal(t, frozen(&recorded{snapshot: busyBroker()}), 60, 16)
	for _, test := range []struct{ keys, has string }{
		{"", "ucenter@user"},
		{keyEnter, "q back"},
		{"q2", "READY"},
		{"3f", "FAILED QUEUE"},
		{"4", "WHERE"},
		{keyEnter, "q back"},
		{"q5", "There is no journal"},
	} {
		term.press(test.keys)
		term.await(test.has, "1 Flows", "5 Journal", ": command")
	}
}

// TestHelpIsSearched: what a key is called finds it.
func TestHelpIsSearched(t *testing.T) {
	term := newTerminal(t, frozen(&recorded{snapshot: busyBroker()}), 80, 24)
	term.await("ucenter@user")
	term.press("?/half page d")
	term.await("ctrl-d", "1 of ")
	term.awaitGone("everywhere")
	term.press(keyEsc, keyEsc)
	term.awaitGone("WHAT IT DOES")
}

func TestResize(t *testing.T) {
	term := newTerminal(t, frozen(&recorded{snapshot: busyBroker()}), 120, 36)
	term.await("NEXT DUE", "LAST 5 MIN")
	term.resize(80, 24)
	term.awaitGone("LAST 5 MIN")
	term.await("FAILED", "q quit")
	term.resize(150, 50)
	term.await("LAST 5 MIN")
}

func TestControlCQuitsFromAnywhere(t *testing.T) {
	for _, keys := range []string{"", "/ab", ":fl", "?", "2s", "4" + keyEnter} {
		term := newTerminal(t, frozen(&recorded{snapshot: busyBroker()}), 80, 24)
		term.await("ucenter@user")
		term.press(keys, keyCtrlC)
		term.awaitEnd()
	}
}

func TestLostBrokerComesBackByItself(t *testing.T) {
	c := newClock()
	source := &recorded{snapshot: busyBroker()}
	term := newTerminal(t, lively(source, c), 120, 36)
	term.await("live")
	source.fail(&model.ConnectError{
		Kind: model.Unreachable, Cause: "nothing listens on mq1:15672",
		Next: "start RabbitMQ, or name another broker with --api",
	})
	term.await("! lost 0s  retry in 1s", "nothing listens on mq1:15672: start RabbitMQ",
		"stale: this is how it was at 03:04:05", "1,204")
	c.advance(12 * time.Second)
	term.await("lost 12s", "12s ago")
	source.tell(busyBroker())
	term.await("live")
	term.awaitGone("stale")
	term.awaitGone("nothing listens")
}

func TestNeverReached(t *testing.T) {
	source := &recorded{err: &model.ConnectError{
		Kind:  model.BadCredentials,
		Cause: "mq1:15672 does not accept user guest", Next: "check user and password",
	}}
	term := newTerminal(t, lively(source, newClock()), 80, 24)
	term.await("mq1:15672 does not accept user guest", "check user and password", "lost")
	source.fail(errors.New("an answer with \x1b[2Jescapes"))
	term.await("escapes", "dlxtop asks again by itself")
	source.tell(busyBroker())
	term.await("ucenter@user")
}

func TestPauseStopsThePolling(t *testing.T) {
	c := newClock()
	source := &hanging{recorded: recorded{snapshot: busyBroker()}, turn: make(chan struct{})}
	term := newTerminal(t, lively(source, c), 120, 36)
	source.turn <- struct{}{}
	term.await("ucenter@user")
	term.press("p")
	term.await("paused, ") // how old it is at first depends on how long it took
	c.advance(9 * time.Minute)
	term.await("paused, 9m")
	term.press(keyCtrlR) // a read may have been under way when the pause came: then this is that one
	term.settle()
	source.turn <- struct{}{}
	term.awaitGone("9m")
	term.await("paused, ")
	c.advance(9 * time.Minute)
	term.await("paused, 9m")
	select {
	case source.turn <- struct{}{}:
		t.Error("it asks while it is paused")
	default:
	}
	term.press("p")
	source.turn <- struct{}{} // it asks again
	term.awaitGone("paused")
}

// The cursor stays on its queue, and on its line, when a poll brings another order; what vanishes leaves no cursor
// behind.
func TestPollDoesNotMoveTheCursor(t *testing.T) {
	before := manyQueues(200)
	source := &recorded{snapshot: before}
	term := newTerminal(t, frozen(source), 120, 36)
	term.await("service.00064")
	term.press("2", "ssss") // by READY, the highest first
	term.await("▼READY")
	term.press("g", "jjjjjjj")
	term.settle()
	row := strings.Fields(term.cursorRow())
	name := row[1]
	source.tell(later(before, time.Second, map[string]int64{name: 5}))
	term.press(keyCtrlR)
	term.awaitThat("the cursor is still on "+name, func(string) bool {
		row := strings.Fields(term.cursorRow())
		return len(row) > 4 && row[1] == name && row[4] == "5"
	})

	gone := later(before, 2*time.Second, nil)
	for i := range gone.Queues {
		if gone.Queues[i].Name == name {
			gone.Queues = append(gone.Queues[:i:i], gone.Queues[i+1:]...)
			break
		}
	}
	source.tell(gone)
	term.press(keyCtrlR)
	term.await("no queue at the cursor")
	term.press(keyEnter) // hits nothing
	term.settle()
	term.await("no queue at the cursor")
	term.press("j")
	term.awaitGone("no queue at the cursor")
}

func TestFilterSortAndBack(t *testing.T) {
	term := newTerminal(t, frozen(&recorded{snapshot: manyQueues(300)}), 120, 36)
	term.await("service.00064")
	term.press("2", "/", "00008")
	term.await("3 of 300", "service.00008@retry")
	term.press(keyEnter)
	term.await("esc clears")
	term.press(keyEsc)
	term.awaitGone("esc clears")
	term.await("of 300 ──") // all again, and the cursor still on its queue
	term.press("q")
	term.awaitEnd()
}

// Keys that come faster than the program reads are delivered together; each still does its own work.
func TestQuickKeys(t *testing.T) {
	term := newTerminal(t, frozen(&recorded{snapshot: manyQueues(300)}), 120, 36)
	term.await("service.00064")
	term.press("2jjjjkk/plain")
	term.await("/ plain", "of 300")
	term.press(keyEsc)
	term.awaitGone("/ plain")
	term.press("4", "1", ":que"+keyEnter)
	term.await("UNACKED")
}

func TestHostileNames(t *testing.T) {
	evil := "evil\x1b[2J\x1b]0;title\x07\u202egnp\u0000\n日本語"
	s := recording(
		exchange("fanout", "x\x1b[31m"), queue(evil, consumers(0), ready(3)), bind("x\x1b[31m", "", evil),
		queue("buffer\x9b2J", ttl(5000), dlx("x\x1b[31m"), ready(2)),
	)
	s.Overview.Node = "rabbit\x1b[2J"
	source := &recorded{snapshot: s}
	o := frozen(source)
	o.Title = "title\x1b[2J"
	term := newTerminal(t, o, 120, 36)
	for _, keys := range []string{"1", "2", "3", "4", "1/evil" + keyEnter} {
		term.press(keys)
		term.settle()
		screen := term.screen()
		must.That(t, strings.Contains(screen, "dlxtop") && strings.Contains(screen, "1 Flows") &&
			strings.Contains(screen, "q quit"), "after %q a name has drawn over the screen:\n%s", keys, screen)
		must.That(t, !strings.ContainsAny(screen, "\x1b\x07\u202e\u009b"),
			"after %q something unprintable is on the screen:\n%q", keys, screen)
	}
}
