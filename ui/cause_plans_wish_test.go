package ui

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/export"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
)

// The messages of a cause are moved to one queue, which is chosen once for all of its queues.
func TestCauseIsMoved(t *testing.T) {
	o, b, source, _ := manyFailed()
	s := later(source.snapshot, 0, nil)
	queue("parking")(s)
	source.snapshot = s
	term := onSMTP(t, o, 120, 36)
	term.press("m")
	term.await("Move 64 messages", "Type a part of the queue's name", "64 messages of 2 queues")
	term.press("parking", keyEnter)
	term.await("move 64 messages of 2 queues, as read at 03:04:05", "enter move 64 messages", "parking")
	term.press(keyTab)
	term.await("Type a part of the queue's name")
	term.press(failedQueue, keyEnter)
	term.await("move 40 messages of 1 queue", "1 queue left out", "not possible")
	term.press(keyTab)
	term.await("Type a part of the queue's name")
	term.press(keyEsc)
	term.await("move 40 messages of 1 queue") // what was chosen before stays
	term.press(keyTab, "parking", keyEnter)
	term.await("enter move 64 messages")
	must.Equal(t, len(b.executed()), 0, "plans ran before enter")
	term.press(keyEnter)
	term.await("64 messages moved", "40 messages moved to parking", "24 messages moved to parking", "esc close")
	wantFroms(t, b, "mail.failed 40", failedQueue+" 24")
	for _, p := range b.executed() {
		assert.That(t, p.Operation == plan.Move && p.Target.Fixed.RoutingKey == "parking", "%s was executed: %s to %v",
			p.From, p.Operation, p.Target.Fixed)
	}
}

// Nothing that was chosen for a move is moved when the choice is left.
func TestCauseIsNotMoved(t *testing.T) {
	o, b, _, _ := manyFailed()
	term := onSMTP(t, o, 120, 36)
	term.press("m")
	term.await("Type a part of the queue's name")
	term.press("q") // a letter
	term.await("> q")
	term.press(keyEsc)
	term.await("CAUSE", "STATE")
	wantFroms(t, b)
}

// One program changes the messages of a cause in all its queues: what it makes of them is shown together, and agreed
// to before the plans. What it cannot change stays, and does not end the rest.
func TestCauseIsMended(t *testing.T) {
	o, b, _, _ := manyFailed()
	b.execute = func(_ context.Context, p plan.Run, _ func(plan.Account)) (plan.Account, error) {
		a := plan.Account{Operation: p.Operation, From: p.From, Planned: p.Planned, Refused: p.Mended.Stay}
		a.Moved = p.Planned - a.Refused
		return a, nil
	}
	term := onSMTP(t, o, 120, 36)
	term.press("E")
	term.await("Edit 64 messages with jq", "all of the cause in 2 queues: 64 messages")
	term.press(".body[", keyEnter)
	term.await("the jq program is not complete")
	term.retype(`if .body.id % 10 == 3 then error("no") else .headers.fixed = true end`)
	term.press(keyEnter)
	term.await("of 64 messages are changed", "stay in the queue", "with the header fixed: true", "enter to the replay")
	changed := 0
	term.press("E")
	term.await("earlier programs")
	term.press(keyEnter)
	term.await("enter to the replay")
	term.press(keyEnter)
	term.await("replay 64 messages of 2 queues", "edited", "enter replay 64 messages", "E edit")
	term.press("c")
	term.await("c no canary", "enter replay 64 messages")
	term.press(keyEnter)
	term.await("messages moved", "esc close")
	wantFroms(t, b, "mail.failed 40", failedQueue+" 24")
	for _, p := range b.executed() {
		assert.That(t, p.Mend != nil && p.Canary != nil && (p.From != ref("mail.failed") || p.Mended.Stay != 0),
			"%s ran with the program %v and the canary %v", p.From, p.Mend, p.Canary)
		changed += p.Mended.Changed
	}
	term.await(fmt.Sprintf("%d of 64 messages moved", changed))
	term.press(keyEsc)
	term.await("CAUSE")

	o, b, _, _ = manyFailed()
	term = onSMTP(t, o, 120, 36)
	term.press("E")
	term.await("Edit 64 messages with jq")
	term.press(".body", keyEnter)
	term.await("not possible: the jq program gives another object instead", "64 messages: the jq program")
	term.press(keyEnter) // does nothing
	term.press(keyEsc)
	term.await("CAUSE")
	wantFroms(t, b)
}

// A copy of a cause is a file for each of its queues; none is overwritten, and what was written is said.
func TestCauseIsExported(t *testing.T) {
	t.Chdir(t.TempDir())
	o, _, _, _ := manyFailed()
	o.Files = export.Files{}
	term := onSMTP(t, o, 120, 36)
	term.press("x")
	term.await("Export 64 messages", "one for each queue: mail.failed-20260301-030405.jsonl, …", "enter write 2 new files")
	term.press(keyEnter)
	term.await("64 messages written to", "/mail.failed-20260301-030405.jsonl", "1 further file", "CAUSE")
	const mail, user = "mail.failed-20260301-030405.jsonl", failedQueue + "-20260301-030405.jsonl"
	for name, want := range map[string]int{mail: 40, user: 24} {
		got := exported(t, name)
		other := func(m message.Message) bool {
			return !strings.Contains(fmt.Sprint(m.Headers["x-error"]), "TimeoutError")
		}
		assert.That(t, len(got) == want && !slices.ContainsFunc(got, other), "%s has %d messages, want the %d of the cause",
			name, len(got), want)
	}
	must.Do(t, os.Remove(mail))
	term.press("x")
	term.await("Export 64 messages")
	term.press(keyEnter)
	term.await("already: name a new one; 40 messages")
	term.await("Export 24 messages", "enter write 1 new file")
	must.Do(t, os.Mkdir("other", 0o700))
	term.retype("other")
	term.press(keyEnter)
	term.await("24 messages written to", "/other/"+user, "CAUSE")
}

func TestCauseWishGolden(t *testing.T) {
	for _, size := range []struct{ width, height int }{{80, 24}, {120, 36}, {200, 50}} {
		for name, keys := range map[string][]string{
			"move": {"m"}, "edit": {"E", ".headers.fixed = true", keyEnter}, "export": {"x"},
		} {
			t.Run(fmt.Sprintf("%s/%dx%d", name, size.width, size.height), func(t *testing.T) {
				o, _, _, _ := manyFailed()
				o.Files = export.Files{}
				term := onSMTP(t, o, size.width, size.height)
				term.press(keys[0])
				term.await("64 messages", "esc back")
				term.press(keys[1:]...)
				if name == "edit" {
					term.await("64 of 64 messages are changed")
				}
				term.golden()
			})
		}
	}
}
