package ui

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/muesli/termenv"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/mgmt"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// A real broker goes away while two dashboards show it, and comes back: one polls often, and has no AMQP; the other
// polls seldom, as where the broker takes long: that it is gone is known from AMQP at once, and that it is back from
// the next poll.
func TestRealBrokerIsShownLostAndShownAgain(t *testing.T) {
	size.Long(t)
	t.Parallel()
	node := must.Get(demo.Start(t.Context(), demo.Options{}))(t)
	t.Cleanup(func() {
		assert.Succeeds(t, node.Stop())
	})
	scenario := must.Get(demo.ScenarioNamed("pubsub"))(t)
	must.Do(t, scenario.Declare(t.Context(), node.AMQP()))
	client := must.Get(broker.New(broker.Options{URL: node.AMQP()}))(t)
	defer client.Close()
	must.Do(t, client.Check(t.Context(), "/"))
	often := newTerminal(t, Options{Source: polled(t, node), Title: "real", Interval: 200 * time.Millisecond}, 120, 36)
	seldom := newTerminal(t, Options{Source: polled(t, node), Broker: client, Title: "real", Interval: 10 * time.Minute},
		120, 36)
	often.await(node.Version(), "ucenter@enterprise", "ucenter@user", "user-monitor", "retry 30s", "none !")
	often.press("/", "ucenter@user", keyEnter)
	often.await("ucenter@user@failed", "TTL 30s (argument) → master")
	for range 2 { // the second time on a connection that was made again
		seldom.await("live 10m")
		must.Do(t, node.Halt())
		often.await("! lost", "stale: this is how it was at", "ucenter@user@failed")
		seldom.await("! lost", "stale: this is how it was at")
		if strings.Contains(seldom.screen(), "live") {
			t.Errorf("it says live of a broker that is gone:\n%s", seldom.screen())
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		err := node.Resume(ctx)
		cancel()
		must.Do(t, err)
		// A broker that has just started may answer too late for "live".
		often.awaitThat("the broker is shown again", func(screen string) bool {
			return strings.Contains(screen, "ucenter@user@failed") && !strings.Contains(screen, "lost") &&
				!strings.Contains(screen, "stale")
		})
		seldom.await("live 10m")
		seldom.awaitThat("AMQP is there again, too", func(string) bool {
			connections, err := node.Control(t.Context(), "list_connections", "client_properties")
			return err == nil && strings.Contains(connections, "dlxtop")
		})
	}
}

// polled is the management API of a node, with little patience.
func polled(t *testing.T, node *demo.Node) *mgmt.Client {
	t.Helper()
	source := must.Get(mgmt.New(mgmt.Options{URL: node.API(), Timeout: 5 * time.Second}))(t)
	t.Cleanup(source.Close)
	return source
}

// The header says how old the picture is: a poll that hangs is no new one, and one that took long brought what was
// then.
func TestTheAgeOfThePicture(t *testing.T) {
	c := newClock()
	source := &hanging{recorded: recorded{snapshot: busyBroker()}, turn: make(chan struct{})}
	o := lively(source, c)
	term := newTerminal(t, o, 80, 24)
	source.turn <- struct{}{}
	term.await("ucenter@user") // what it says of its age depends on how long the poll took
	c.advance(9 * time.Minute) // the second poll hangs
	term.await("slow, 9m")
	source.turn <- struct{}{}
	term.awaitGone("slow")
}

// hanging is a source that answers when it is told to.
type hanging struct {
	recorded
	turn chan struct{}
}

func (h *hanging) Snapshot(ctx context.Context) (*model.Snapshot, error) {
	select {
	case <-h.turn:
		return h.recorded.Snapshot(ctx)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// What a poll that took 6 s brought is 6 s old, and the next one comes 54 s later: that is never "live".
func TestASlowPollIsNotLive(t *testing.T) {
	c := newClock()
	a := newApp(t.Context(), lively(&recorded{snapshot: busyBroker()}, c))
	a.env.Styles = term.NewStyles(term.Mono, termenv.Ascii)
	topology := model.NewTopology(busyBroker())
	a.poller.inFlight = a.env.NewRequest()
	a.poller.answered(polledMsg{
		request: a.poller.inFlight, took: 6 * time.Second,
		topology: shell.TopologyMsg{Topology: topology},
	}, a.env)
	for _, step := range []struct {
		after time.Duration
		says  string
	}{
		{0, "6s old, every 1m 54s"},
		{20 * time.Second, "26s old, every 1m 54s"},
		{110 * time.Second, "slow, 2m 16s old"},
	} {
		c.advance(step.after)
		a.env.Shown = c.now()
		assert.Equal(t, a.freshness(), step.says, "it")
	}
}

// TestWhatWasDoneIsSeenSoon: a broker that answers slowly is asked seldom, but for what was done just now.
func TestWhatWasDoneIsSeenSoon(t *testing.T) {
	c := newClock()
	a := newApp(t.Context(), lively(&recorded{snapshot: busyBroker()}, c))
	a.env.Styles = term.NewStyles(term.Mono, termenv.Ascii)
	answer := func() {
		a.poller.inFlight = a.env.NewRequest()
		a.poller.answered(polledMsg{
			request: a.poller.inFlight, took: 6 * time.Second,
			topology: shell.TopologyMsg{Topology: model.NewTopology(busyBroker())},
		}, a.env)
	}
	acted := func() {
		next, _ := a.Update(shell.AnswerMsg{Msg: shell.EndedMsg[plan.Account]{}})
		a = next.(app)
	}
	wantNext := func(want time.Duration) {
		t.Helper()
		assert.Equal(t, a.poller.next.Sub(c.now()), want, "the next poll comes in")
	}
	answer()
	wantNext(114 * time.Second)
	acted()
	wantNext(model.LateStatistics)
	c.advance(2 * time.Second)
	answer() // of a poll that was made meanwhile: it may not tell all
	wantNext(model.LateStatistics - 2*time.Second)
	c.advance(model.LateStatistics)
	answer()
	wantNext(114 * time.Second)
	c.advance(112 * time.Second)
	acted()
	wantNext(2 * time.Second)
}
