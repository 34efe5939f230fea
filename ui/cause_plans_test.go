package ui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// onSMTP has the cursor on the cause that is in two queues, 40 messages and 24.
func onSMTP(t *testing.T, o Options, width, height int) *terminal {
	t.Helper()
	term := onCauses(t, o, width, height)
	term.await(" 64 ")
	term.awaitThat("the cursor is on it", func(string) bool { return strings.Contains(term.cursorRow(), smtpCause[:24]) })
	return term
}

// froms are the queues of what was executed.
func (b *recordedBroker) froms() (queues []string) {
	for _, p := range b.executed() {
		queues = append(queues, fmt.Sprint(p.From.Name, " ", p.Planned))
	}
	return queues
}

func wantFroms(t *testing.T, b *recordedBroker, want ...string) {
	t.Helper()
	got := b.froms()
	assert.That(t, strings.Join(got, ", ") == strings.Join(want, ", "), "it did %v, want %v", got, want)
}

// All queues of a cause are read, shown with where their messages go, and agreed to once.
func TestCauseInSeveralQueues(t *testing.T) {
	o, b, _, c := manyFailed()
	term := onSMTP(t, o, 120, 36)
	term.press("r")
	term.await("replay 64 messages of 2 queues, as read at 03:04:05", "mail.failed", failedQueue)
	term.await("enter replay 64 messages")
	term.await("canary", "spread", "reaches")
	b.put("mail.failed", failedFor(99, "TimeoutError: smtp gateway did not answer in 99 s"))
	c.advance(shell.ChangeGuard)
	term.press("G")
	term.awaitThat("the cursor is on the last", func(string) bool {
		return strings.Contains(term.cursorRow(), failedQueue)
	})
	must.Equal(t, len(b.executed()), 0, "plans ran before enter")
	term.press(keyEnter)
	term.await("64 messages moved", "40 messages moved to ucenter@user", "24 messages moved to ucenter@user", "esc close")
	wantFroms(t, b, "mail.failed 40", failedQueue+" 24")
	term.press("o")
	term.await("marked as resolved")
	term.press(keyEsc)
	term.await("CAUSE")
	term.awaitGone("TimeoutError: smtp") // it has no messages any more
}

// The options of a dialog count for all queues, and a canary for each of them.
func TestOptionsOfACauseInSeveralQueues(t *testing.T) {
	o, b, _, _ := manyFailed()
	term := onSMTP(t, o, 120, 36)
	term.press("r")
	term.await("enter replay 64 messages", "c canary")
	term.press("c")
	term.await("enter replay 64 messages", "c no canary", "canary    ")
	term.press("o")
	term.await("enter replay 64 messages", "o spread over 5m", "40 messages take 1m or more")
	term.press(keyEnter)
	term.await("64 messages moved", "esc close")
	for _, p := range b.executed() {
		assert.That(t, p.Canary != nil && p.Rate != 0, "%s ran with the canary %v at %g messages a second", p.From, p.Canary,
			p.Rate)
	}
	wantFroms(t, b, "mail.failed 40", failedQueue+" 24")
}

// Where one of the queues is not handled well, those behind it are left as they are, and can be gone on with.
func TestCauseStopsAtTheFirstTrouble(t *testing.T) {
	o, b, _, c := manyFailed()
	b.execute = func(_ context.Context, p plan.Run, _ func(plan.Account)) (plan.Account, error) {
		a := plan.Account{Operation: p.Operation, From: p.From, Planned: p.Planned, Dropped: p.Planned}
		if p.From == ref("mail.failed") {
			a.Dropped = 7
			return a, errors.New("the connection was lost")
		}
		return a, nil
	}
	term := onSMTP(t, o, 120, 36)
	term.press("D")
	term.await("enter drop 64 messages")
	term.press(keyEnter)
	term.await("7 of 40 messages dropped", "it ended before 1 queue: 24 messages are untouched", "the connection was lost")
	wantFroms(t, b, "mail.failed 40")
	term.press(keyEnter, keyEnter, keyEnter) // by a hand that did not see that it ended
	term.press("G")
	term.awaitThat("the cursor is on the last", func(string) bool {
		return strings.Contains(term.cursorRow(), failedQueue)
	})
	c.advance(shell.ChangeGuard)
	term.await("it ended before 1 queue")
	wantFroms(t, b, "mail.failed 40")
	term.press(keyEnter)
	term.await("drop 24 messages of 1 queue", "enter drop 24 messages")
	term.press(keyEnter)
	term.await("31 of 64 messages dropped", "24 messages dropped")
	wantFroms(t, b, "mail.failed 40", failedQueue+" 24")
}

