package ui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/depth"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// watched plays a canary of 47 that waits for the order to continue, and some of which come back.
func watched(ctx context.Context, p plan.Run, progress func(plan.Account)) (plan.Account, error) {
	a := plan.Account{Operation: p.Operation, From: p.From, Planned: p.Planned, Moved: 1, Canary: plan.CanaryState{
		Phase: plan.CanaryWaits, Sent: 1, Idle: []model.QueueRef{ref("ucenter@user")},
		Until: newClock().now().Add(50 * time.Second),
	}}
	progress(a)
	select {
	case <-p.GoOn:
	case <-ctx.Done():
		a.Stopped, a.Canary = "on request", plan.CanaryState{Phase: plan.CanaryCut, Sent: 1}
		return a, nil
	}
	a.Moved, a.CameBack, a.Stopped = 11, 3, "3 of 11 came back"
	a.Canary = plan.CanaryState{Phase: plan.CanaryFailed, Sent: 11, Back: 3}
	return a, nil
}

func TestCanaryIsShownAndHurried(t *testing.T) {
	o, b, c := failedOptions(47)
	b.execute = watched
	term := o.onFailed(t).press("R").await("c canary").press("c")
	term.await("no canary", "canary    1 message first; when it is taken", "come back within 1m39s", "w wait 10s")
	term.press("w").await("come back within 10s", "a canary of 10s does not see that", "w wait 1m").press(keyEnter)
	term.await("Replaying 47 messages", "1 of 47",
		"canary    1 sent, waiting until it is taken: no consumers on ucenter@user", "50s left",
		"enter do not wait longer", "esc stop")
	term.press(keyEnter, keyEnter) // a key that is held down
	term.settle().await("canary    1 sent, waiting until it is taken")
	c.advance(10 * time.Second)
	term.await("40s left").press(keyEnter)
	term.await("What happened", "11 of 47 messages moved", "stopped   3 of 11 came back", "untouched 36")
	term.ran(func(p plan.Run) bool { return p.Canary.Wait == 10*time.Second })
	term.press(keyEnter).await("reads the queue again")

	term.press("R").await("c canary").press("c").await("no canary", "enter replay")
	term.press(keyEnter).await("enter do not wait longer").press(keyEsc)
	term.await("1 of 47 messages moved", "stopped before the outcome was known", "stopped   on request")
}

// A drop has no canary, and a typed number takes no letters.
func TestCanaryKey(t *testing.T) {
	o, _, _ := failedOptions(47)
	o.Production = true
	term := o.onFailed(t).press("*", "d").await("type 47:")
	term.press("47").await("enter drop")
	term.lacks("canary", "a drop offers a canary")
	term.press(keyEsc).awaitGone("type 47:").press("r").await("type 47:", "c canary")
	term.press("4", "c", "7").await("no canary", "> 47", "enter replay").press("c").awaitGone("1 message first")
	term.press("c", "c", "c") // quickly: each counts
	term.settle()             // the first of them looks like the last one
	term.await("1 message first", "no canary").press(keyEnter).await("What happened")
	term.ran(func(p plan.Run) bool { return p.Canary != nil })
}

// In production, above 100 messages, a number is typed and all options are reachable; the failures of a worker come
// back, and the dialog says so.
func TestCanaryOnARealBroker(t *testing.T) {
	o, node, channel := real(t)
	dial.Queue(t, channel, "ui.canary.failed", nil)
	dial.Queue(t, channel, "ui.canary", deadTo("ui.canary.failed"))
	fails := amqp.Publishing{Body: []byte("fails"), DeliveryMode: 2}
	dial.Publish(t, channel, "ui.canary.failed", slices.Repeat([]amqp.Publishing{fails}, 120)...)
	end := dial.Work(t, node.AMQP(), "ui.canary", 0, reject)
	o.Production, o.Journal = true, nil
	term := o.onQueue(t, "ui.canary.failed", 80, 24).await("120 messages").press("R")
	term.await("Production: to replay 120 messages of ui.canary.failed to", "ui.canary, type 120:", "c canary")
	term.press("c", "o", "1", "2", "1").await("no canary", "spread over 5m")
	term.press(keyEnter).await("Nothing was changed: you typed 121, not 120.").press("\x7f", "0")
	term.agree("replay", "What happened").await("1 of 120 messages moved", "1 of 1 came back", "untouched 119")
	assert.Equal(t, depth.Of(t, channel, "ui.canary.failed"), 120, "messages are there")
	end()
}

