package broker_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	rabbithole "github.com/michaelklishin/rabbit-hole/v2"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/mgmt"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/trace"
)

// topologyNow returns the broker's current topology.
func topologyNow(t testing.TB) *model.Topology {
	t.Helper()
	source := must.Get(mgmt.New(mgmt.Options{URL: node.API(), Timeout: must.Patience}))(t)
	defer source.Close()
	return model.NewTopology(must.Get(source.Snapshot(t.Context()))(t))
}

// tapping is a running tap, and what it has shown.
type tapping struct {
	*app
	stop   context.CancelFunc
	follow chan trace.TapPlan
	ended  chan error

	sync.Mutex
	rows   []trace.Passed
	counts trace.TapCounts
}

// startTap starts a tap and waits until it works. Each row first goes through slow, unless that is nil.
func startTap(a *app, c *broker.Client, topology *model.Topology, plan trace.TapPlan, slow func()) *tapping {
	a.Helper()
	must.Equal(a, plan.Refusal.Words(), "")
	ctx, stop := context.WithCancel(context.Background())
	tap := &tapping{app: a, stop: stop, follow: make(chan trace.TapPlan), ended: make(chan error, 1)}
	works := make(chan struct{})
	var once sync.Once
	passing := trace.NewPassing(plan.VHost, topology)

	go func() {
		tap.ended <- c.Tap(ctx, plan, tap.follow, func(m *message.Message, at time.Time) {
			if slow != nil {
				slow()
			}
			row := passing.See(m, at)
			tap.Lock()
			defer tap.Unlock()
			tap.rows = append(tap.rows, row)
		}, func(counts trace.TapCounts) {
			tap.Lock()
			tap.counts = counts
			tap.Unlock()
			once.Do(func() { close(works) })
		})
	}()

	a.Cleanup(stop)

	select {
	case <-works:
	case err := <-tap.ended:
		a.Fatalf("the tap did not start: %v", err)
	case <-time.After(patience):
		a.Fatal("the tap did not start")
	}

	return tap
}

// startTapOf starts a tap of exchanges as they are now.
func startTapOf(a *app, c *broker.Client, slow func(), exchanges ...string) *tapping {
	a.Helper()
	topology := topologyNow(a)
	return startTap(a, c, topology, trace.PlanTap(topology, trace.TapWant{VHost: "/", Exchanges: exchanges}), slow)
}

// fanout returns an exchange with a queue bound to it.
func fanout(t *testing.T, name string) (a *app, x string, worker *model.Queue) {
	a = newApp(t)
	x, worker = a.exchange(name, "fanout", false, nil), a.queue("worker", model.Classic)
	a.bind(worker, x, "", nil)
	return a, x, worker
}

// awaitCounts waits until the counts of a tap are right.
func (tap *tapping) awaitCounts(what string, right func(trace.TapCounts) bool) {
	tap.Helper()
	tap.until(func() error {
		tap.Lock()
		defer tap.Unlock()
		if !right(tap.counts) {
			return fmt.Errorf("not yet: %s: %+v", what, tap.counts)
		}
		return nil
	})
}

// awaitEnd waits until a tap ends, and returns why.
func (tap *tapping) awaitEnd() error {
	tap.Helper()
	select {
	case err := <-tap.ended:
		return err
	case <-time.After(patience):
		tap.Fatal("the tap does not end")
		return nil
	}
}

func (tap *tapping) seen() []trace.Passed {
	tap.Lock()
	defer tap.Unlock()
	return slices.Clone(tap.rows)
}

// awaitRows waits until this many messages were seen.
func (tap *tapping) awaitRows(n int) []trace.Passed {
	tap.Helper()
	tap.awaitCounts(fmt.Sprintf("%d messages are seen", n), func(trace.TapCounts) bool { return len(tap.rows) >= n })
	return tap.seen()
}

// end stops the tap and returns its last counts.
func (tap *tapping) end() trace.TapCounts {
	tap.Helper()
	tap.stop()
	assert.Succeeds(tap, tap.awaitEnd())
	tap.Lock()
	defer tap.Unlock()
	return tap.counts
}

