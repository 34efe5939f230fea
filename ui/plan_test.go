package ui

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/export"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/action"
	"github.com/dlxtop/dlxtop/model/mend"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// watched plays a canary of 47 that waits for the order to continue, and some of which come back.
func watched(ctx context.Context, p plan.Run, progress plan.Progress) (plan.Account, error) {
	a := plan.Account{Operation: p.Operation, From: p.From, Planned: p.Planned, Moved: 1, Canary: plan.CanaryState{
		Phase: plan.CanaryWaits, Sent: 1, Idle: []model.QueueRef{ref("ucenter@user")},
		Until: newClock().now().Add(50 * time.Second),
	}}

	progress(a)

	select {
	case <-p.GoOn:
	case <-ctx.Done():
		a.Stopped = "on request"
		a.Canary = plan.CanaryState{Phase: plan.CanaryCut, Sent: 1}
		return a, nil
	}

	a.Moved = 11
	a.CameBack = 3
	a.Stopped = "3 of 11 came back"
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
	term.press(keyEnter).settle().await("What happened") // meant for the wait, which had just ended
	c.advance(shell.ChangeGuard)
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
	holds(t, channel, "ui.canary.failed", 120)
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

	term.press(keyEnter)

	// Through the exchange, the worker is no longer the only one reached: by name it is.
	term.await("read it again", "changed   ", "through (default), key ui.check")
	holds(t, channel, "ui.check.failed", 1)
	term.agree("replay", "1 message moved to ui.check") // after a moment, so that no key is pressed unread
	holds(t, channel, "ui.check.failed", 0)
	holds(t, channel, "ui.check", 1)
	holds(t, channel, "ui.check.audit", 0)
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
	holds(t, channel, "ui.limit.failed", 12)
	term.press("i").await("enter move", "would be dropped").agree("move", "12 messages moved to ui.limit.there")
	term.press("u").await("and from the journal those that its limit")
	term.agree("bring back", "12 of 12 messages brought back to ui.limit.failed")
	term.lacks("consumer", "a consumer is blamed")

	bodies := map[string]bool{}
	holds(t, channel, "ui.limit.failed", 12)
	for _, d := range dial.Drain(t, channel, "ui.limit.failed") {
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
	assert.That(t, !a.Complete(), "it is complete with %v", a.Strayed)
	ended := action.Ended{Account: a}
	assert.Contains(t, ended.Facts(time.Now())[0].Words, "up to 1 message may also be in audit")
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
				a.Dropped = test.done.Dropped
				a.Gone = test.done.Gone
				a.Refused = test.done.Refused
				b.change(func() { there = test.left }) // Count has the lock
			})

			b.count = func(refs []model.QueueRef) (model.CountsByQueue, error) {
				if len(refs) != 1 || refs[0] != ref(failedQueue) || there == gone {
					return nil, nil
				}
				return model.CountsByQueue{refs[0]: {Ready: model.Some(there)}}, nil
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
			if test.done.Dropped == 23 {
				term.awaitGone("d drop") // there is nothing to drop
			}
		})
	}
}

// Messages held after an action first come back: only then is the queue counted.
func TestArrivalsAreCountedWhenTheQueueIsWhole(t *testing.T) {
	o, b, _, _ := manyFailed()
	asked := 0
	b.count = func(refs []model.QueueRef) (model.CountsByQueue, error) {
		asked++ // under the broker's lock
		ready, held := int64(24+2), false
		if asked < 3 {
			ready, held = 7, true
		}
		return model.CountsByQueue{refs[0]: {Ready: model.Some(ready), Held: held}}, nil
	}

	term := o.onCauses(t).await("ValueError: the user has no valid e-mail address")
	term.press(keyDown, "d").await("Drop 23 messages", "enter drop")
	term.press(keyEnter).await("What happened", "2 came later and stay")
}

