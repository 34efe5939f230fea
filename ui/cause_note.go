package ui

import (
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
