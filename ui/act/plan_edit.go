package act

import (
	"context"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/draft"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/target"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// askEdit shows what was changed.
func (d *PlanDialog) askEdit(l *shell.DialogLines) {
	if d.edit == nil {
		return
	}
	changes := d.edit.differences.lay(l.Styles, l.Width)
	if len(changes) == 0 {
		l.Say("edited", "nothing was changed in the editor: this is a plain replay", l.Styles.Warning)
		return
	}
	l.Say("edited", "before and after:", l.Styles.Muted)
	for _, line := range changes[:min(len(changes), mostDifferences)] {
		l.Minor = append(l.Minor, len(l.Lines))
		l.Lines = append(l.Lines, line)
	}
}

// MessageEdit is the editing of one message: its draft, and what was made of it.
type MessageEdit struct {
	Env         *shell.Env
	State       editState
	Row         *shell.MessageRow
	Was         draft.Draft
	Is          draft.Draft
	differences draftDifferences
	Text        []byte // as the editor left it
	Wrong       string // why it cannot be read
	Request     shell.Request
	Stop        context.CancelFunc // of the reading
}

func (e *MessageEdit) Open() bool { return e.State != EditIdle }

func (e *MessageEdit) Keys() []key.Binding {
	k := e.Env.Keys
	if e.State == EditWrong {
		return []key.Binding{term.Describe(k.Edit, "edit again"), term.Describe(k.Cancel, "discard the edit")}
	}
	return []key.Binding{k.Cancel}
}

// View draws what stands between the person and the plan.
func (e *MessageEdit) View(width int) string {
	l := shell.NewDialogLines(e.Env.Styles, width)
	s := l.Styles
	switch e.State {
	case EditReading:
		l.Say("", "reading the whole message …", s.Muted)
		l.Blank()
		l.Hints(shell.Hint(s, "esc", "stop"))
	case EditOpen:
		l.Say("", "the editor has the message …", s.Muted)
	case EditWrong:
		l.Say("", term.MarkError+" what was typed cannot be read: "+model.Printable(e.Wrong), s.Danger)
		l.Say("", "Nothing is lost, and nothing was sent.", s.Text)
		l.Blank()
		l.Hints(shell.Hint(s, e.Env.Keys.Edit.Help().Key, "edit again") + shell.Hint(s, "esc", "discard the edit"))
	}
	return l.Box("Edit, then replay")
}

// NewEditedDialog is the dialog of a replay of what was edited. An address that was edited is the first of its targets.
func NewEditedDialog(
	e *shell.Env, t *model.Topology, queue model.QueueRef, edit MessageEdit, others OtherMessages,
) (PlanDialog, tea.Cmd) {
	d, _ := NewPlanDialog(e, t, plan.Replay, queue, []*shell.MessageRow{edit.Row}, "the edited message", others)
	edit.differences = draftDifferencesOf(&edit.Was, &edit.Is)
	d.edit = &edit
	if is := edit.Is.Address; is != edit.Was.Address {
		edited := ReplayTarget{
			mode: target.ToExchange, fixed: is, name: "edited: the exchange and the key as they were typed",
		}
		if is.Exchange == "" {
			edited.mode, edited.fixed = target.ToQueue, model.Address{RoutingKey: is.RoutingKey}
		}
		d.Modes = append([]ReplayTarget{edited}, d.Modes...)
	}
	cmd := d.Work()
	return d, cmd
}

// MendsAgain reports whether a key goes back to the program.
func (d *PlanDialog) MendsAgain(msg tea.KeyMsg) bool {
	return d.State == shell.DialogAsking && !d.Consent.Asked && d.Mend != nil && term.Is(msg, d.Env.Keys.Mend)
}

const (
	EditIdle    editState = iota
	EditReading           // the whole message is being read
	EditOpen              // the editor has it
	EditWrong             // what it left cannot be read; it can be opened again
)

// editState is how far the editing of a message is.
type editState int

// mostDifferences is how many lines of them are laid for a dialog, which has no room for more.
const mostDifferences = 100