// scripted returns an editor that runs a script on the file; it records the file's mode and content beside the script.
func scripted(t *testing.T, script string) (editor, dir string) {
	t.Helper()
	dir = t.TempDir()
	path := filepath.Join(dir, "editor")
	content := fmt.Sprintf("#!/bin/sh\ncd %q\nfor f; do :; done # the last argument\nls -l \"$f\" | cut -c1-10 "+
		">mode\necho \"$f\" >>path\ncp \"$f\" given\n%s\n", dir, script)
	must.Do(t, os.WriteFile(path, []byte(content), 0o700))
	return path + " --wait", dir
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(path...)))(t)
	return string(text)
}

// What the editor is given, how private that is, and that nothing of it stays.
func TestEditorHasThePrivateFile(t *testing.T) {
	o, _, _ := failedOptions(5)
	editor, dir := scripted(t, "")
	o.Editor = editor
	term := o.onFailed(t).press("e")
	term.await("Replay 1 message", "nothing was changed in the editor: this is a plain replay", "e edit")
	assert.Equal(t, strings.TrimSpace(read(t, dir, "mode")), "-rw-------", "the file's mode")
	path := strings.TrimSpace(read(t, dir, "path"))
	term.awaitThat("nothing of the file stays", func(string) bool {
		_, err := os.Stat(filepath.Dir(path))
		return os.IsNotExist(err)
	})

	given := read(t, dir, "given")
	for _, want := range []string{
		`"exchange": "master"`, `"routing_key": "ucenter@user"`,
		`"message_id": "0f3c9a00-user"`, "----- body (utf-8) -----\n{\"id\":120",
	} {
		assert.Contains(t, given, want)
	}

	assert.That(t, !strings.Contains(given, "x-death"), "what is stripped is offered:\n%s", given)
	term.press(keyEnter).await("1 message moved")
	term.ran(func(p plan.Run) bool { return p.Edited == nil })
}

// An error in an edited text is shown with its line, and the editor opens with it again.
func TestBadEditIsNotLost(t *testing.T) {
	o := failed(5)
	editor, dir := scripted(t, `if [ -e broken ]; then sed -i 's/priority": "high"/priority": 7/' "$f"; else touch broken; sed -i 's/"properties": {/"properties": {\n    "priority": "high",/; s/guan yu/zhang fei/' "$f"; fi`)
	o.Editor = editor
	term := o.onFailed(t).press("e")
	term.await("Edit, then replay", "what was typed cannot be read: line 7: properties.priority has the wrong",
		"Nothing is lost", "e edit again")
	term.press("e").await(`priority: "" → 7`, "zhang fei")
	assert.Contains(t, read(t, dir, "given"), "zhang fei", "the second time it had")
	term.press(keyEsc).awaitGone("Replay 1 message").wantFroms()
}

func TestEditIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		change      func(t *testing.T, o *Options)
		keys, words string
	}{
		"more than one": {nil, "  ", "2 messages are selected, and one is edited at a time"},
		"read-only":     {func(_ *testing.T, o *Options) { o.ReadOnly = true }, "", "read-only:"},
		"the editor fails": {
			func(_ *testing.T, o *Options) { o.Editor = "false" }, "",
			"the editor ended with an error (exit status 1): nothing was done",
		},
		"no editor": {
			func(t *testing.T, _ *Options) { t.Setenv("PATH", t.TempDir()) }, "",
			"there is no editor: name one in VISUAL or EDITOR",
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := failed(5)
			if test.change != nil {
				test.change(t, &o)
			}
			o.onFailed(t).press(test.keys, "e").await(test.words)
		})
	}
}