// exchange declares an exchange, named after the test, and deletes it afterwards.
func (a *app) exchange(suffix, kind string, internal bool, arguments amqp.Table) string {
	a.Helper()
	name := strings.ReplaceAll(a.Name(), "/", ".") + "." + suffix
	must.Do(a, a.channel.ExchangeDeclare(name, kind, true, false, internal, false, arguments))
	a.Cleanup(func() {
		if channel, err := a.connection.Channel(); err == nil {
			_ = channel.ExchangeDelete(name, false, false)
			channel.Close()
		}
	})

	return name
}

func (a *app) bind(queue *model.Queue, exchange, key string, arguments amqp.Table) {
	a.Helper()
	must.Do(a, a.channel.QueueBind(queue.Name, key, exchange, false, arguments))
}

// A tap sees what its exchange routes, each message once, whatever the type; a message that reached no queue still does
// not: it goes to the alternate exchange, and a mandatory publish is returned.
func TestTapSeesWhatIsHandedOn(t *testing.T) {
	for _, kind := range []string{"direct", "fanout", "topic", "headers", "internal"} {
		t.Run(kind, func(t *testing.T) {
			a := newApp(t)
			typ, internal := kind, kind == "internal"
			if internal {
				typ = "direct"
			}

			other := a.queue("alternate", model.Classic)
			alternate := a.exchange("alternate", "fanout", false, nil)
			a.bind(other, alternate, "", nil)
			x := a.exchange("x", typ, internal, amqp.Table{"alternate-exchange": alternate})
			worker := a.queue("worker", model.Classic)
			too := a.queue("too", model.Classic)
			a.bind(worker, x, "a.#", amqp.Table{"x-match": "all", "number": int64(1)})
			a.bind(too, x, "a.b", amqp.Table{"x-match": "any", "number": int64(1), "text": "y"})
			tap := startTapOf(a, client(t), nil, x)

			if internal { // only dead letters and other exchanges reach it
				front := a.exchange("front", "fanout", false, nil)
				must.Do(t, a.channel.ExchangeBind(x, "", front, false, nil))
				x = front
			}

			for _, key := range []string{"a.b", "a.c", "z"} {
				number := int64(1)
				if key == "z" {
					number = 3
				}
				a.send(x, key, amqp.Publishing{MessageId: key, Headers: amqp.Table{"number": number}})
			}

			want := map[string][]string{
				"direct": {"a.b"}, "internal": {"a.b"}, "fanout": {"a.b", "a.c", "z"}, "topic": {"a.b", "a.c"},
				"headers": {"a.b", "a.c"},
			}[kind]

			a.await(other, 3-len(want))
			tap.awaitRows(len(want))
			counts := tap.end()

			var got []string
			for _, row := range tap.seen() {
				got = append(got, row.Message.Properties.MessageID)
				assert.Equal(t, row.From, "", "%s was published: %+v", row.Message.Properties.MessageID, row)
				assert.That(t, !row.Waited.Known(), "%s was published: %+v", row.Message.Properties.MessageID, row)
				assert.Equal(t, row.Exchange, x, "%v", row.Message.Properties.MessageID)
			}

			assert.Equal(t, fmt.Sprint(got), fmt.Sprint(want), "saw %v, want %v: %+v", got, want, counts)
			assert.Equal(t, counts.Seen, int64(len(want)))
			assert.Equal(t, counts.MissedWords(), "")
			awaitNoTap(t)
		})
	}
}

// awaitNoTap waits until the broker has no queue and no binding of a tap.
func awaitNoTap(t testing.TB) {
	t.Helper()
	ofTap := func(name string) bool { return strings.HasPrefix(name, model.TapPrefix) }
	must.Await(t, "the broker has no queue and no binding of a tap", func() bool {
		s := topologyNow(t).Snapshot
		return !slices.ContainsFunc(s.Queues, func(q model.Queue) bool { return ofTap(q.Name) }) &&
			!slices.ContainsFunc(s.Bindings, func(b model.Binding) bool { return ofTap(b.Destination) })
	})
}

