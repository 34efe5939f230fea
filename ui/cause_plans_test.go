package ui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/export"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// onSMTP has the cursor on the cause that is in two queues, 40 messages and 24.
func (o Options) onSMTP(t *testing.T, size ...int) *terminal {
	t.Helper()
	return o.onCauses(t, size...).await(" 64 ").awaitRow(smtpCause[:24])
}

// An option typed before the plans are made applies to them; enter does not.
func TestKeysWhileACauseIsRead(t *testing.T) {
	term := failedQueues().onSMTP(t)
	term.broker.change(func() { term.press("r").await("replay a cause").press("c", keyEnter).settle() })
	term.await("replay 64 messages of 2 queues", "c no canary")
	assert.That(t, len(term.broker.executed()) == 0, "it ran")
}

// wantFroms checks the queues of what was executed.
func (term *terminal) wantFroms(want ...string) *terminal {
	term.t.Helper()
	var got []string
	for _, p := range term.broker.executed() {
		got = append(got, fmt.Sprint(p.From.Name, " ", p.Planned))
	}
	assert.List(term.t, got, want, "it did")
	return term
}

// All queues of a cause are read, shown with where their messages go, and agreed to once.
func TestCauseInSeveralQueues(t *testing.T) {
	term := failedQueues().onSMTP(t)
	term.press("r").await("replay 64 messages of 2 queues, as read at 03:04:05", "mail.failed", failedQueue)
	term.await("enter replay 64 messages").await("canary", "spread", "reaches")
	term.broker.put("mail.failed", failedFor(99, "TimeoutError: smtp gateway did not answer in 99 s"))
	term.clock.advance(shell.ChangeGuard)
	term.press("G").awaitRow(failedQueue)
	must.Equal(t, len(term.broker.executed()), 0, "plans ran before enter")
	term.press(keyEnter)
	term.await("64 messages moved", "40 messages moved to ucenter@user", "24 messages moved to ucenter@user", "esc close")
	term.wantFroms("mail.failed 40", failedQueue+" 24")
	term.press("o").await("marked as resolved").press(keyEsc).await("CAUSE")
	term.awaitGone("TimeoutError: smtp") // it has no messages any more
}

// On a small terminal the plan of the queue under the cursor is read by pages.
func TestPlansOfACauseScroll(t *testing.T) {
	term := failedQueues().onSMTP(t).press("r").await("replay 64 messages of 2 queues").resize(60, 16).await("…")
	const pageDown, pageUp = "\x1b[6~", "\x1b[5~"
	term.awaitGone("undoes it").press(pageDown).await("from ", "1–2 of 20")
	term.press(strings.Repeat(pageDown, 20)).await("marked redelivered", "19–20 of 20")
	term.press(strings.Repeat(pageUp, 20)).await("reaches", "…").awaitGone("of 20")
	term.press("G").await("── " + failedQueue)
}

// The options of a dialog apply to all queues, and a canary runs for each of them.
func TestOptionsOfACauseInSeveralQueues(t *testing.T) {
	term := failedQueues().onSMTP(t).press("r").await("enter replay 64 messages", "c canary")
	term.press("c").await("enter replay 64 messages", "c no canary", "canary    ")
	term.press("o").await("enter replay 64 messages", "o spread over 5m", "40 messages take 1m or more")
	term.press(keyEnter).await("64 messages moved", "esc close")
	for _, p := range term.broker.executed() {
		assert.That(t, p.Canary != nil, "%s ran with the canary %v at %g messages a second", p.From, p.Canary, p.Rate)
		assert.That(t, p.Rate != 0, "%s ran with the canary %v at %g messages a second", p.From, p.Canary, p.Rate)
	}

	term.wantFroms("mail.failed 40", failedQueue+" 24")
}

// If a queue fails, the later ones are left as they are, and can be continued.
func TestCauseStopsAtTheFirstTrouble(t *testing.T) {
	o, b, _, c := manyFailed()
	b.execute = func(_ context.Context, p plan.Run, _ plan.Progress) (plan.Account, error) {
		a := plan.Account{Operation: p.Operation, From: p.From, Planned: p.Planned, Dropped: p.Planned}
		if p.From == ref("mail.failed") {
			a.Dropped = 7
			return a, errors.New("the connection was lost")
		}
		return a, nil
	}

	term := o.onSMTP(t).press("D").await("enter drop 64 messages").press(keyEnter)
	term.await("7 of 40 messages dropped", "it ended before 1 queue: 24 messages are untouched", "the connection was lost")
	term.wantFroms("mail.failed 40")
	term.press(keyEnter, keyEnter, keyEnter) // from a user who did not see that it ended
	term.press("G").awaitRow(failedQueue)
	c.advance(shell.ChangeGuard)
	term.await("it ended before 1 queue").wantFroms("mail.failed 40")
	term.press(keyEnter).await("drop 24 messages of 1 queue", "enter drop 24 messages")
	term.press(keyEnter).await("31 of 64 messages dropped", "24 messages dropped")
	term.wantFroms("mail.failed 40", failedQueue+" 24")
}

