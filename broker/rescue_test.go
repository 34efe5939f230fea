package broker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	rabbithole "github.com/michaelklishin/rabbit-hole/v2"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

// atTheLimit declares a queue with a small delivery limit, and lets a worker requeue n messages until they are at it.
func (a *app) atTheLimit(n int) (*model.Queue, model.Settings) {
	a.Helper()
	const limit = 3
	q, s := a.limited("q", limit)
	a.publish(q, numbered(n)...)
	a.deliver(q, n, limit)
	return q, s
}

// mayRescue runs a test in parallel, if this version ever rescues something.
func mayRescue(t *testing.T) {
	t.Helper()
	t.Parallel()
	if !behaviour().ReturnCountsAsDelivery {
		t.Skip("this RabbitMQ counts no return of a look, so that nothing is ever rescued")
	}
}

func insisting(q *model.Queue, s model.Settings) peek.Plan {
	return peek.OfQueue(q, s, behaviour(), peek.Want{Insist: true})
}

// The queue does not accept a copy of what is at its limit. The journal has it, and brings it back.
func TestRescueThatIsRefused(t *testing.T) {
	mayRescue(t)
	n := 40
	a := newApp(t)
	q, s := a.atTheLimit(n)
	api := manage.Of(t, node.API())
	full := amqp.Table{"max-length": 0, "overflow": "reject-publish"}
	api.Policy("/", t.Name(), "^"+q.Name+"$", full)
	defer func() { api.Done(api.DeletePolicy("/", t.Name())) }()
	must.Await(t, "the queue takes no messages: a policy takes a moment", func() bool {
		return !dial.Send(t, a.channel, "", q.Name, numbered(1)[0])
	})
	n = a.ready(q) // some of the test's own may have arrived
	c, j := journaled(t, false)
	before := a.ready(q)
	peeked := peekAt(t, c, insisting(q, s))
	r := peeked.Rescued
	must.That(t, r.Lost <= 0, "%+v", r)
	must.That(t, r.Kept != 0, "%+v", r)
	must.Contains(t, r.Why, "nack")
	must.Contains(t, r.Words(), fmt.Sprintf("journal undo %d", r.JournalID))
	a.await(q, before-peeked.Rescued.Kept)
	api.Policy("/", t.Name(), "^no such queue$", full)

	a.until(func() error { // each undo brings back what the queue accepts again
		if a.ready(q) >= n {
			return nil
		}
		undo(t, c, j, peeked.Rescued.JournalID, q)
		return errors.New("not all are back")
	})

	assert.Equal(t, len(byID(a.drain(q, n))), 40, "of 40 messages are left")
}

// Without the right to publish, or without a writable journal, nothing is taken. Insisting nevertheless loses nothing
// that could be kept.
func TestRescueThatIsNotPossible(t *testing.T) {
	mayRescue(t)
	const n = 10
	reader := user(t, "reader", rabbithole.Permissions{Configure: ".*", Write: "^nothing$", Read: ".*"})
	for _, test := range []struct {
		name, url    string
		journal      func(dir string) (string, error)
		why          string
		copied, kept int
	}{
		{"no right", reader, func(dir string) (string, error) {
			return filepath.Join(dir, "journal.db"), nil
		}, "may not publish to the default exchange", 0, n},
		{"no journal", node.AMQP(), func(dir string) (string, error) {
			return filepath.Join(dir, "file", "journal.db"), os.WriteFile(filepath.Join(dir, "file"), nil, 0o600)
		}, "cannot be", n, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := newApp(t)
			q, s := a.atTheLimit(n)
			path := must.Get(test.journal(t.TempDir()))(t)
			j := openJournal(t, path)
			c := newClient(t, broker.Options{URL: test.url, Journal: j})

			var impossible *peek.RescueImpossible
			careful := peek.OfQueue(q, limitOf(deliveryLimit), behaviour(), peek.Want{})
			_, err := c.Peek(t.Context(), careful)
			must.That(t, errors.As(err, &impossible), "it said: %v", err)
			assert.Contains(t, err.Error(), test.why)
			assert.That(t, impossible.Refusal().Overridable(), "it said: %v", err)

			must.Equal(t, a.ready(q), n, "are left: it was looked at")
			peeked := peekAt(t, c, insisting(q, s))
			r := peeked.Rescued
			assert.Equal(t, r.Copied, test.copied, "%+v", r)
			assert.Equal(t, r.Kept, test.kept)
			assert.That(t, r.Lost <= 0, "%+v", r)
			assert.That(t, r.Why != "", "%+v", r)
			a.await(q, test.copied)

			if test.kept > 0 {
				undo(t, journaledBy(t, j, false), j, peeked.Rescued.JournalID, q)
			}

			wantAll(t, a, q, n)
		})
	}
}

