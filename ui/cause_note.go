package ui

import (
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/ui/term"
)

// causeNote is a note of one line that is typed for a cause.
type causeNote struct {
	row   causeRow
	field term.TextField
}

func newCauseNote(e *env, row causeRow) *causeNote {
	return &causeNote{row, term.NewTextField(e.marks.states.Of(row.ID).Note)}
}

func (n *causeNote) view(s *term.Styles, width int) string {
	l := newDialogLines(s, width)
	l.say("cause", n.row.text, s.Strong)
	l.say("note", "one line, kept beside the journal; an empty one removes it", s.Muted)
	l.field(&n.field)
	l.blank()
	l.hints(hint(s, "enter", "keep") + hint(s, "esc", "back"))
	return l.box("Note")
}

// look is how a cause is dressed: what came back is the loudest.
func (c *causeMarks) look(id cause.ID) term.Style {
	s := c.env.styles
	switch c.states.Of(id).State {
	case cause.Back:
		return s.Danger
	case cause.New:
		return s.Strong
	case cause.Resolved, cause.Ignored:
		return s.Muted
	}
	return s.Text
}

// words are the state in a column: "back 04:10".
func (c *causeMarks) words(id cause.ID) string {
	m := c.states.Of(id)
	if m.State == cause.Back {
		return "! back " + clockOf(model.Some(m.At), c.env.shown)
	}
	return string(m.State)
}

// rank is the order of the states: what is back first, what is resolved or ignored last.
func (c *causeMarks) rank(id cause.ID) int {
	switch c.states.Of(id).State {
	case cause.Back:
		return 0
	case cause.Resolved, cause.Ignored:
		return 2
	}
	return 1
}

// sentence is the state with its time.
func (c *causeMarks) sentence(id cause.ID, now time.Time) string {
	m := c.states.Of(id)
	ago := agoOf(model.Some(m.At), now)
	k := c.env.keys
	switch m.State {
	case cause.Back:
		return "back: it came again after it was resolved; seen " + ago
	case cause.Resolved:
		return "resolved " + ago + "; when it fails again, it is shown as back"
	case cause.Ignored:
		return "ignored " + ago
	case cause.Seen:
		return "seen " + ago + "; " + k.Resolve.Help().Key + " marks it as resolved"
	}
	return "new: no one has opened it"
}