// A queue that is bound while the plan is shown gets nothing before that was shown and agreed to, even when no poll has
// seen it.
func TestChangedUnderADialogOnARealBroker(t *testing.T) {
	o, _, channel := real(t)
	o.Interval = time.Hour
	for _, name := range []string{"ui.check", "ui.check.failed", "ui.check.audit"} {
		dial.Queue(t, channel, name, nil)
	}
	dial.Queue(t, channel, "ui.check.retry", amqp.Table{
		"x-message-ttl": 600_000, "x-dead-letter-exchange": "ui.check.x",
		"x-dead-letter-routing-key": "ui.check",
	})
	exchanges(t, channel, "direct", "ui.check.x")
	bindIn(t, channel, "ui.check.x", "ui.check", "ui.check")
	dial.Publish(t, channel, "ui.check.failed", amqp.Publishing{MessageId: "m", Body: []byte("body")})
	term := o.onQueue(t, "ui.check.failed").await("1 message")
	term.press("r").await("through ui.check.x, key ui.check", "reaches   ui.check,")
	bindIn(t, channel, "ui.check.x", "ui.check", "ui.check.audit")
	counts := func() string {
		return fmt.Sprint(depth.Of(t, channel, "ui.check.failed"), depth.Of(t, channel, "ui.check"), depth.Of(t, channel,
			"ui.check.audit"))
	}
	term.press(keyEnter)
	// Through the exchange, the worker is no longer the only one reached: by name it is.
	term.await("read it again", "changed   ", "through (default), key ui.check")
	got := counts()
	must.That(t, got == "1 0 0", "before it was agreed to there are %s\n%s", got, term.screen())
	term.agree("replay", "1 message moved to ui.check") // after a moment, so that no key is pressed unread
	assert.Equal(t, counts(), "0 1 0", "there")
}

// What a limit drops is refused, i insists, and the undo brings all of it back.
func TestLimitUnderADialogOnARealBroker(t *testing.T) {
	o, _, channel := real(t)
	dial.Queue(t, channel, "ui.limit.failed", nil)
	dial.Queue(t, channel, "ui.limit.there", amqp.Table{"x-max-length": 5})
	messages := many(12, func(i int) amqp.Publishing {
		return amqp.Publishing{MessageId: fmt.Sprint("m", i), Body: []byte{byte(i), 0, 255}}
	})
	dial.Publish(t, channel, "ui.limit.failed", messages...)
	dial.Publish(t, channel, "ui.limit.there", messages[:3]...)
	term := o.onQueue(t, "ui.limit.failed").await("12 messages")
	term.press("*", "m").await("Type a part of the queue's name").press("ui.limit.there", keyEnter)
	term.await("ui.limit.there keeps at most 5 messages", "7 of these 12", "i insists").press(keyEnter).settle()
	got := depth.Of(t, channel, "ui.limit.failed")
	must.That(t, got == 12, "%d are left\n%s", got, term.screen())
	term.press("i").await("enter move", "would be dropped").agree("move", "12 messages moved to ui.limit.there")
	term.press("u").await("and from the journal those that its limit", "enter bring back")
	term.press(keyEnter).await("12 of 12 messages brought back to ui.limit.failed")
	term.lacks("consumer", "a consumer is blamed")
	bodies := map[string]bool{}
	for range 12 {
		d := take(t, channel, "ui.limit.failed", true)
		bodies[d.MessageId+string(d.Body)] = true
	}
	for _, m := range messages {
		assert.That(t, bodies[m.MessageId+string(m.Body)], "%s is not there as it was", m.MessageId)
	}
}

