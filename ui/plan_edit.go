package ui

import (
	"context"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/term"
)

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

// mendsAgain reports whether a key goes back to the program.
func (d *planDialog) mendsAgain(msg tea.KeyMsg) bool {
	return d.state == dialogAsking && !d.consent.asked && d.mend != nil && term.Is(msg, d.env.keys.Mend)
}

const (
	editIdle    editState = iota
	editReading           // the whole message is being read
	editOpen              // the editor has it
	editWrong             // what it left cannot be read; it can be opened again
)

// editState is how far the editing of a message is.
type editState int

// mostDifferences is how many lines of them are laid for a dialog, which has no room for more.
const mostDifferences = 100