// A tap may also see what no queue receives: dead letters that are lost.
func TestTapSeesWhatNoQueueTakes(t *testing.T) {
	for _, kind := range []string{"direct", "fanout", "topic", "headers"} {
		t.Run(kind, func(t *testing.T) {
			a := newApp(t)
			dlx := a.exchange("dlx", kind, false, nil)
			buffer := a.queue("buffer", model.Classic, "x-dead-letter-exchange", dlx, "x-dead-letter-routing-key",
				"nobody", "x-message-ttl", int64(50))
			topology := topologyNow(t)
			p := trace.PlanTap(topology, trace.TapWant{VHost: "/", Exchanges: []string{dlx}})
			assert.Contains(t, p.Refusal.Words(), "no binding of", "nothing is bound to it, and the tap says")
			tap := startTap(a, client(t), topology,
				trace.PlanTap(topology, trace.TapWant{VHost: "/", Exchanges: []string{dlx}, Unrouted: true}), nil)
			a.send("", buffer.Name, numbered(3)...)

			for _, row := range tap.awaitRows(3) {
				should, ok := row.Should.Get()
				assert.Equal(t, row.From, buffer.Name, "%+v", row)
				assert.Equal(t, row.Reason, model.Expired, "%v", row)
				assert.That(t, ok, "%+v", row)
				assert.Equal(t, should, 50*time.Millisecond, "%v", row)
			}

			tap.end()
		})
	}
}

// A tap that cannot keep up says exactly how many messages it did not see.
func TestTapCountsWhatItMisses(t *testing.T) {
	a, x, worker := fanout(t, "x")
	topology := topologyNow(t)
	plan := trace.PlanTap(topology, trace.TapWant{VHost: "/", Exchanges: []string{x}})
	plan.MaxMessages = 100
	const n = 5000
	busy := make(chan struct{})
	tap := startTap(a, client(t), topology, plan, func() { <-busy })
	a.send(x, "", numbered(n)...)
	a.await(worker, n)
	tap.awaitCounts("it says what it misses", func(c trace.TapCounts) bool { return c.Missed > 0 })
	close(busy)
	tap.awaitCounts("all are accounted for", func(c trace.TapCounts) bool { return c.Seen+c.Missed == n })
	counts := tap.end()
	assert.Equal(t, int(counts.Seen), len(tap.seen()), "rows, %+v", counts)
	assert.Equal(t, counts.Seen+counts.Missed, n)
	assert.That(t, !counts.AtLeast, "rows, %+v", counts)
	assert.That(t, counts.Missed >= n-100-2*500, "rows, %+v", counts)
	t.Log(counts.MissedWords())
	a.await(worker, n)
}

// A tap follows changes: messages that become routable, an exchange that is declared again; one that is gone ends the
// tap.
func TestTapFollowsWhatChanges(t *testing.T) {
	a := newApp(t)
	x := a.exchange("x", "direct", false, nil)
	worker := a.queue("worker", model.Classic)
	a.bind(worker, x, "first", nil)
	want := trace.TapWant{VHost: "/", Exchanges: []string{x}}
	topology := topologyNow(t)
	tap := startTap(a, client(t), topology, trace.PlanTap(topology, want), nil)
	a.bind(worker, x, "second", nil)
	must.Do(t, a.channel.QueueUnbind(worker.Name, "first", x, nil))
	tap.follow <- trace.PlanTap(topologyNow(t), want)

	must.Await(t, "the new key is seen", func() bool {
		a.send(x, "second", numbered(1)...)
		return len(tap.seen()) > 0
	})

	back := a.channel.NotifyReturn(make(chan amqp.Return, 1))

	a.until(func() error {
		if err := a.channel.PublishWithContext(t.Context(), x, "first", true, false, amqp.Publishing{}); err != nil {
			return err
		}
		select {
		case <-back:
			return nil
		case <-time.After(time.Second):
			return fmt.Errorf("the key that no queue has any more is not unbound")
		}
	})

	seen := len(tap.seen())
	must.Do(t, a.channel.ExchangeDelete(x, false, false))
	must.Do(t, a.channel.ExchangeDeclare(x, "direct", true, false, false, false, nil))
	a.bind(worker, x, "second", nil)

	must.Await(t, "the exchange that was declared again is seen", func() bool {
		a.send(x, "second", numbered(1)...)
		return len(tap.seen()) != seen
	})

	must.Do(t, a.channel.ExchangeDelete(x, false, false))
	err := tap.awaitEnd()
	assert.Fails(t, err, "there is no exchange "+x)
	awaitNoTap(t)
}

