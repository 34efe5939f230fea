package broker_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
)

const basicCancel = 30

// TestLookThatTheBrokerEnds: the broker closes the channel of a look, or its connection. No other program of the user
// looks at that queue then, unless its user insists; when all of it was read it is as before.
func TestLookThatTheBrokerEnds(t *testing.T) {
	t.Parallel()
	for name, venom := range map[string]func(uint16) []byte{
		"channel": wrongAck, "connection": strayAck, "syntax": brokenAck,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lookIsEnded(t, venom, name == "channel")
		})
	}
}

// lookIsEnded: the frame ends a look. shown tells that what it has read is shown for sure; with the connection's end it
// may come to that too early.
func lookIsEnded(t *testing.T, venom func(uint16) []byte, shown bool) {
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		const n = 5
		a := newApp(t)
		q, s := described(a.queue("q", kind), kind), limitOf(deliveryLimit)
		a.publish(q.QueueRef, numbered(n)...)
		path := filepath.Join(t.TempDir(), "journal.db")
		cable, url := newCable(t, 0)
		cable.venom = venom
		cable.poison.Store(basicCancel)
		first := newClient(t, broker.Options{URL: url, Looks: journal.NewLooks(path)})
		if _, err := doPeek(t.Context(), first, q, s, false); err != nil && shown {
			t.Error(err)
		}
		a.await(q.QueueRef, n)
		for _, look := range allLooks {
			c := newProcess(t, path, journal.NewLooks(path))
			var why *peek.LookEnded
			if _, err := look.do(t.Context(), c, q, s, false); !errors.As(err, &why) ||
				why.Ended.By != model.EndedByBroker || why.Ended.Before == 0 {
				t.Errorf("%s: %v %+v", look.name, err, why)
			}
		}
		channel := a.open()
		for _, d := range a.consume(channel, q.QueueRef, n) {
			count, _ := d.Headers["x-delivery-count"].(int64)
			assert.That(t, count <= 1, "%s came back %d times", d.MessageId, count)
		}
		must.Do(t, errors.Join(channel.Nack(0, true, true), channel.Close()))
		a.await(q.QueueRef, n)
		for i, insist := range []bool{true, true, false} { // on a quorum queue what came before it first
			if _, err := doPeek(t.Context(), newProcess(t, path, journal.NewLooks(path)), q, s, insist); err != nil {
				t.Errorf("look %d: %v", i+1, err)
			}
			a.await(q.QueueRef, n)
		}
	})
}

// TestUnconvertibleMessages: RabbitMQ 4 ends each connection that is to get such a message, and counts a failed
// delivery of all that was held. However often a queue is looked at then, nothing in it is lost, and what stands before
// the message can be read, and taken out.
func TestUnconvertibleMessages(t *testing.T) {
	t.Parallel()
	if !model.ParseVersion(node.Version()).AtLeast(4, 0) {
		t.Skip("before RabbitMQ 4 they are converted when they are published")
	}
	const before, looks = 6, 25
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		for name, first := range map[string]int{"head": 0, "middle": before} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				a := newApp(t)
				q, s := described(a.queue("q", kind), kind), limitOf(deliveryLimit)
				a.publish(q.QueueRef, numbered(first)...)
				sendAMQP10(t, node, q.Name, unconvertible(), unconvertible())
				a.await(q.QueueRef, first+2)
				a.publish(q.QueueRef, numbered(before)...)
				n := first + 2 + before
				path := filepath.Join(t.TempDir(), "journal.db")
				for i := range looks {
					look := allLooks[i%len(allLooks)]
					_, err := look.do(t.Context(), newProcess(t, path, journal.NewLooks(path)), q, s, false)
					var why *peek.LookEnded
					must.That(t, i == 0 || errors.As(err, &why) && why.Ended.By == model.EndedByConversion &&
						int(why.Ended.Before) == first && why.Ended.Times == 1, "%s %d: %v %+v", look.name, i, err, why)
					a.await(q.QueueRef, n)
				}
				if first == 0 {
					return
				}
				c := newProcess(t, path, journal.NewLooks(path))
				account := execute(t, c, dropPlan(t, q, plan.Selection{}, n))
				assert.That(t, account.Dropped == first && account.Unknown == 0 && account.Stopped != "", "%+v", account)
				a.await(q.QueueRef, n-first)
			})
		}
	})
}