// TestRescueInTheLastMoment cuts the connection while messages at their limit are held: RabbitMQ drops them, and the
// journal has them.
func TestRescueInTheLastMoment(t *testing.T) {
	mayRescue(t)
	const n = 10
	a := newApp(t)
	q, s := a.atTheLimit(n)
	cable, address := newCable(t, 0)
	j := openJournal(t, journalPath(t))
	c := newClient(t, broker.Options{URL: address, Journal: j})
	plan := peek.OfQueue(q, s, behaviour(), peek.Want{ForAction: true, Insist: true})

	read, err := c.Read(context.Background(), plan, func(m *message.Message) error {
		if m.Position == n { // messages in flight are out of reach
			cable.cut()
		}
		return nil
	})

	assert.That(t, err != nil, "%v %+v", err, read.Rescued)
	assert.Equal(t, read.Rescued.Kept, n)
	assert.Equal(t, read.Rescued.Lost, 0)
	a.until(func() error { return cable.gone(t, node, "guest") })
	a.await(q, n-read.Rescued.Kept)
	undo(t, c, j, read.Rescued.JournalID, q)
	wantAll(t, a, q, n)
}

// A message at the end of its queue is not brought back once more.
func TestUndoOfARescue(t *testing.T) {
	mayRescue(t)
	const n = 5
	a := newApp(t)
	q, s := a.atTheLimit(n)
	c, j := journaled(t, false)
	peeked := peekAt(t, c, insisting(q, s))
	must.That(t, peeked.Rescued.Copied == n, "%+v", peeked.Rescued)
	plan := planUndo(t, c, j, peeked.Rescued.JournalID, q)
	const want = "there is nothing to undo; 5 rescued: the end of the queue got a copy of each"
	assert.Equal(t, plan.Refusal.Words(), want, "it")
	wantAll(t, a, q, n)
}

// A copy has the headers of its original byte for byte, including those that amqp091-go does not read.
func TestRescueOfOddHeaders(t *testing.T) {
	mayRescue(t)
	a := newApp(t)
	raw := newRaw(t, node)
	tables := oddTables()

	q, s := a.limited("q", 0) // each message is at its limit from the beginning
	for id, table := range tables {
		raw.publish("", q.Name, id, table, []byte("body of "+id))
	}

	a.await(q, len(tables))
	c, _ := journaled(t, false)
	peeked := peekAt(t, c, insisting(q, s))
	r := peeked.Rescued
	must.Equal(t, r.Copied+r.Kept, len(tables), "%+v", r)
	must.That(t, r.Kept <= 1, "%+v", r)
	must.That(t, r.Lost <= 0, "%+v", r)
	a.await(q, peeked.Rescued.Copied)

	for _, m := range raw.drain(q.Name) {
		published := sorted(t, tables[m.id], counters...)
		got := sorted(t, m.table, counters...)
		own := m.id == "L" || m.id == "a name twice" // quorum queues deliver these differently, copied or not
		assert.That(t, bytes.Equal(got, published) || own, "%s is delivered as %.60q instead of %.60q", m.id, got, published)
		assert.Equal(t, string(m.body), "body of "+m.id, "%v", m.id)
		delete(tables, m.id)
	}

	assert.That(t, len(tables) == peeked.Rescued.Kept,
		"%d are missing, %d in the journal", len(tables), peeked.Rescued.Kept)
}