// A truncated body is read whole, the edited message is published, and an undo brings back the original byte for byte.
func TestEditOnARealBroker(t *testing.T) {
	o, _, channel := real(t)
	dial.Queue(t, channel, "ui.edit.worker", nil)
	dial.Queue(t, channel, "ui.edit.failed", nil)
	body := strings.Repeat("0123456789", 30_000) + "the end"
	dial.Publish(t, channel, "ui.edit.failed",
		amqp.Publishing{
			MessageId: "one", Headers: amqp.Table{"n": int32(1), "x": "y"}, Body: []byte(body),
			DeliveryMode: 2, Priority: 3,
		})

	editor, _ := scripted(t, `sed -i 's/"exchange": ".*"/"exchange": ""/; s/"routing_key": ".*"/"routing_key": "ui.edit.worker"/; s/the end/another end/; s/"x": "y"/"x": "z"/' "$f"`)
	o.Editor = editor
	term := o.onQueue(t, "ui.edit.failed").await("1 message").press("e")
	term.await("routing_key: ", "→ ui.edit.worker", `header x: "y" → "z"`,
		"body: 300007 → 300,011 bytes, different from byte 300001 on", "reaches   ui.edit.worker")
	term.agree("replay", "1 message moved to ui.edit.worker")
	holds(t, channel, "ui.edit.worker", 1)
	d := take(t, channel, "ui.edit.worker", false)
	assert.Equal(t, string(d.Body), strings.Replace(body, "the end", "another end", 1), "%v %+v %d bytes", d.Headers,
		d.Priority, len(d.Body))
	assert.That(t, d.Headers["n"] == int32(1), "%v %+v %d bytes", d.Headers, d.Priority, len(d.Body))
	assert.That(t, d.Headers["x"] == "z", "%v %+v %d bytes", d.Headers, d.Priority, len(d.Body))
	assert.Equal(t, d.Priority, 3)
	assert.That(t, d.Headers[message.ReplayHeader] != nil, "%v %+v %d bytes", d.Headers, d.Priority, len(d.Body))
	must.Do(t, d.Nack(false, true))
	holds(t, channel, "ui.edit.worker", 1)
	term.press(keyEnter, "u").agree("bring back", "1 of 1 message brought back")
	holds(t, channel, "ui.edit.failed", 1)
	d = take(t, channel, "ui.edit.failed", true)
	assert.Equal(t, string(d.Body), body, "%v %d bytes", d.Headers, len(d.Body))
	assert.That(t, d.Headers["x"] == "y", "%v %d bytes", d.Headers, len(d.Body))
	assert.Equal(t, len(d.Headers), 2)
	assert.Equal(t, d.Priority, 3)
	assert.Equal(t, d.MessageId, "one")
}

// The selection is changed, and its replay has the program.
func TestMendSelection(t *testing.T) {
	term := failed(5).onFailed(t).press(" ", " ", "E").await("Edit 2 messages with jq", "the selection: 2 messages")
	term.press(".body.name = 5", keyEnter).await("2 of 2 messages are changed", "E edit the program")
	term.press("E").awaitGone("E edit the program")
	term.press(` | .body.new = "x"`, keyEnter).await("2 of 2 messages are changed", "to the replay")
	term.press(keyEnter).await("edited", "enter replay")
	term.press("E").await("Edit 2 messages with jq", "earlier programs").press(keyEnter).await("to the replay")
	term.press(keyEnter).await("enter replay").press("c").await("c no canary", "enter replay")
	term.press("c").awaitGone("c no canary")
	term.await("enter replay") // the plan without it is there
	term.press(keyEnter).await("2 messages moved")
	term.ran(func(p plan.Run) bool {
		return p.Mend != nil && p.Mend.Text == `.body.name = 5 | .body.new = "x"` && p.Mended.Changed == 2
	})
	term.press(keyEnter).awaitGone("What happened")
	term.press("E", keyUp).await(`program   .body.name = 5 | .body.new = "x"`).press(keyUp).awaitGone(".body.new")
	term.press("\x1b[B", "\x1b[B").awaitGone(".body.name").press(keyEsc).awaitGone("with jq")
}

func TestMendIsRefused(t *testing.T) {
	o := failed(5)
	term := o.onFailed(t).press("E", ".body", keyEnter)
	term.await("not possible: the jq program gives another object instead", "5 messages: the jq program",
		"E edit the program")
	term.press(keyEnter, "E").await("earlier programs")
	for range len(".body") {
		term.press("\x7f")
	}

	term.press(keyEnter).await("this is not a jq program")
	term.press("def f: f; f", keyEnter).await("did not end within 1 million steps").press(keyEsc).awaitGone("with jq")
	term.wantFroms()
	o = failed(5)
	o.ReadOnly = true
	o.onFailed(t).press("E").await("read-only:")
}