func TestTapWithoutRights(t *testing.T) {
	a, x, _ := fanout(t, "x")
	topology := topologyNow(t)
	plan := trace.PlanTap(topology, trace.TapWant{VHost: "/", Exchanges: []string{x}})
	of := func(name string, rights rabbithole.Permissions) *broker.Client {
		return newClient(t, broker.Options{URL: user(t, name, rights)})
	}

	for name, test := range map[string]struct {
		rights rabbithole.Permissions
		says   string
	}{
		"configure": {rabbithole.Permissions{Write: ".*", Read: ".*"}, "declare"},
		"exchange":  {rabbithole.Permissions{Configure: ".*", Write: ".*", Read: "^dlxtop"}, "bind to"},
	} {
		err := of("tap-no-"+name, test.rights).Tap(t.Context(), plan, nil, func(*message.Message, time.Time) {}, nil)
		must.Fails(t, err, "may not "+test.says, "%v", name)
		assert.Contains(t, err.Error(), "set_permissions", "%v", name)
		assert.Lacks(t, err.Error(), "secret", "%v", name)
	}

	// It needs no more rights than it says; without a right on the default exchange it cannot count what it misses.
	least := rabbithole.Permissions{
		Configure: `^dlxtop\.tap-`, Write: `^dlxtop\.tap-`, Read: `^(dlxtop\.tap-.*|` + x + `)$`,
	}

	busy := make(chan struct{})
	plan.MaxMessages = 10
	tap := startTap(a, of("tap-least", least), topology, plan, func() { <-busy })
	a.send(x, "", numbered(1000)...)
	tap.awaitCounts("it says what it misses", func(c trace.TapCounts) bool { return c.MissedWords() != "" })
	close(busy)
	tap.end()
	awaitNoTap(t)
}

// A tap that is cut off does not claim that it missed nothing.
func TestTapThatIsCutOff(t *testing.T) {
	a, x, _ := fanout(t, "x")
	cable, address := newCable(t, 0)
	cable.lead(t, node)
	c := newClient(t, broker.Options{URL: address})
	tap := startTapOf(a, c, nil, x)
	a.send(x, "", numbered(3)...)
	tap.awaitRows(3)
	cable.cut()
	a.send(x, "", numbered(3)...)
	err := tap.awaitEnd()
	assert.That(t, err != nil, "it ended without a word")
	assert.Equal(t, tap.counts.Seen, 3, "%+v: %q", tap.counts, tap.counts.MissedWords())
	assert.Equal(t, tap.counts.MissedWords(), "some may have been missed")
}

// RabbitMQ closes the connection of a tap that should receive such a message, and the tap says why.
func TestTapOfUnconvertible(t *testing.T) {
	skipUnlessConverted(t)
	a, x, worker := fanout(t, "x")
	buffer := a.queue("buffer", model.Classic, "x-message-ttl", int32(1), "x-dead-letter-exchange", x)
	tap := startTapOf(a, client(t), nil, x)
	sendAMQP10(t, node, buffer.Name, unconvertible())
	err := tap.awaitEnd()
	assert.Fails(t, err, "it cannot convert a message that passed")
	a.await(worker, 1)
}

// Messages that had passed when a tap was stopped are seen, or count as missed.
func TestTapThatIsStoppedBehind(t *testing.T) {
	a, x, worker := fanout(t, "x")
	const n = 1000
	slow := func() { time.Sleep(2 * time.Millisecond) } // a terminal on a slow line
	tap := startTapOf(a, client(t), slow, x)
	a.send(x, "", numbered(n)...)
	a.await(worker, n)
	counts := tap.end()
	assert.Equal(t, int(counts.Seen), len(tap.seen()), "shown, %+v", counts)
	assert.Equal(t, counts.Seen+counts.Missed, n)
}