// A refusal in one queue is shown, and the queue left out; a plan that changes after it was read is asked about again.
func TestCausePlansThatChange(t *testing.T) { atSizes(t, causePlansThatChange) }

func causePlansThatChange(t *testing.T, width, height int) {
	o, b, source, c := manyFailed()
	b.leave("mail.failed", 0, 0)
	for i := range 40 { // with an unknown worker
		b.put("mail.failed", message.Message{
			RoutingKey: "nobody",
			Headers:    model.Table{"x-error": fmt.Sprintf("TimeoutError: smtp gateway did not answer in %d s", i)},
		})
	}

	s := without(source.snapshot, "mail") // the target of the messages in mail.failed
	source.snapshot = s
	term := o.onSMTP(t, width, height).press("r")
	term.await("replay 24 messages of 1 queue", "not possible", "1 queue left out: its messages stay where they are")
	changed := later(s, 0, nil)
	queue("audit", consumers(1))(changed)

	for _, b := range s.Bindings {
		if b.Destination == "ucenter@user" {
			b.Destination = "audit"
			changed.Bindings = append(changed.Bindings, b)
		}
	}

	source.tell(countedAt(c, changed))
	term.press(keyEnter).await("read it again", "changed   ")
	must.Equal(t, len(b.executed()), 0, "plans ran that had not been on the screen")
	c.advance(2 * shell.ChangeGuard)
	term.await("enter replay 24 messages").press(keyEnter)
	term.await("24 messages moved", "esc close") // "0 of 24 messages moved" is at its beginning
	term.wantFroms(failedQueue + " 24")
}

// Many messages, and several on production, are agreed to with their number.
func TestNumberOfACauseIsTyped(t *testing.T) {
	o := failedQueues()
	o.Production = true
	term := o.onSMTP(t).press("d").await("Production: to drop 64 messages for good of 2 queues, type 64:")
	term.press(keyEnter).await("Nothing was changed: first type 64.")
	term.press("6", "3", keyEnter).await("Nothing was changed: you typed 63, not 64.")
	term.press("\x7f", "4").await("enter drop 64 messages").wantFroms()
	term.press(keyEnter).await("64 messages dropped", "esc close").wantFroms("mail.failed 40", failedQueue+" 24")
}

// A queue that cannot be read, one without messages of the cause, and a read-only connection.
func TestCausePlansWithoutMessages(t *testing.T) {
	term := failedQueues().onSMTP(t)
	term.broker.leave("mail.failed", 0, 0)
	term.press("r").await("replay 24 messages of 1 queue", "none is left").press(keyEsc).await("CAUSE")
	term.broker.fail(errors.New("the queue's node is down"))
	term.press("r").await("not read", "the queue's node is down", "nothing to replay").press(keyEnter)
	term.press(keyEsc).await("CAUSE").wantFroms()
}

// The messages of a cause are moved to one queue, which is selected once for all of its queues.
func TestCauseIsMoved(t *testing.T) {
	o, b, source, _ := manyFailed()
	s := later(source.snapshot, 0, nil)
	queue("parking")(s)
	source.snapshot = s
	term := o.onSMTP(t)
	term.press("m").await("Move 64 messages", "Type a part of the queue's name", "64 messages of 2 queues")
	term.press("parking", keyEnter)
	term.await("move 64 messages of 2 queues, as read at 03:04:05", "enter move 64 messages", "parking")
	term.press(keyTab).await("Type a part of the queue's name")
	term.press(failedQueue, keyEnter).await("move 40 messages of 1 queue", "1 queue left out", "not possible")
	term.press(keyTab).await("Type a part of the queue's name").press(keyEsc)
	term.await("move 40 messages of 1 queue") // the earlier choice stays
	term.press(keyTab, "parking", keyEnter).await("enter move 64 messages")
	must.Equal(t, len(b.executed()), 0, "plans ran before enter")
	term.press(keyEnter)
	term.await("64 messages moved", "40 messages moved to parking", "24 messages moved to parking", "esc close")
	term.wantFroms("mail.failed 40", failedQueue+" 24")

	for _, p := range b.executed() {
		assert.Equal(t, p.Operation, plan.Move, "%s was executed: %s to %v", p.From, p.Operation, p.Target.Fixed)
		assert.Equal(t, p.Target.Fixed.RoutingKey, "parking", "%v", p.From)
	}
}

