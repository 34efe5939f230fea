package messages

import (
	"slices"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// keys returns those of what has the keys now: a dialog, a text, the panes, or the table.
func (s *Screen) Keys() []term.Key {
	b := s.box()
	switch {
	case b != nil:
		return b.Keys()
	case s.copying:
		return s.copies()
	case s.narrowing:
		return s.choosing()
	case s.filter.Typing:
		return s.filter.keys()
	case s.detail.find.Typing:
		return s.detail.find.TypingKeys()
	}

	refused := s.Refused.Refusal.Overridable()
	some := len(s.Table.Shown) > 0 || len(s.Rows) > 0 && (s.filter.Text() != "" || s.filter.pending())

	keys := []term.Key{
		term.On(press.Insist, "look anyway, where a look is refused for its cost", func() tea.Cmd {
			return s.look(refused, false)
		}).As("read").AsIf(refused, "look anyway").When(refused || s.unasked),
		s.acts(press.Replay, "replay the selection, else the message under the cursor", plan.Replay, s.aimed).Shown(some),
		s.acts(press.Drop, "drop the selection, else the message under the cursor", plan.Drop, s.aimed).Shown(some),
	}

	if some && s.detail.inFocus() {
		keys = append(keys, s.paneKeys()...)
	} else {
		keys = append(keys, s.listKeys(some)...)
	}

	return append(keys,
		term.On(press.Resolve, "mark the cause as resolved; again: not resolved", func() tea.Cmd {
			return s.env.Marks.Turn(s.Topology, s.only.Group, cause.Resolved)
		}).When(s.only.Group != nil && s.Topology != nil),
		term.On(press.Peek, "look again", func() tea.Cmd { return s.look(false, false) }))
}

// acts returns a key that plans an action on some of the messages.
func (s *Screen) acts(
	b key.Binding, does string, operation plan.Operation, on choice,
) term.Key {
	return term.On(b, does, func() tea.Cmd { return s.act(operation, on) })
}

// each returns the keys for the message under the cursor that the table and the panes share.
func (s *Screen) each() (move, edit, mends, copies term.Key) {
	_, ok := s.Table.Current()
	move = s.acts(press.Move, "move the selection, else the message under the cursor, to a queue of choice", plan.Move,
		s.aimed)
	edit = term.On(press.Edit, "edit this message in $VISUAL or $EDITOR, then replay it", s.edit)
	mends = term.On(press.Mend, "change the selection, else all that are shown, by one jq program, then replay them",
		s.mendMany)

	return move, edit, mends, term.On(press.Copy, "copy something of this message", func() { s.copying = ok })
}

// listKeys returns the keys of the table. Without messages it has nothing to name.
func (s *Screen) listKeys(some bool) []term.Key {
	move, edit, mends, copies := s.each()
	choosing := s.Table.Choosing()
	filtered := s.filter.Text() != ""
	zoom := func() {
		if _, ok := s.Table.Current(); ok {
			s.detail.zoom()
		}
	}

	keys := append([]term.Key{term.On(press.Open, "story, headers and body of this message", zoom)}, s.custom()...)
	keys = append(keys, move, edit,
		s.acts(press.ReplayAll, "replay all that the filter shows", plan.Replay, s.AllShown),
		s.acts(press.DropAll, "drop all that the filter shows", plan.Drop, s.AllShown),
		choosing[0],
		term.On(press.Filter, "filter: plain text, or `=` and an expression", func() {
			s.filter.open(s.headers, s.current())
		}),
		term.On(press.Narrow, "only messages like this one: its class, its worker, its time", func() { s.narrowing = true }),
		mends, copies, choosing[1], choosing[2],
		term.On(press.Export, "export the selection, else all that the filter shows, to a file", s.export).
			When(s.env.Files != nil))

	keys = slices.Concat(keys, s.detail.panes(), s.steps(filtered))
	keys = append(keys, term.On(press.Back, "clear the filter, or the selection", s.clear).
		As("clear the selection").AsIf(filtered, "clear the filter").
		When(some && (filtered || len(s.Table.Chosen) > 0)))
	keys = append(append(keys, s.Table.Sorting()...), term.On(press.More, "read more messages: 5,000, 50,000, 200,000",
		func() tea.Cmd {
			s.Limit = s.nextLimit()
			return s.look(false, false)
		}).As("read "+s.moreWords()).When(s.more()))

	for i := range keys {
		keys[i].Hidden = keys[i].Hidden || !some
	}

	return keys
}

// paneKeys returns the keys of the detail, between those for its message.
func (s *Screen) paneKeys() []term.Key {
	other := func(by int) func() { return func() { s.Table.MoveTo(s.Table.Index + by) } }
	move, edit, mends, copies := s.each()
	body, ends := s.detail.keys()

	keys := append([]term.Key{move, edit}, s.detail.panes()...)
	keys = append(keys,
		term.On(press.Earlier, "the message before", other(-1)),
		term.On(press.Later, "the message after", other(1)),
		copies)

	if s.detail.focus == paneBody {
		keys = append(body, keys...)
	} else {
		keys = append(keys, body...)
	}

	keys = append(keys, term.On(press.Filter, "look for a text in this message", s.detail.find.Open).As("search"))
	return append(slices.Concat(keys, s.steps(true), s.custom(), ends), mends.Shown(false))
}

// steps returns the keys that go to a match.
func (s *Screen) steps(shown bool) []term.Key {
	next, before := "the next row that matches the filter; from the last one to the first", "the row before"
	if s.detail.inFocus() {
		next = "the next line with the text that is looked for, here or in the next pane; then the next message"
		before = "the line before; then the message before"
	}

	return []term.Key{
		term.On(press.NextMatch, next, func() { s.step(1) }).When(s.stepping()).Shown(shown),
		term.On(press.PrevMatch, before, func() { s.step(-1) }).When(s.stepping()).Shown(shown),
	}
}

// pressed keeps the order: dialog, text, what a key does, the rows or the lines of a pane.
func (s *Screen) pressed(msg tea.KeyMsg) tea.Cmd {
	keys := s.Keys()
	switch {
	case s.box() != nil:
		return s.toBox(msg)
	case s.copying:
		s.copying = false
	case s.narrowing:
		s.narrowing = false
	case s.filter.Typing:
		s.filter.typed(msg)
		return s.filtered()
	case s.detail.find.Typing:
		s.detail.typed(msg)
		return nil
	case term.Offers(keys, msg):
	case len(s.Rows) > 0 && s.detail.inFocus():
		if row, ok := s.Table.Current(); ok {
			s.detail.scrolled(row.Id, msg)
		}
		return nil

	default:
		s.Table.Motion(msg)
		return nil
	}

	cmd, _ := term.Press(keys, msg)
	return cmd
}

// clear clears the search in the detail, the filter, or the selection.
func (s *Screen) clear() tea.Cmd {
	switch {
	case s.detail.find.Visible():
		s.detail.find.Clear()
	case s.filter.Text() != "":
		s.filter.Clear()
		return s.filtered()
	default:
		s.Table.Unchoose()
	}

	return nil
}

func (s *Screen) filtered() tea.Cmd {
	cmd := s.filter.apply(s.env, s.Rows, s.around())
	if !s.filter.pending() {
		s.Table.Narrow(s.match())
	}
	return cmd
}

func (s *Screen) aimed() ([]*shell.MessageRow, string) {
	if chosen := s.Table.Selection(); len(chosen) > 0 {
		return chosen, "the selection"
	}
	if row, ok := s.Table.Current(); ok {
		return []*shell.MessageRow{row}, "the message under the cursor"
	}
	return nil, ""
}

func (s *Screen) AllShown() ([]*shell.MessageRow, string) {
	if s.filter.Text() != "" {
		return s.Table.Shown, "all that the filter shows"
	}
	if s.only.Group != nil {
		return s.Table.Shown, "all of the cause, as read at " + s.Peeked.TakenAt.Local().Format("15:04:05")
	}
	return s.Table.Shown, "all that were read"
}

// selected returns the selection, or all that are shown, and how they were selected.
func (s *Screen) selected() ([]*shell.MessageRow, string) {
	if rows := s.Table.Selection(); len(rows) > 0 {
		return rows, "the selection"
	}
	return s.AllShown()
}

// unready returns why nothing can be done yet with the displayed messages; "" when it can.
func (s *Screen) unready() string {
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

// choice returns some of the messages, and how they were selected.
type choice func() ([]*shell.MessageRow, string)

const noneAimed = "no message is under the cursor: move it onto one first"

// with does something with messages; without any it says none.
func (s *Screen) with(choose choice, none string, does func(act.Subject) tea.Cmd) tea.Cmd {
	rows, words := choose()
	why := s.unready()
	switch {
	case why != "":
		return shell.Notice(why, true)
	case s.Topology == nil:
		return nil
	case len(rows) == 0:
		return shell.Notice(none, true)
	}

	return does(s.Subject(rows, words))
}

func (s *Screen) act(operation plan.Operation, choose choice) tea.Cmd {
	return s.with(choose, noneAimed, func(about act.Subject) tea.Cmd {
		return s.Dialog.Begin(s.env, operation, about)
	})
}

// Clicked implements shell.Clickable, when the table is visible and has the keys.
func (s *Screen) Clicked() bool { return s.clicked }
