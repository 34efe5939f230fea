package ui

import (
	"strings"
	"testing"

	"dlxtop/model"
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
	term := onQueue(t, o, failedQueue, 120, 36)
	term.await("5 messages")
	term.press(" ", keyDown, " ", "m")
	term.await("Move 2 messages", "Type a part of the queue's name")
	if strings.Contains(term.screen(), markCursor+" "+failedQueue) {
		t.Errorf("the source is offered:\n%s", term.screen())
	}
	term.press("no such queue")
	term.await("no queue has that in its name")
	term.press(keyEnter)
	term.settle()
	term.await("no queue has that in its name")
	for range "no such queue" {
		term.press("\x7f")
	}
	term.press("USER")
	term.await(markCursor + " ucenter@user ")
	term.press(keyDown)
	term.await(markCursor + " ucenter@user@retry")
	term.press(keyUp, keyEnter)
	term.await("through (default), key ucenter@user", "reaches   ucenter@user, 3 consumers", "strips    x-death", "other queue", "enter move")
	if strings.Contains(term.screen(), "adds") {
		t.Errorf("a move adds no header:\n%s", term.screen())
	}
	term.press(keyTab)
	term.await("Type a part of the queue's name", "> USER")
	term.press("@retry", keyEnter)
	term.await("reaches   ucenter@user@retry", "strips    x-death", "expire, after 30s")
	term.press(keyEnter)
	term.await("2 messages moved to ucenter@user@retry")
	term.press(keyEnter)
	term.await("3 messages", "2 taken out")
	plans := b.executed()
	if len(plans) != 1 || plans[0].Operation != model.Move || plans[0].To() != "queue:ucenter@user@retry" || plans[0].Mark {
		t.Errorf("executed %+v", plans)
	}
}

func TestReadOnlyMovesNothing(t *testing.T) {
	o, b, _ := failedOptions(5)
	o.ReadOnly = true
	term := onQueue(t, o, failedQueue, 120, 36)
	term.await("5 messages")
	term.press("m", keyEnter)
	term.await("this is read-only")
	term.press(keyEnter, keyEnter)
	term.settle()
	if plans := b.executed(); len(plans) > 0 {
		t.Errorf("executed %+v", plans)
	}
}