// Leaving the choice of a target moves nothing.
func TestCauseIsNotMoved(t *testing.T) {
	term := failedQueues().onSMTP(t).press("m").await("Type a part of the queue's name")
	term.press("q") // a letter
	term.await("> q").press(keyEsc).await("CAUSE", "STATE").wantFroms()
}

// One program changes the messages of a cause in all its queues: its results are shown together, and agreed to before
// the plans. What it cannot change stays, and does not stop the rest.
func TestCauseIsMended(t *testing.T) {
	o, b, _, _ := manyFailed()
	b.execute = func(_ context.Context, p plan.Run, _ plan.Progress) (plan.Account, error) {
		a := plan.Account{Operation: p.Operation, From: p.From, Planned: p.Planned, Refused: p.Mended.Stay}
		a.Moved = p.Planned - a.Refused
		return a, nil
	}

	term := o.onSMTP(t).press("E").await("Edit 64 messages with jq", "all of the cause in 2 queues: 64 messages")
	term.press(".body[", keyEnter).await("the jq program is not complete")
	term.retype(`if .body.id % 10 == 3 then error("no") else .headers.fixed = true end`).press(keyEnter)
	term.await("of 64 messages are changed", "stay in the queue", "with the header fixed: true", "enter to the replay")
	changed := 0
	term.press("E").await("earlier programs").press(keyEnter).await("enter to the replay")
	term.press(keyEnter).await("replay 64 messages of 2 queues", "edited", "enter replay 64 messages", "E edit")
	term.press("c").await("c no canary", "enter replay 64 messages")
	term.press(keyEnter).await("messages moved", "esc close").wantFroms("mail.failed 40", failedQueue+" 24")

	for _, p := range b.executed() {
		assert.That(t, p.Mend != nil, "%s ran with the program %v and the canary %v", p.From, p.Mend, p.Canary)
		assert.That(t, p.Canary != nil, "%s ran with the program %v and the canary %v", p.From, p.Mend, p.Canary)
		assert.That(t, p.From != ref("mail.failed") || p.Mended.Stay != 0, "%s ran with the program %v and the canary %v",
			p.From, p.Mend, p.Canary)
		changed += p.Mended.Changed
	}

	term.await(fmt.Sprintf("%d of 64 messages moved", changed)).press(keyEsc).await("CAUSE")

	o, _, _, _ = manyFailed()
	term = o.onSMTP(t).press("E").await("Edit 64 messages with jq").press(".body", keyEnter)
	term.await("not possible: the jq program gives another object instead", "64 messages: the jq program")
	term.press(keyEnter) // does nothing
	term.press(keyEsc).await("CAUSE").wantFroms()
}

// An export of a cause is a file for each of its queues; none is overwritten, and what was written is reported.
func TestCauseIsExported(t *testing.T) {
	t.Chdir(t.TempDir())
	o := failedQueues()
	o.Files = export.Files{}
	term := o.onSMTP(t).press("x")
	term.await("Export 64 messages", "one for each queue: mail.failed-20260301-030405.jsonl, …", "enter write 2 new files")
	term.press(keyEnter)
	term.await("64 messages written to", "/mail.failed-20260301-030405.jsonl", "1 further file", "CAUSE")

	const mail, user = "mail.failed-20260301-030405.jsonl", failedQueue + "-20260301-030405.jsonl"
	for name, want := range map[string]int{mail: 40, user: 24} {
		got := exported(t, name)
		other := func(m message.Message) bool {
			return !strings.Contains(fmt.Sprint(m.Headers["x-error"]), "TimeoutError")
		}
		assert.Equal(t, len(got), want, "%s has %d messages, want the %d of the cause", name, len(got), want)
		assert.That(t, !slices.ContainsFunc(got, other), "%s has %d messages, want the %d of the cause", name, len(got), want)
	}

	must.Do(t, os.Remove(mail))
	term.press("x").await("Export 64 messages").press(keyEnter).await("already: name a new one; 40 messages")
	term.await("Export 24 messages", "enter write 1 new file")
	must.Do(t, os.Mkdir("other", 0o700))
	term.retype("other").press(keyEnter).await("24 messages written to", "/other/"+user, "CAUSE")
}

