package messages

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/draft"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// wholeMsg brings the message that is to be edited, with its whole body.
type wholeMsg struct {
	request shell.Request
	message *message.Message
	err     error
}

// edit begins to edit the selected message, else the one under the cursor.
func (s Screen) edit() (shell.Screen, tea.Cmd) {
	rows, _ := s.aimed()
	switch {
	case s.env.ReadOnly:
		return s, shell.Notice(shell.ReadOnlyWords, true)
	case s.Topology == nil || len(rows) == 0:
		return s, shell.Notice("no message is under the cursor: move it onto one first", true)
	case len(rows) > 1:
		return s, shell.Notice(model.Plural(len(rows), "message")+
			" are selected, and one is edited at a time: esc clears the selection", true)
	case s.Peek != 0:
		return s, shell.Notice("the queue is being read again: try again in a moment", true)
	}
	e := act.MessageEdit{Env: s.env, State: act.EditReading, Row: rows[0], Request: s.env.NewRequest()}
	id := e.Request
	cmd, stop := s.env.Stoppable(func(ctx context.Context) tea.Msg {
		var whole *message.Message
		err := shell.WholeMessages(ctx, rows, func(m *message.Message) error {
			whole = m
			return nil
		})
		return wholeMsg{id, whole, err}
	})
	e.Stop = stop
	s.editing = e
	return s, cmd
}

// updateEdit takes the answers of editing.
func (s Screen) updateEdit(msg tea.Msg) (shell.Screen, tea.Cmd) {
	e := &s.editing
	switch msg := msg.(type) {
	case wholeMsg:
		if msg.request != e.Request || e.State != act.EditReading {
			return s, nil
		}
		e.Stop()
		if msg.err != nil {
			e.State = act.EditIdle
			return s, shell.Notice(shell.ReadableError(msg.err), true)
		}
		e.Was = plan.NewDraft(s.Topology, s.Queue, msg.message, s.env.Broker.User())
		e.Text = e.Was.Text()
		return s.openEditor()
	case act.WrittenMsg:
		switch {
		case msg.Request != e.Request:
		case msg.Err != nil:
			e.State = act.EditIdle
			return s, shell.Notice(model.Printable(msg.Err.Error()), true)
		default:
			return s, act.RunEditor(s.env, msg)
		}
	case act.ClosedMsg:
		if msg.Request == e.Request {
			return s, act.ReadDraft(s.env, msg)
		}
	case act.SavedMsg:
		if msg.Request == e.Request && e.State == act.EditOpen {
			return s.saved(msg)
		}
	}
	return s, nil
}

// openEditor opens the editor with the text as it was left last.
func (s Screen) openEditor() (shell.Screen, tea.Cmd) {
	e := &s.editing
	e.State, e.Request = act.EditOpen, s.env.NewRequest()
	return s, act.WriteDraft(s.env, e.Request, e.Text)
}

// saved takes what the editor left: a plan for it follows, or why there can be none.
func (s Screen) saved(msg act.SavedMsg) (shell.Screen, tea.Cmd) {
	e := &s.editing
	if msg.Err != nil {
		e.State = act.EditIdle
		return s, shell.Notice(model.Printable(msg.Err.Error()), true)
	}
	e.Text = msg.Text
	is, err := draft.Parse(msg.Text)
	if err != nil {
		e.State, e.Wrong = act.EditWrong, err.Error()
		return s, nil
	}
	e.State, e.Is = act.EditIdle, is
	var cmd tea.Cmd
	s.Dialog, cmd = act.NewEditedDialog(s.env, s.Topology, s.Queue, *e, s.Others())
	return s, cmd
}

// editKey takes a key while a message is being edited.
func (s Screen) editKey(msg tea.KeyMsg) (shell.Screen, tea.Cmd) {
	e, k := &s.editing, s.env.Keys
	switch {
	case e.State == act.EditReading && term.Is(msg, k.Cancel):
		e.Stop()
		e.State = act.EditIdle
	case e.State == act.EditWrong && term.Is(msg, k.Edit):
		return s.openEditor()
	case e.State == act.EditWrong && term.Is(msg, k.Cancel):
		e.State, e.Text = act.EditIdle, nil
	}
	return s, nil
}
