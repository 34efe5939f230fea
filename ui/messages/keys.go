package messages

import (
	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// handleKey keeps the order: dialog, text, the panes, the table.
func (s Screen) handleKey(msg tea.KeyMsg) (shell.Screen, tea.Cmd) {
	k := s.env.Keys
	switch {
	case s.box() != nil:
		return s.toBox(msg)
	case s.copying:
		return s.copyKey(msg)
	case s.filter.field.Typing:
		s.filter.typed(k, msg)
		return s.filtered()
	case s.detail.find.Typing:
		s.detail.find.Handle(msg)
		s.detail.of = shell.MessageID{} // its first line with the text becomes visible
		if len(s.detail.drawn.hits[s.detail.focus]) == 0 && !s.detail.find.Typing {
			s.detail.entering = 1
		}
		return s, nil
	case s.detail.find.Visible() && term.Is(msg, k.Back):
		s.detail.find.Clear()
		return s, nil
	case s.stepping() && term.Is(msg, k.NextMatch):
		s.step(1)
		return s, nil
	case s.stepping() && term.Is(msg, k.PrevMatch):
		s.step(-1)
		return s, nil
	}
	return s.messageKey(msg)
}

func (s Screen) messageKey(msg tea.KeyMsg) (shell.Screen, tea.Cmd) {
	k := s.env.Keys
	if cmd, taken := s.custom(msg); taken {
		return s, cmd
	}
	switch {
	case term.Is(msg, k.Insist) && s.Refused.Refusal.Overridable():
		return s.look(true, false)
	case term.Is(msg, k.Peek), s.unasked && term.Is(msg, k.Insist):
		return s.look(false, false)
	case term.Is(msg, k.More) && s.more():
		s.Limit = s.nextLimit()
		return s.look(false, false)
	case key.Matches(msg, k.Replay, k.Drop, k.Move):
		return RowAction(k, msg)(s)
	case term.Is(msg, k.Edit):
		return s.edit()
	case term.Is(msg, k.Resolve) && s.only.Group != nil && s.Topology != nil:
		return s, s.env.Marks.Turn(s.Topology, s.only.Group, cause.Resolved)
	case term.Is(msg, k.Mend):
		return s.mendMany()
	case term.Is(msg, k.Copy):
		_, s.copying = s.Table.Current()
		return s, nil
	}
	if s.zoomed || s.detail.focus != paneNone {
		return s.paneKey(msg)
	}
	switch {
	case term.Is(msg, k.ReplayAll):
		return s.act(plan.Replay, s.AllShown)
	case term.Is(msg, k.DropAll):
		return s.act(plan.Drop, s.AllShown)
	case term.Is(msg, k.Compare):
		return s.compare()
	case term.Is(msg, k.Export):
		return s.export()
	case term.Is(msg, k.Filter):
		s.filter.open(s.headers, s.current())
	case term.Is(msg, k.Back) && s.filter.field.Text() != "":
		s.filter.field.Clear()
		return s.filtered()
	case term.Is(msg, k.Back):
		s.Table.Unchoose()
	case term.Is(msg, k.Open):
		if _, ok := s.Table.Current(); ok {
			s.zoomed, s.detail.focus = true, paneStory
			if s.split {
				s.detail.focus = paneBody
			}
		}
	case term.Is(msg, k.NextPane):
		s.detail.next(1, true)
	case term.Is(msg, k.PrevPane):
		s.detail.next(-1, true)
	default:
		_ = s.Table.Motion(msg) || s.Table.Choosing(msg)
	}
	return s, nil
}

func (s Screen) paneKey(msg tea.KeyMsg) (shell.Screen, tea.Cmd) {
	k := s.env.Keys
	var id shell.MessageID
	if row, ok := s.Table.Current(); ok {
		id = row.Id
	}
	switch {
	case term.Is(msg, k.NextPane):
		s.detail.next(1, !s.zoomed)
	case term.Is(msg, k.PrevPane):
		s.detail.next(-1, !s.zoomed)
	case term.Is(msg, k.Filter):
		s.detail.find.Open()
	case term.Is(msg, k.Back), term.Is(msg, k.Quit):
		s.detail.find.Clear()
		s.zoomed, s.detail.alone, s.detail.focus = false, false, paneNone
	case term.Is(msg, k.Open): // from beside the list, only that pane
		s.zoomed, s.detail.alone = true, !s.detail.alone
	case term.Is(msg, k.Earlier):
		s.Table.MoveTo(s.Table.Index - 1)
	case term.Is(msg, k.Later):
		s.Table.MoveTo(s.Table.Index + 1)
	case term.Is(msg, k.Raw):
		s.detail.showBody(!s.detail.raw, s.detail.folded)
	case term.Is(msg, k.Fold):
		s.detail.showBody(s.detail.raw, !s.detail.folded)
	case key.Matches(msg, k.Motions()...):
		d := &s.detail
		d.begin(id)
		d.scroll[d.focus] = shell.Scrolled(k, msg, d.top(id, d.focus), len(d.drawn.lines[d.focus]), d.drawn.height)
	}
	return s, nil
}

func (s Screen) filtered() (shell.Screen, tea.Cmd) {
	var cmd tea.Cmd
	s.filter, cmd = s.filter.apply(s.env, s.Rows)
	if !s.filter.pending() {
		s.Table.Narrow(s.match())
	}
	return s, cmd
}

func (s Screen) aimed() ([]*shell.MessageRow, string) {
	if chosen := s.Table.Selection(); len(chosen) > 0 {
		return chosen, "the selection"
	}
	if row, ok := s.Table.Current(); ok {
		return []*shell.MessageRow{row}, "the message under the cursor"
	}
	return nil, ""
}

func (s Screen) AllShown() ([]*shell.MessageRow, string) {
	if s.filter.field.Text() != "" {
		return s.Table.Shown, "all that the filter shows"
	}
	if s.only.Group != nil {
		return s.Table.Shown, "all of the cause, as read at " + s.Peeked.TakenAt.Local().Format("15:04:05")
	}
	return s.Table.Shown, "all that were read"
}

// selected are the selection, or all that are shown, and how they were selected.
func (s Screen) selected() ([]*shell.MessageRow, string) {
	if rows := s.Table.Selection(); len(rows) > 0 {
		return rows, "the selection"
	}
	return s.AllShown()
}

// unready is why nothing can be done yet with the displayed messages; "" when it can.
func (s Screen) unready() string {
	switch {
	case s.filter.pending():
		return "the filter is still being applied: try again in a moment"
	case s.filter.err != nil:
		return "the filter is not complete: finish it, or clear it with esc"
	case s.Peek != 0:
		return "the queue is being read again: try again in a moment"
	}
	return ""
}

func (s Screen) act(operation plan.Operation, choose func() ([]*shell.MessageRow, string)) (shell.Screen, tea.Cmd) {
	if why := s.unready(); why != "" {
		return s, shell.Notice(why, true)
	}
	if s.Topology == nil {
		return s, nil
	}
	rows, words := choose()
	if len(rows) == 0 {
		return s, shell.Notice("no message is under the cursor: move it onto one first", true)
	}
	var cmd tea.Cmd
	s.Dialog, cmd = act.NewPlanDialog(s.env, operation, s.Subject(rows, words))
	return s, cmd
}

// Clicked implements shell.Clickable, when the table is visible and has the keys.
func (s Screen) Clicked() bool { return s.clicked }