// The journal says what changed the messages.
func TestRecordNamesTheProgram(t *testing.T) {
	o, _, _ := failedOptions(5)
	j := withJournal(t, &o, 3)
	program := must.Get(mend.Parse(`.body.fixed = true`))(t)
	id, err := j.Begin(t.Context(), plan.Record{
		Operation: plan.Replay, From: ref(failedQueue), User: "guest", Broker: "mq1:5672", Planned: 1,
		Intent: &plan.Intent{Options: plan.Options{Mend: program}},
	})

	if err == nil {
		err = j.Finish(id, nil, plan.Account{Planned: 1, Gone: 1})
	}

	must.Do(t, err)
	term := o.open(t).press("5").await("1 gone")
	term.press(keyEnter).await("changed by the jq program .body.fixed = true")
}

// exported reads a file back.
func exported(t *testing.T, path string) (messages []message.Message) {
	t.Helper()
	must.Do(t, (export.Files{}).Read(t.Context(), path,
		func(m *message.Message) error { messages = append(messages, *m); return nil }))
	return messages
}

// retype replaces a field's content.
func (term *terminal) retype(text string) *terminal {
	return term.press("\x15", text) // ctrl-u
}

func TestExportOfTheSelection(t *testing.T) {
	home := t.TempDir()
	t.Chdir(home)
	t.Setenv("HOME", home)
	o := failed(5)
	o.Files = export.Files{}
	term := o.onFailed(t)
	term.press(keyDown, " ", keyDown, " ", "x").await("Export 2 messages", "the selection: 2 messages").press(keyEnter)
	const name = failedQueue + "-20260301-030405.jsonl"
	term.await("2 messages written to", "/"+name)
	got := exported(t, name)
	must.Equal(t, len(got), 2, "%+v", got)
	assert.Equal(t, got[0].Position, 2)
	assert.Equal(t, got[1].Position, 4)
	assert.Equal(t, got[0].Properties.MessageID, "0f3c9a01-user")
	info, err := os.Stat(name)
	must.Do(t, err)
	assert.Equal(t, info.Mode().Perm(), 0o600, "%v %v", err, info)
	term.press("x", keyEnter).await("is there already", "Export 2 messages").retype("")
	term.press(keyEnter).await("name a file")
	term.press("~/other.jsonl", keyEnter).await("2 messages written to", filepath.Join(home, "other.jsonl"))
	term.press(keyEsc).awaitGone("selected").press("x").await("Export 5 messages")
	term.press(keyEsc).awaitGone("Export 5 messages")
	files, _ := os.ReadDir(".")
	assert.That(t, len(files) == 2, "there are %v", files)
}

// Even if the screen only shows the beginning.
func TestExportWritesWholeBodies(t *testing.T) {
	o, _, channel := real(t)
	o.Files = export.Files{}
	dial.Queue(t, channel, "ui.export", nil)
	dial.Publish(
		t, channel, "ui.export",
		amqp.Publishing{MessageId: "small", Body: []byte("small")},
		amqp.Publishing{MessageId: "large", Body: []byte(strings.Repeat("l", 300_000))},
		amqp.Publishing{MessageId: "huge", Body: []byte(strings.Repeat("h", 6_000_000))},
	)

	term := o.onQueue(t, "ui.export").await("3 messages")
	path := filepath.Join(t.TempDir(), "all.jsonl")
	term.press("x").await("Export 3 messages").retype(path).press(keyEnter).await("3 messages written", path)
	got := exported(t, path)
	must.Equal(t, len(got), 3, "%d messages", len(got))
	assert.Equal(t, len(got[1].Body), 300_000)
	assert.Equal(t, len(got[2].Body), 6_000_000)
	assert.Equal(t, got[0].Properties.MessageID, "small")
}

// While a filter is not applied yet, the displayed messages are not the requested ones.
func TestExportWaitsForTheFilter(t *testing.T) {
	o := failed(5)
	o.Files = export.Files{}
	term := o.onFailed(t)
	term.press("/", "= body_bytes +").await("cannot be read").press(keyEnter, "x").await("the filter is not complete")
}
