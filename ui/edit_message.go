package ui

import (
	"context"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/term"
)

// editState is how far the editing of a message is.
type editState int

const (
	editIdle    editState = iota
	editReading           // the whole message is being read
	editOpen              // the editor has it
	editWrong             // what it left cannot be read; it can be opened again
)

// mostDifferences is how many lines of them are laid for a dialog, which has no room for more.
const mostDifferences = 100

// messageEdit is the editing of one message: its draft, and what was made of it.
type messageEdit struct {
	env         *env
	state       editState
	row         *messageRow
	was         plan.Draft
	is          plan.Draft
	differences draftDifferences
	text        []byte // as the editor left it
	wrong       string // why it cannot be read
	request     request
	stop        context.CancelFunc // of the reading
}

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

func (e *messageEdit) open() bool { return e.state != editIdle }

func (e *messageEdit) keys() []key.Binding {
	k := e.env.keys
	if e.state == editWrong {
		return []key.Binding{term.Describe(k.Edit, "edit again"), term.Describe(k.Cancel, "discard the edit")}
	}
	return []key.Binding{k.Cancel}
}

// view draws what stands between the person and the plan.
func (e *messageEdit) view(width int) string {
	l := newDialogLines(e.env.styles, width)
	s := l.styles
	switch e.state {
	case editReading:
		l.say("", "reading the whole message …", s.Muted)
		l.blank()
		l.hints(hint(s, "esc", "stop"))
	case editOpen:
		l.say("", "the editor has the message …", s.Muted)
	case editWrong:
		l.say("", term.MarkError+" what was typed cannot be read: "+model.Printable(e.wrong), s.Danger)
		l.say("", "Nothing is lost, and nothing was sent.", s.Text)
		l.blank()
		l.hints(hint(s, e.env.keys.Edit.Help().Key, "edit again") + hint(s, "esc", "discard the edit"))
	}
	return l.box("Edit, then replay")
}

// newEditedDialog is the dialog of a replay of what was edited. An address that was edited is the first of its targets.
func newEditedDialog(
	e *env, t *model.Topology, queue model.QueueRef, edit messageEdit, others otherMessages,
) (planDialog, tea.Cmd) {
	d, _ := newPlanDialog(e, t, plan.Replay, queue, []*messageRow{edit.row}, "the edited message", others)
	edit.differences = draftDifferencesOf(&edit.was, &edit.is)
	d.edit = &edit
	if is := edit.is.Address; is != edit.was.Address {
		target := replayTarget{
			mode: plan.ToExchange, fixed: is, name: "edited: the exchange and the key as they were typed",
		}
		if is.Exchange == "" {
			target.mode, target.fixed = plan.ToQueue, model.Address{RoutingKey: is.RoutingKey}
		}
		d.modes = append([]replayTarget{target}, d.modes...)
	}
	cmd := d.work()
	return d, cmd
}

// askEdit shows what was changed.
func (d *planDialog) askEdit(l *dialogLines) {
	if d.edit == nil {
		return
	}
	changes := d.edit.differences.lay(l.styles, l.width)
	if len(changes) == 0 {
		l.say("edited", "nothing was changed in the editor: this is a plain replay", l.styles.Warning)
		return
	}
	l.say("edited", "before and after:", l.styles.Muted)
	for _, line := range changes[:min(len(changes), mostDifferences)] {
		l.minor = append(l.minor, len(l.lines))
		l.lines = append(l.lines, line)
	}
}