// Then nothing is done, and the dialog says so.
func TestTopologyCannotBeReadAgain(t *testing.T) {
	o := failed(3)
	o.Interval = time.Hour
	term := o.onFailed(t).press("r").await("enter replay")
	term.source.fail(fmt.Errorf("the API is away"))
	term.press(keyEnter).await("the topology could not be read again, and nothing was changed").wantFroms()
	term.source.tell(term.source.snapshot)
	term.press(keyEnter).await("1 message moved")
}

// An account with queues outside the plan is not a complete one.
func TestWhatElseItReached(t *testing.T) {
	a := plan.Account{Planned: 1, Moved: 1}
	assert.That(t, a.Complete(), "it is complete")
	a.Strayed = []plan.Stray{{Way: model.Address{Exchange: "x", RoutingKey: "k"}, Queue: ref("audit"), Messages: 1}}
	l := shell.DialogLines{Styles: mono, Width: 80}
	if act.SayStrays(&l, &a); a.Complete() || !strings.Contains(strings.Join(l.Lines, " "),
		"up to 1 message may also be in audit") {
		t.Errorf("%q", l.Lines)
	}
}

// A queue without a flow, with messages whose worker is gone, offers the possible queues, and finally every queue.
func TestTabReachesAQueueOfChoice(t *testing.T) {
	o, b, _ := showing(recording(queue("billing.parking", ready(1)), queue("billing.invoice", consumers(1)),
		queue("stock", consumers(1))))
	b.put("billing.parking", message.Message{
		RoutingKey: "billing.parking", Body: []byte("x"),
		Headers: model.Table{"x-death": []any{
			model.Table{"queue": "old.invoice", "reason": "rejected", "count": int64(2)},
		}},
	})
	term := o.onQueue(t, "billing.parking").await("1 message").press("r")
	term.await("not possible: the worker is not here", "old.invoice, which is gone", "it could be billing.invoice")
	term.press(keyTab) // one at a time: while a plan is being made, keys do nothing
	term.await("origin: where each").press(keyTab).await("enter replay", "queue: billing.invoice (a similar name)")
	term.press(keyTab).await("Type a part of the queue's name", "2 of 2")
	term.press(keyEsc).await("not possible: the worker is not here").press(keyTab).await("origin: where each")
	term.press(keyTab).await("queue: billing.invoice").press(keyTab).await("2 of 2")
	term.press("s", "t", "o", "c").await("1 of 2")
	term.press(keyEnter).await("enter replay", "queue: stock of choice", "stock, 1 consumer")
	term.press(keyEnter).await("1 message moved")
	term.ran(func(p plan.Run) bool { return p.Operation == plan.Replay && p.Target.Fixed.RoutingKey == "stock" })
}

// A look shows that a queue holds dead letters. From then on it is among the failed ones.
func TestDeadLettersThatNoFlowHas(t *testing.T) {
	o, b, _ := showing(recording(queue("attention", ready(1)), queue("orders", consumers(1))))
	o.Interval = 10 * time.Millisecond
	b.put("attention", message.Message{
		Headers: model.Table{"x-death": []any{model.Table{"queue": "orders", "reason": "rejected", "count": int64(2)}}},
	})
	term := o.onQueue(t, "attention").await("1 message").press("3", "f")
	term.await("FAILED QUEUE", "no flow has it", "failures in 1 of 1 message read there")
}

