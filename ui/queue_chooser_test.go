package ui

import (
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/term"
)

func TestMoveDialogGolden(t *testing.T) {
	atSizes(t, func(t *testing.T, width, height int) {
		o, _, _ := failedOptions(47)
		term := onQueue(t, o, failedQueue, width, height)
		term.await("47 messages")
		term.press("m")
		term.await("Type a part of the queue's name")
		term.golden()
	})
}

func TestMoveToAQueueOfChoice(t *testing.T) {
	o, b, c := failedOptions(5)
	withJournal(t, &o, c, 0)
	terms := onQueue(t, o, failedQueue, 120, 36)
	terms.await("5 messages")
	terms.press(" ", keyDown, " ", "m")
	terms.await("Move 2 messages", "Type a part of the queue's name")
	if strings.Contains(terms.screen(), term.MarkCursor+" "+failedQueue) {
		t.Errorf("the source is offered:\n%s", terms.screen())
	}
	terms.press("no such queue")
	terms.await("no queue has that in its name")
	terms.press(keyEnter)
	terms.settle()
	terms.await("no queue has that in its name")
	for range "no such queue" {
		terms.press("\x7f")
	}
	terms.press("USER")
	terms.await(term.MarkCursor + " ucenter@user ")
	terms.press(keyDown)
	terms.await(term.MarkCursor + " ucenter@user@retry")
	terms.press(keyUp, keyEnter)
	terms.await("through (default), key ucenter@user", "reaches   ucenter@user, 3 consumers", "strips    x-death",
		"other queue", "enter move")
	if strings.Contains(terms.screen(), "adds") {
		t.Errorf("a move adds no header:\n%s", terms.screen())
	}
	terms.press(keyTab)
	terms.await("Type a part of the queue's name", "> USER")
	terms.press("@retry", keyEnter)
	terms.await("reaches   ucenter@user@retry", "strips    x-death", "expire, after 30s")
	terms.press(keyEnter)
	terms.await("2 messages moved to ucenter@user@retry")
	terms.press(keyEnter)
	terms.await("3 messages", "2 taken out")
	plans := b.executed()
	assert.That(t, len(plans) == 1 && plans[0].Operation == plan.Move && plans[0].To() == "queue:ucenter@user@retry" &&
		!plans[0].Mark, "executed %+v", plans)
}

func TestReadOnlyMovesNothing(t *testing.T) {
	o, b, _ := failedOptions(5)
	o.ReadOnly = true
	term := onQueue(t, o, failedQueue, 120, 36)
	term.await("5 messages")
	term.press("m", keyEnter)
	term.await("read-only:")
	term.press(keyEnter, keyEnter)
	term.settle()
	plans := b.executed()
	assert.That(t, len(plans) == 0, "executed %+v", plans)
}
