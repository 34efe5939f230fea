package ui

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/export"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model/plan"
)

// Where nothing of a cause is left, or no queue can be read, nothing is asked for.
func TestCauseOfNothing(t *testing.T) {
	o, b, _, _ := manyFailed()
	o.Files = export.Files{}
	term := onSMTP(t, o, 120, 36)
	b.fail(errors.New("the queue's node is down"))
	for _, key := range []string{"m", "E", "x"} {
		term.press(key)
		term.await("not read: 2 queues", "the queue's node is down")
		term.press(keyEnter, keyEsc)
		term.await("CAUSE")
	}
	b.fail(nil)
	b.mu.Lock()
	b.messages = nil
	b.mu.Unlock()
	for _, key := range []string{"m", "E", "x"} {
		term.press(key)
		term.await("none is left")
		term.press(keyEnter, keyEsc)
		term.await("CAUSE")
	}
	wantFroms(t, b)
}

// What was not read of a cause is told where something is asked, and in the account; the cause is then not offered as
// resolved.
func TestCauseThatWasNotReadWhole(t *testing.T) {
	o, b, _, _ := manyFailed()
	o.Files = export.Files{}
	term := onSMTP(t, o, 120, 36)
	b.mu.Lock()
	b.down = ref("mail.failed")
	b.mu.Unlock()
	term.press("x")
	term.await("all of the cause in 1 queue: 24 messages", "24 messages of 1 queue; not read: 1 queue")
	term.press(keyEsc)
	term.await("CAUSE")
	term.press("d")
	term.await("enter drop 24 messages", "not read: 1 queue")
	term.press(keyEnter)
	term.await("24 messages dropped", "not read: 1 queue", "esc close")
	if strings.Contains(term.screen(), "o resolved") {
		t.Errorf("it is offered as resolved\n%s", term.screen())
	}
	wantFroms(t, b, failedQueue+" 24")
}

// A stop counts also when the queue that runs is done with already: no further one begins.
func TestCauseIsStoppedAtTheEndOfAQueue(t *testing.T) {
	o, b, _, _ := manyFailed()
	began := make(chan struct{}, 1)
	b.execute = func(ctx context.Context, p plan.Run, progress func(plan.Account)) (plan.Account, error) {
		a := plan.Account{Operation: p.Operation, From: p.From, Planned: p.Planned, Moved: p.Planned}
		progress(a)
		began <- struct{}{}
		<-ctx.Done()
		return a, nil
	}
	term := onSMTP(t, o, 120, 36)
	term.press("r")
	term.await("enter replay 64 messages")
	term.press("S") // the last queue first; what runs is under the cursor all the same
	term.press(keyEnter)
	<-began
	term.await("40 of 40", "esc stop")
	assert.Contains(t, term.cursorRow(), "mail.failed", "the cursor is on")
	term.press(keyEsc)
	term.await("40 messages moved", "it ended before 1 queue: 24 messages are untouched")
	wantFroms(t, b, "mail.failed 40")
}

// A click agrees to nothing.
func TestCauseIsNotAgreedToByAClick(t *testing.T) {
	o, b, _, _ := manyFailed()
	o.Mouse = true
	term := onSMTP(t, o, 120, 36)
	term.press("r")
	term.await("enter replay 64 messages")
	term.clickLast("enter replay")
	term.click("enter replay 64")
	term.press("G")
	term.awaitThat("the cursor is on the last", func(string) bool {
		return strings.Contains(term.cursorRow(), failedQueue)
	})
	wantFroms(t, b)
}

// A number that is typed while plans are made again is the number, and leads to no other tab.
func TestNumberOfACauseWhilePlansAreMade(t *testing.T) {
	o, b, _, _ := manyFailed()
	o.Production = true
	term := onSMTP(t, o, 120, 36)
	term.press("r")
	term.await("type 64:")
	term.press("c64")
	term.await("enter replay 64 messages", "c no canary")
	wantFroms(t, b)
}

// A program that is looked at again, and left as it was, is that of the plans.
func TestProgramOfACauseIsKept(t *testing.T) {
	o, b, _, _ := manyFailed()
	term := onSMTP(t, o, 120, 36)
	term.press("E")
	term.await("Edit 64 messages with jq")
	term.press(".headers.fixed = true", keyEnter)
	term.await("enter to the replay")
	term.press(keyEnter)
	term.await("enter replay 64 messages", "by        .headers.fixed = true")
	term.press("E")
	term.await("try it")
	term.retype(".headers.other = 1")
	term.press(keyEnter)
	term.await("with the header other", "enter to the replay")
	term.press(keyEsc)
	term.await("enter replay 64 messages", "by        .headers.fixed = true")
	term.press(keyEnter)
	term.await("64 messages moved", "esc close")
	for _, p := range b.executed() {
		assert.That(t, p.Mend != nil && p.Mend.Text == ".headers.fixed = true", "%s ran with %v", p.From, p.Mend)
	}
}
