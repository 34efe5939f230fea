package ui

import (
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
)

// TestTabReachesAQueueOfChoice: a queue that no flow has, with messages whose worker is gone, offers the queues that
// could be meant, and in the end every queue.
func TestTabReachesAQueueOfChoice(t *testing.T) {
	c := newClock()
	b := newRecordedBroker(c)
	b.put("billing.parking", message.Message{
		RoutingKey: "billing.parking", Body: []byte("x"),
		Headers: model.Table{"x-death": []any{
			model.Table{"queue": "old.invoice", "reason": "rejected", "count": int64(2)},
		}},
	})
	o := Options{Source: &recorded{snapshot: recording(queue("billing.parking", ready(1)),
		queue("billing.invoice", consumers(1)), queue("stock", consumers(1)))}, Broker: b, Now: c.now}
	term := onQueue(t, o, "billing.parking", 120, 36)
	term.await("1 message")
	term.press("r")
	term.await("not possible: the worker is not here", "old.invoice, which is gone", "it could be billing.invoice")
	term.press(keyTab) // one at a time: while a plan is being made, keys do nothing
	term.await("origin: where each")
	term.press(keyTab)
	term.await("enter replay", "queue: billing.invoice (a similar name)")
	term.press(keyTab)
	term.await("Type a part of the queue's name", "2 of 2")
	term.press(keyEsc)
	term.await("not possible: the worker is not here")
	term.press(keyTab)
	term.await("origin: where each")
	term.press(keyTab)
	term.await("queue: billing.invoice")
	term.press(keyTab)
	term.await("2 of 2")
	term.press("s", "t", "o", "c")
	term.await("1 of 2")
	term.press(keyEnter)
	term.await("enter replay", "queue: stock of choice", "stock, 1 consumer")
	term.press(keyEnter)
	term.await("1 message moved")
	plans := b.executed()
	assert.That(t, len(plans) == 1 && plans[0].Operation == plan.Replay && plans[0].Target.Fixed.RoutingKey == "stock",
		"ran %+v", plans)
}

// TestDeadLettersThatNoFlowHas: a look tells that a queue holds dead letters. From then on it is among the failed ones.
func TestDeadLettersThatNoFlowHas(t *testing.T) {
	c := newClock()
	b := newRecordedBroker(c)
	b.put("attention", message.Message{
		Headers: model.Table{"x-death": []any{model.Table{"queue": "orders", "reason": "rejected", "count": int64(2)}}},
	})
	o := Options{
		Source: &recorded{snapshot: recording(queue("attention", ready(1)), queue("orders", consumers(1)))}, Broker: b,
		Now: c.now, Interval: 10 * time.Millisecond,
	}
	term := onQueue(t, o, "attention", 120, 36)
	term.await("1 message")
	term.press("3", "f")
	term.await("FAILED QUEUE", "no flow has it", "failures in 1 of 1 message read there")
}

// TestInsistIsForOneTarget: who insists that a limit of one queue may drop messages has not agreed to that of another.
func TestInsistIsForOneTarget(t *testing.T) {
	limit := func(q *model.Queue) { q.Arguments["x-max-length"] = int64(5) }
	for _, test := range []struct {
		key    string
		turns  []string // to the queue of choice: what is seen after each tab
		agrees string
	}{
		{"m", nil, "enter move"},
		{"R", []string{"target    auto", "target    origin"}, "enter replay"},
	} {
		t.Run(test.agrees, func(t *testing.T) {
			c := newClock()
			b := newRecordedBroker(c)
			for range 12 {
				b.put("parking", message.Message{RoutingKey: "parking", Body: []byte("x")})
			}
			o := Options{Source: &recorded{snapshot: recording(
				queue("parking", ready(12)), queue("limited.one", limit), queue("limited.two", limit),
			)}, Broker: b, Now: c.now}
			term := onQueue(t, o, "parking", 120, 36)
			term.await("12 messages")
			choose := func(keys ...string) {
				term.await("Type a part of the queue's name", "2 of 2")
				term.press(keys...)
			}
			turn := func() {
				for _, seen := range test.turns {
					term.await(seen)
					term.press(keyTab)
				}
			}
			if test.key == "m" {
				term.press("*")
			}
			term.press(test.key)
			turn()
			choose(keyEnter)
			term.await("limited.one keeps at most 5 messages", "i insists")
			term.press("i")
			term.await(test.agrees)
			term.press(keyTab)
			turn()
			choose(keyDown, keyEnter)
			term.await("limited.two keeps at most 5 messages", "i insists")
		})
	}
}