// If nothing of a cause is left, or no queue can be read, nothing is asked for.
func TestCauseOfNothing(t *testing.T) {
	o, b, _, _ := manyFailed()
	o.Files = export.Files{}
	term := o.onSMTP(t)
	b.fail(errors.New("the queue's node is down"))
	for _, key := range []string{"m", "E", "x"} {
		term.press(key).await("not read: 2 queues", "the queue's node is down").press(keyEnter, keyEsc).await("CAUSE")
	}

	b.fail(nil)
	b.change(func() { b.messages = nil })
	for _, key := range []string{"m", "E", "x"} {
		term.press(key).await("none is left").press(keyEnter, keyEsc).await("CAUSE")
	}

	term.wantFroms()
}

// What was not read of a cause is shown with the question, and in the account; the cause is then not offered as
// resolved.
func TestCauseThatWasNotReadWhole(t *testing.T) {
	o, b, _, _ := manyFailed()
	o.Files = export.Files{}
	term := o.onSMTP(t)
	b.change(func() { b.down = ref("mail.failed") })
	term.press("x").await("all of the cause in 1 queue: 24 messages", "24 messages of 1 queue; not read: 1 queue")
	term.press(keyEsc).await("CAUSE").press("d").await("enter drop 24 messages", "not read: 1 queue")
	term.press(keyEnter).await("24 messages dropped", "not read: 1 queue", "esc close")
	term.lacks("o resolved", "it is offered as resolved").wantFroms(failedQueue + " 24")
}

// A click never agrees.
func TestCauseIsNotAgreedToByAClick(t *testing.T) {
	o := failedQueues()
	o.Mouse = true
	term := o.onSMTP(t).press("r").await("enter replay 64 messages").clickLast("enter replay")
	term.click("enter replay 64").press("G").awaitRow(failedQueue).wantFroms()
}

// A number typed while plans are made again is the number, and does not switch tabs.
func TestNumberOfACauseWhilePlansAreMade(t *testing.T) {
	o := failedQueues()
	o.Production = true
	term := o.onSMTP(t).press("r").await("type 64:")
	term.press("c64").await("enter replay 64 messages", "c no canary").wantFroms()
}

// A program that is looked at again, and left unchanged, stays that of the plans.
func TestProgramOfACauseIsKept(t *testing.T) {
	term := failedQueues().onSMTP(t).press("E").await("Edit 64 messages with jq")
	term.press(".headers.fixed = true", keyEnter).await("enter to the replay")
	term.press(keyEnter).await("enter replay 64 messages", "by        .headers.fixed = true")
	term.press("E").await("try it").retype(".headers.other = 1")
	term.press(keyEnter).await("with the header other", "enter to the replay")
	term.press(keyEsc).await("enter replay 64 messages", "by        .headers.fixed = true")
	term.press(keyEnter).await("64 messages moved", "esc close")

	for _, p := range term.broker.executed() {
		must.That(t, p.Mend != nil, "%s ran with %v", p.From, p.Mend)
		assert.Equal(t, p.Mend.Text, ".headers.fixed = true", "%v", p.From)
	}
}

// A run can be stopped: what is done stays done, and no further queue begins, even when the running one is done
// already. The last queue first: the running one is under the cursor all the same.
func TestCauseIsStopped(t *testing.T) {
	for _, test := range []struct {
		moved          int
		why            string
		before, during string // keys
		want           []string
	}{
		// none of these keys leaves the screen
		{3, "by a key", "", "q1" + keyTab, []string{"3 of 40 messages moved", "it ended before 1 queue", "by a key"}},
		{40, "", "S", "", []string{"40 messages moved", "it ended before 1 queue: 24 messages are untouched"}},
	} {
		o, b, _, _ := manyFailed()
		began := make(chan struct{}, 1)
		b.execute = func(ctx context.Context, p plan.Run, progress plan.Progress) (plan.Account, error) {
			a := plan.Account{Operation: p.Operation, From: p.From, Planned: p.Planned, Moved: test.moved}
			progress(a)
			began <- struct{}{}
			<-ctx.Done()
			a.Stopped = test.why
			return a, nil
		}

		term := o.onSMTP(t).press("r").await("enter replay 64 messages").press(test.before, keyEnter)
		<-began
		term.await(fmt.Sprint(test.moved, " of 40"), "esc stop", "then 24 messages of 1 queue").awaitRow("mail.failed")
		term.press(test.during, keyEsc).await(test.want...).wantFroms("mail.failed 40")
	}
}
