package ui

import (
	"errors"
	"fmt"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// TestUndoTellsWhyNobodyCouldLook: messages whose outcome is not known may be in their queue already. When looking
// fails the screen says why, as the command does, and only insisting goes on.
func TestUndoTellsWhyNobodyCouldLook(t *testing.T) {
	o, b, c := failedOptions(0)
	id := withUnfinishedDrop(t, &o, c)
	b.unreadable = errors.New("the node shut the channel down")
	term := newTerminal(t, o, 120, 36)
	term.await("ucenter@user")
	term.press("5")
	term.await("unfinish")
	term.press("u")
	term.await("look whether messages are there already: the node shut the",
		"i insists: messages that are already there are then there twice")
	term.press("i")
	term.await(fmt.Sprintf("Undo %d: bring back 1 message", id), "enter bring back")
}

// TestUndoLeftWhileItIsChecked: who leaves an undo that was agreed to, while its plan is made again, does not start it.
func TestUndoLeftWhileItIsChecked(t *testing.T) {
	o, _, _ := failedOptions(0)
	u := act.NewUndoScreen(newApp(t.Context(), o).env, 0).(act.FollowUpScreen)
	u.State, u.Request = shell.DialogChecking, u.Env.NewRequest()
	answer := shell.PlannedMsg[act.FollowUp]{Request: u.Request, Plan: act.Undoing{}}
	left, _ := u.Update(tea.KeyMsg{Type: tea.KeyEsc})
	after, cmd := left.Update(answer)
	if state := after.(act.FollowUpScreen).State; state == shell.DialogRunning || cmd != nil {
		t.Errorf("it is in the state %d, and has a command: %t", state, cmd != nil)
	}
}