// Insisting on losses at one queue's limit does not agree to another's.
func TestInsistIsForOneTarget(t *testing.T) {
	limit := func(q *model.Queue) { q.Arguments["x-max-length"] = int64(5) }
	for _, test := range []struct {
		keys   []string
		turns  []string // up to the selectable queue: what is shown after each tab
		agrees string
	}{
		{[]string{"*", "m"}, nil, "enter move"},
		{[]string{"R"}, []string{"target    auto", "target    origin"}, "enter replay"},
	} {
		t.Run(test.agrees, func(t *testing.T) {
			o, b, _ := showing(recording(
				queue("parking", ready(12)), queue("limited.one", limit), queue("limited.two", limit),
			))
			b.put("parking", slices.Repeat([]message.Message{{RoutingKey: "parking", Body: []byte("x")}}, 12)...)
			term := o.onQueue(t, "parking").await("12 messages").press(test.keys...)
			choose := func(keys ...string) *terminal {
				for _, seen := range test.turns {
					term.await(seen).press(keyTab)
				}
				return term.await("Type a part of the queue's name", "2 of 2").press(keys...)
			}
			choose(keyEnter).await("limited.one keeps at most 5 messages", "i insists").press("i")
			term.await(test.agrees).press(keyTab)
			choose(keyDown, keyEnter).await("limited.two keeps at most 5 messages", "i insists")
		})
	}
}

// An action on a cause is on what was read: dialog and account say how many messages came later, and these stay.
func TestWhatComesLaterStays(t *testing.T) {
	const gone = -1
	for _, test := range []struct {
		name string
		left int64 // in the queue after it has run
		done plan.Account
		last []string // what the account says
		not  string
	}{
		{"5 came, 3 of them before it ran", 29, plan.Account{Dropped: 23}, []string{
			"later", "5 came later and stay (after 03:04:05)",
		}, ""},
		{"others took some of it", 2, plan.Account{Dropped: 20, Gone: 3}, []string{"gone"}, "came later and stay (after"},
		{"what stayed is not counted twice", 31, plan.Account{Dropped: 17, Refused: 6}, []string{
			"1 came later and stays (after",
		}, ""},
		{"the queue is gone", gone, plan.Account{Dropped: 23}, []string{"3 came later and stay (after"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			o, b, _, _ := manyFailed()
			there := int64(50)
			b.execute = ends(func(a *plan.Account) {
				a.Dropped, a.Gone, a.Refused = test.done.Dropped, test.done.Gone, test.done.Refused
				b.change(func() { there = test.left }) // Count has the lock
			})
			b.count = func(refs []model.QueueRef) (map[model.QueueRef]model.QueueCounts, error) {
				if len(refs) != 1 || refs[0] != ref(failedQueue) || there == gone {
					return nil, nil
				}
				return map[model.QueueRef]model.QueueCounts{refs[0]: {Ready: model.Some(there)}}, nil
			}
			term := o.onCauses(t).await("ValueError: the user has no valid e-mail address")
			term.press(keyDown, "d").await("Drop 23 messages", "all of the cause, as read at 03:04:05: 23 messages")
			term.await("23 messages; 3 came later and stay", "enter drop")
			term.press(keyEnter).await(append(test.last, "What happened")...)
			if test.not != "" {
				term.awaitGone(test.not)
			}
			term.ran(func(p plan.Run) bool { return p.Planned == 23 })
			came := strings.Contains(term.screen(), "came later")
			term.press(keyEnter)
			if came {
				term.await("later and stay", "ctrl-r reads the queue again").awaitGone("none of this cause is left")
			}
		})
	}
}

// Messages held after an action first come back: only then is the queue counted.
func TestArrivalsAreCountedWhenTheQueueIsWhole(t *testing.T) {
	o, b, _, _ := manyFailed()
	asked := 0
	b.count = func(refs []model.QueueRef) (map[model.QueueRef]model.QueueCounts, error) {
		asked++ // under the broker's lock
		ready, held := int64(24+2), false
		if asked < 3 {
			ready, held = 7, true
		}
		return map[model.QueueRef]model.QueueCounts{refs[0]: {Ready: model.Some(ready), Held: held}}, nil
	}
	term := o.onCauses(t).await("ValueError: the user has no valid e-mail address")
	term.press(keyDown, "d").await("Drop 23 messages", "enter drop")
	term.press(keyEnter).await("What happened", "2 came later and stay")
}