// What runs can be stopped: what is done stays done, and no further queue begins.
func TestCauseIsStopped(t *testing.T) {
	o, b, _, _ := manyFailed()
	began := make(chan struct{}, 1)
	b.execute = func(ctx context.Context, p plan.Run, progress func(plan.Account)) (plan.Account, error) {
		a := plan.Account{Operation: p.Operation, From: p.From, Planned: p.Planned, Moved: 3}
		progress(a)
		began <- struct{}{}
		<-ctx.Done()
		a.Stopped = "by a key"
		return a, nil
	}
	term := onSMTP(t, o, 120, 36)
	term.press("r")
	term.await("enter replay 64 messages")
	term.press(keyEnter)
	<-began
	term.await("3 of 40", "esc stop", "then 24 messages of 1 queue")
	term.press("q", "1", keyTab) // none leads away while it runs
	term.press(keyEsc)
	term.await("3 of 40 messages moved", "it ended before 1 queue", "by a key")
	wantFroms(t, b, "mail.failed 40")
}

// What is not possible in one queue is said and left out; a plan that changes after it was read is asked about again.
func TestCausePlansThatChange(t *testing.T) {
	for _, size := range []struct{ width, height int }{{80, 24}, {120, 36}} {
		t.Run(fmt.Sprintf("%dx%d", size.width, size.height), func(t *testing.T) {
			causePlansThatChange(t, size.width, size.height)
		})
	}
}

func causePlansThatChange(t *testing.T, width, height int) {
	t.Helper()
	o, b, source, c := manyFailed()
	orphans := make([]message.Message, 40) // that nothing says the worker of
	for i := range orphans {
		orphans[i] = message.Message{
			RoutingKey: "nobody",
			Headers:    model.Table{"x-error": fmt.Sprintf("TimeoutError: smtp gateway did not answer in %d s", i)},
		}
	}
	b.messages[ref("mail.failed")] = nil
	b.put("mail.failed", orphans...)
	s := later(source.snapshot, 0, nil)
	for i := range s.Queues {
		if s.Queues[i].Name == "mail" {
			s.Queues = append(s.Queues[:i:i], s.Queues[i+1:]...) // where the messages of mail.failed belong
			break
		}
	}
	source.snapshot = s
	term := onSMTP(t, o, width, height)
	term.press("r")
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
	term.press(keyEnter)
	term.await("read it again", "changed   ")
	must.Equal(t, len(b.executed()), 0, "plans ran that nobody had read")
	c.advance(2 * shell.ChangeGuard)
	term.await("enter replay 24 messages")
	term.press(keyEnter)
	term.await("24 messages moved", "esc close") // "0 of 24 messages moved" is when it begins
	wantFroms(t, b, failedQueue+" 24")
}

// Many messages, and several on production, are agreed to with their number.
func TestNumberOfACauseIsTyped(t *testing.T) {
	o, b, _, _ := manyFailed()
	o.Production = true
	term := onSMTP(t, o, 120, 36)
	term.press("d")
	term.await("Production: to drop 64 messages for good of 2 queues, type 64:")
	term.press(keyEnter)
	term.await("Nothing was changed: first type 64.")
	term.press("6", "3", keyEnter)
	term.await("Nothing was changed: you typed 63, not 64.")
	term.press("\x7f", "4")
	term.await("enter drop 64 messages")
	wantFroms(t, b)
	term.press(keyEnter)
	term.await("64 messages dropped", "esc close")
	wantFroms(t, b, "mail.failed 40", failedQueue+" 24")
}

// A queue that cannot be read, one that has none of the cause left, and a read-only connection.
func TestCausePlansWithoutMessages(t *testing.T) {
	o, b, _, _ := manyFailed()
	term := onSMTP(t, o, 120, 36)
	b.mu.Lock()
	b.messages[ref("mail.failed")] = nil
	b.mu.Unlock()
	term.press("r")
	term.await("replay 24 messages of 1 queue", "none is left")
	term.press(keyEsc)
	term.await("CAUSE")
	b.fail(errors.New("the queue's node is down"))
	term.press("r")
	term.await("not read", "the queue's node is down", "nothing to replay")
	term.press(keyEnter)
	term.press(keyEsc)
	term.await("CAUSE")
	wantFroms(t, b)
}

func TestCausePlansGolden(t *testing.T) {
	for _, size := range []struct{ width, height int }{{80, 24}, {120, 36}, {200, 50}} {
		t.Run(fmt.Sprintf("%dx%d", size.width, size.height), func(t *testing.T) {
			o, _, _, _ := manyFailed()
			term := onSMTP(t, o, size.width, size.height)
			term.press("r")
			term.await("enter replay 64 messages")
			term.golden()
		})
	}
}
