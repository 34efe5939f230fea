package ui

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/term"
)

// handleKey keeps the order: dialog, text, the panes, the table.
func (s messagesScreen) handleKey(msg tea.KeyMsg) (screen, tea.Cmd) {
	k := s.env.keys
	switch {
	case s.dialog.editsAgain(msg):
		s.dialog.state = dialogClosed
		return s.openEditor()
	case s.dialog.mendsAgain(msg):
		s.dialog.state, s.mending.state = dialogClosed, mendTyping
		return s, nil
	case s.dialog.open():
		return s.updateDialog(msg)
	case s.mending.open():
		return s.mendKey(msg)
	case s.saving.open():
		return s.updateSaving(msg)
	case s.editing.open():
		return s.editKey(msg)
	case s.copying:
		return s.copyKey(msg)
	case s.filter.field.Typing:
		s.filter.typed(k, msg)
		return s.filtered()
	case s.detail.find.Typing:
		s.detail.find.Handle(msg)
		s.detail.of = messageID{} // its first line with the text is seen
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

// messageKey takes a key that nothing above the messages takes.
func (s messagesScreen) messageKey(msg tea.KeyMsg) (screen, tea.Cmd) {
	k := s.env.keys
	if cmd, taken := s.custom(msg); taken {
		return s, cmd
	}
	switch {
	case term.Is(msg, k.Insist) && s.refused.Refusal.Overridable():
		return s.look(true)
	case term.Is(msg, k.Peek):
		return s.look(false)
	case term.Is(msg, k.More) && s.more():
		s.limit = s.nextLimit()
		return s.look(false)
	case term.Is(msg, k.Replay):
		return s.act(plan.Replay, s.aimed)
	case term.Is(msg, k.Drop):
		return s.act(plan.Drop, s.aimed)
	case term.Is(msg, k.Move):
		return s.act(plan.Move, s.aimed)
	case term.Is(msg, k.Edit):
		return s.edit()
	case term.Is(msg, k.Resolve) && s.only.Group != nil && s.topology != nil:
		return s, s.env.marks.turn(s.topology, s.only.Group, cause.Resolved)
	case term.Is(msg, k.Mend):
		return s.mendMany()
	case term.Is(msg, k.Copy):
		_, s.copying = s.table.Current()
		return s, nil
	}
	if s.zoomed || s.detail.focus != paneNone {
		return s.paneKey(msg)
	}
	switch {
	case term.Is(msg, k.ReplayAll):
		return s.act(plan.Replay, s.allShown)
	case term.Is(msg, k.DropAll):
		return s.act(plan.Drop, s.allShown)
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
		s.table.Unchoose()
	case term.Is(msg, k.Open):
		if _, ok := s.table.Current(); ok {
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
		_ = s.table.Motion(msg) || s.table.Choosing(msg)
	}
	return s, nil
}

// paneKey moves in the detail.
func (s messagesScreen) paneKey(msg tea.KeyMsg) (screen, tea.Cmd) {
	k := s.env.keys
	page := max(s.detail.drawn.height, 1)
	var id messageID
	if row, ok := s.table.Current(); ok {
		id = row.id
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
	case term.Is(msg, k.Open): // from beside the list, that pane alone
		s.zoomed, s.detail.alone = true, !s.detail.alone
	case term.Is(msg, k.Earlier):
		s.table.MoveTo(s.table.Index - 1)
	case term.Is(msg, k.Later):
		s.table.MoveTo(s.table.Index + 1)
	case term.Is(msg, k.Raw):
		s.detail.showBody(!s.detail.raw, s.detail.folded)
	case term.Is(msg, k.Fold):
		s.detail.showBody(s.detail.raw, !s.detail.folded)
	case term.Is(msg, k.Up):
		s.detail.move(id, -1)
	case term.Is(msg, k.Down):
		s.detail.move(id, 1)
	case term.Is(msg, k.HalfUp):
		s.detail.move(id, -page/2)
	case term.Is(msg, k.HalfDown):
		s.detail.move(id, page/2)
	case term.Is(msg, k.PageUp):
		s.detail.move(id, -page)
	case term.Is(msg, k.PageDown):
		s.detail.move(id, page)
	case term.Is(msg, k.Top):
		s.detail.move(id, -1<<30)
	case term.Is(msg, k.Bottom):
		s.detail.move(id, 1<<30)
	}
	return s, nil
}

// filtered applies the filter as it stands.
func (s messagesScreen) filtered() (screen, tea.Cmd) {
	var cmd tea.Cmd
	s.filter, cmd = s.filter.apply(s.env, s.rows)
	if !s.filter.pending() {
		s.table.Narrow(s.match())
	}
	return s, cmd
}

// aimed are the messages that a key acts on: the selection, else the one under the cursor.
func (s messagesScreen) aimed() ([]*messageRow, string) {
	if chosen := s.table.Selection(); len(chosen) > 0 {
		return chosen, "the selection"
	}
	if row, ok := s.table.Current(); ok {
		return []*messageRow{row}, "the message under the cursor"
	}
	return nil, ""
}

// allShown are all messages that the filter lets through.
func (s messagesScreen) allShown() ([]*messageRow, string) {
	if s.filter.field.Text() != "" {
		return s.table.Shown, "all that the filter shows"
	}
	if s.only.Group != nil {
		return s.table.Shown, "all of the cause, as read at " + s.peeked.TakenAt.Local().Format("15:04:05")
	}
	return s.table.Shown, "all that were read"
}

// selected are the selection, else all that are shown, and how they were chosen.
func (s messagesScreen) selected() ([]*messageRow, string) {
	if rows := s.table.Selection(); len(rows) > 0 {
		return rows, "the selection"
	}
	return s.allShown()
}

// unready is why nothing can be done yet with the messages that are shown; "" when it can.
func (s messagesScreen) unready() string {
	switch {
	case s.filter.pending():
		return "the filter is still being applied: try again in a moment"
	case s.filter.err != nil:
		return "the filter is not complete: finish it, or clear it with esc"
	case s.peek != 0:
		return "the queue is being read again: try again in a moment"
	}
	return ""
}

// act opens the dialog for an action on messages.
func (s messagesScreen) act(operation plan.Operation, choose func() ([]*messageRow, string)) (screen, tea.Cmd) {
	if why := s.unready(); why != "" {
		return s, notice(why, true)
	}
	if s.topology == nil {
		return s, nil
	}
	rows, words := choose()
	if len(rows) == 0 {
		return s, notice("no message is under the cursor: move it onto one first", true)
	}
	var cmd tea.Cmd
	s.dialog, cmd = newPlanDialog(s.env, s.topology, operation, s.queue, rows, words, s.others())
	return s, cmd
}

// Click implements clickable, where the table is seen and has the keys.
func (s messagesScreen) Click(x, y int) (screen, bool) {
	if s.zoomed || s.detail.focus != paneNone || s.Typing() {
		return s, false
	}
	again := s.table.Click(x, y-len(s.above))
	return s, again
}