// TestCanaryBeforeAnUnconvertible: a replay in stages takes what stands before such a message, and says why it ends.
func TestCanaryBeforeAnUnconvertible(t *testing.T) {
	t.Parallel()
	if !model.ParseVersion(node.Version()).AtLeast(4, 0) {
		t.Skip("before RabbitMQ 4 they are converted when they are published")
	}
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		const before, n = 6, 6 + 1 + 6
		a := newApp(t)
		from, to := canaryStage(t, a, kind)
		a.publish(from.QueueRef, numbered(before)...)
		sendAMQP10(t, node, from.Name, unconvertible())
		a.await(from.QueueRef, before+1)
		a.publish(from.QueueRef, numbered(6)...)
		w := a.work(to.QueueRef, succeed)
		path := filepath.Join(t.TempDir(), "journal.db")
		c := newClient(t, broker.Options{
			URL: node.AMQP(), Journal: journal.New(journal.Options{Path: path}), Looks: journal.NewLooks(path),
		})
		account := must.Get(c.Execute(t.Context(), canaryPlan(t, plan.Replay, from, to, n), nil))(t)
		assert.That(t, account.Moved <= before && account.Unknown == 0 && account.Stopped != "", "%+v", account)
		a.await(from.QueueRef, n-account.Moved)
		got := w.received()
		assert.That(t, len(got) == account.Moved, "the worker got %v, and the account says %d", got, account.Moved)
	})
}

// TestLooksAtOnceOfUnconvertible looks at random at queues that hold such messages at their head, in their middle, or
// several, by clients that share what they remember: nothing is lost where no look was insisted on, and where some
// were, at most the messages that cannot be converted.
func TestLooksAtOnceOfUnconvertible(t *testing.T) {
	t.Parallel()
	if !model.ParseVersion(node.Version()).AtLeast(4, 0) {
		t.Skip("before RabbitMQ 4 they are converted when they are published")
	}
	const good = 20
	type held struct {
		*model.Queue
		model.Settings
		n, bad, insists int
	}
	a, r := newApp(t), seed.Rand(t)
	var queues []held
	for i, kind := range []model.QueueType{model.Quorum, model.Quorum, model.Quorum, model.Quorum, model.Classic} {
		limit := []int{deliveryLimit, 4, deliveryLimit, 4, deliveryLimit}[i]
		q, s := described(a.queue(fmt.Sprint("q", i), kind), kind), limitOf(int64(limit))
		if kind == model.Quorum {
			a.deleteQueue(q.Name)
			q, s = a.limited(fmt.Sprint("q", i), limit)
		}
		before := r.IntN(good)
		a.publish(q.QueueRef, numbered(before)...)
		bad := 1 + r.IntN(3)
		for range bad {
			sendAMQP10(t, node, q.Name, unconvertible())
		}
		a.await(q.QueueRef, before+bad)
		a.publish(q.QueueRef, numbered(good-before)...)
		queues = append(queues, held{q, s, good + bad, bad, 10 * (i / 2 % 2)}) // of a hundred
	}
	path := filepath.Join(t.TempDir(), "journal.db")
	refused, ended, total := 0, 0, size.Of(60, 10_000)
	var c *broker.Client
	for i := range total {
		if i%5 == 0 {
			if c != nil {
				c.Close()
			}
			c = newProcess(t, path, journal.NewLooks(path))
		}
		q, look := queues[r.IntN(len(queues))], allLooks[r.IntN(len(allLooks))]
		_, err := look.do(t.Context(), c, q.Queue, q.Settings, r.IntN(100) < q.insists)
		var why peek.RefusedLook
		switch {
		case errors.As(err, &why):
			refused++
		case err != nil:
			ended++
		}
	}
	t.Logf("%d looks, %d of them refused, %d ended", total, refused, ended)
	for _, q := range queues {
		a.until(func() error {
			n := a.ready(q.QueueRef)
			if q.insists == 0 && n != q.n || n < good {
				return fmt.Errorf("%s: %d of %d messages are left, %d of them not convertible", q.Name, n, q.n, q.bad)
			}
			return nil
		})
		if lost := q.n - a.ready(q.QueueRef); lost > 0 {
			t.Logf("%s: %d of %d that cannot be converted were lost by looks that were insisted on", q.Name, lost, q.bad)
		}
	}
}
