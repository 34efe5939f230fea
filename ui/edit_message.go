package ui

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/term"
)

// wholeMsg brings the message that is to be edited, with its whole body.
type wholeMsg struct {
	request request
	message *message.Message
	err     error
}

// edit begins to edit the selected message, else the one under the cursor.
func (s messagesScreen) edit() (screen, tea.Cmd) {
	rows, _ := s.aimed()
	switch {
	case s.env.readOnly:
		return s, notice(readOnlyWords, true)
	case s.topology == nil || len(rows) == 0:
		return s, notice("no message is under the cursor: move it onto one first", true)
	case len(rows) > 1:
		return s, notice(model.Plural(len(rows), "message")+
			" are selected, and one is edited at a time: esc clears the selection", true)
	case s.peek != 0:
		return s, notice("the queue is being read again: try again in a moment", true)
	}
	e := messageEdit{env: s.env, state: editReading, row: rows[0], request: s.env.newRequest()}
	id := e.request
	cmd, stop := s.env.stoppable(func(ctx context.Context) tea.Msg {
		var whole *message.Message
		err := wholeMessages(ctx, rows, func(m *message.Message) error {
			whole = m
			return nil
		})
		return wholeMsg{id, whole, err}
	})
	e.stop = stop
	s.editing = e
	return s, cmd
}

// updateEdit takes the answers of editing.
func (s messagesScreen) updateEdit(msg tea.Msg) (screen, tea.Cmd) {
	e := &s.editing
	switch msg := msg.(type) {
	case wholeMsg:
		if msg.request != e.request || e.state != editReading {
			return s, nil
		}
		e.stop()
		if msg.err != nil {
			e.state = editIdle
			return s, notice(readableError(msg.err), true)
		}
		e.was = plan.NewDraft(s.topology, s.queue, msg.message, s.env.broker.User())
		e.text = e.was.Text()
		return s.openEditor()
	case writtenMsg:
		switch {
		case msg.request != e.request:
		case msg.err != nil:
			e.state = editIdle
			return s, notice(model.Printable(msg.err.Error()), true)
		default:
			return s, runEditor(s.env, msg)
		}
	case closedMsg:
		if msg.request == e.request {
			return s, readDraft(s.env, msg)
		}
	case savedMsg:
		if msg.request == e.request && e.state == editOpen {
			return s.saved(msg)
		}
	}
	return s, nil
}

// openEditor opens the editor with the text as it was left last.
func (s messagesScreen) openEditor() (screen, tea.Cmd) {
	e := &s.editing
	e.state, e.request = editOpen, s.env.newRequest()
	return s, writeDraft(s.env, e.request, e.text)
}

// saved takes what the editor left: a plan for it follows, or why there can be none.
func (s messagesScreen) saved(msg savedMsg) (screen, tea.Cmd) {
	e := &s.editing
	if msg.err != nil {
		e.state = editIdle
		return s, notice(model.Printable(msg.err.Error()), true)
	}
	e.text = msg.text
	is, err := plan.ParseDraft(msg.text)
	if err != nil {
		e.state, e.wrong = editWrong, err.Error()
		return s, nil
	}
	e.state, e.is = editIdle, is
	var cmd tea.Cmd
	s.dialog, cmd = newEditedDialog(s.env, s.topology, s.queue, *e, s.others())
	return s, cmd
}

// editKey takes a key while a message is being edited.
func (s messagesScreen) editKey(msg tea.KeyMsg) (screen, tea.Cmd) {
	e, k := &s.editing, s.env.keys
	switch {
	case e.state == editReading && term.Is(msg, k.Cancel):
		e.stop()
		e.state = editIdle
	case e.state == editWrong && term.Is(msg, k.Edit):
		return s.openEditor()
	case e.state == editWrong && term.Is(msg, k.Cancel):
		e.state, e.text = editIdle, nil
	}
	return s, nil
}