// noLookInAnAlarm: a broker that blocks publishers would not accept the copy of a rescue, so nothing is taken.
func noLookInAnAlarm(t *testing.T, n *demo.Node) {
	if !behaviour().ReturnCountsAsDelivery {
		return // nothing is ever rescued
	}
	a := newAppOn(t, n)
	q, s := a.limited("q", deliveryLimit)
	a.publish(q, numbered(3)...)
	watermark := func(value, then string) {
		t.Helper()
		must.Get(n.Control(context.Background(), "eval", "vm_memory_monitor:set_vm_memory_high_watermark("+value+
			")"+then+"."))(t)
	}

	watermark("0.000001", `, Await = fun Await() -> case rabbit_alarm:get_alarms() of
		[] -> timer:sleep(20), Await();
		_ -> ok
	end end, Await()`)

	lifted := false
	defer func() {
		if !lifted {
			watermark(`{absolute, "2GB"}`, "")
		}
	}()

	c := clientOf(t, n)
	var impossible *peek.RescueImpossible
	_, err := c.Peek(t.Context(), peek.OfQueue(q, s, behaviour(), peek.Want{}))
	assert.That(t, errors.As(err, &impossible), "in the alarm: %v", err)
	assert.Contains(t, err.Error(), "blocks publishers")
	watermark(`{absolute, "2GB"}`, "")
	lifted = true

	a.until(func() error { // it takes a moment to end
		peeked, err := c.Peek(t.Context(), peek.OfQueue(q, s, behaviour(), peek.Want{}))
		if err != nil {
			return err
		}
		defer peeked.Messages.Close()
		if m, err := peeked.Messages.At(0, 0); err != nil || m.Counted() > 0 {
			t.Errorf("the first message came back %d times before: %v", m.Counted(), err)
		}
		return nil
	})
}

// lostIsReported: a lost connection is reported at once, even one that reconnected by itself; a closed one is not.
func lostIsReported(t *testing.T, n *demo.Node) {
	c := clientOf(t, n)
	must.Do(t, c.Check(t.Context(), "/"))
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	told := make(chan error, 1)
	wait := func() { told <- c.Lost(ctx) }
	go wait()
	must.Do(t, n.Halt())

	select {
	case err := <-told:
		assert.That(t, err != nil, "nothing was lost")
		t.Log(err)
	case <-time.After(patience):
		t.Error("the connection is gone since the broker was stopped, and that was not reported")
	}

	must.Do(t, n.Resume(ctx))
	go wait()
	must.Do(t, c.Check(ctx, "/"))
	must.Do(t, c.Close())

	// The client knows of the end of its connection before the broker forgets it.
	(&app{TB: t}).until(func() error { return allGone(t, n, "guest") })
	cancel()
	err := <-told
	assert.That(t, err == nil, "a connection that was closed is reported as lost: %v", err)
}

// Ways of returning a message differ in whether they count towards the delivery limit of a quorum queue. What the
// findings say of a loop relies on that.
func TestReturnsThatCountTowardsTheLimit(t *testing.T) {
	const limit, many = 3, 30
	counts := behaviour().ReturnCountsAsDelivery
	for _, test := range []struct {
		name string
		back func(amqp.Delivery) error
		lost bool
	}{
		{"nack", func(d amqp.Delivery) error { return d.Nack(false, true) }, counts},
		{"reject", func(d amqp.Delivery) error { return d.Reject(true) }, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := newApp(t)
			q := a.queue("limited", model.Quorum, "x-delivery-limit", int64(limit))
			a.publish(q, amqp.Publishing{MessageId: "1"})
			returned := 0
			for ; returned < many; returned++ {
				d, there, err := a.channel.Get(q.Name, false)
				must.Do(t, err)
				if !there {
					break
				}
				must.Do(t, test.back(d))
			}

			lost := returned < many
			assert.Equal(t, lost, test.lost, "lost after %d returns, on %s", returned, node.Version())
			assert.That(t, !lost || returned == limit+1, "lost after %d returns, on %s", returned, node.Version())
		})
	}
}
