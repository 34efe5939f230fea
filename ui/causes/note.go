package causes

import (
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// causeNote is a note of one line that is typed for a cause.
type causeNote struct {
	row   causeRow
	field term.TextField
}

func newCauseNote(e *shell.Env, row causeRow) *causeNote {
	return &causeNote{row, term.NewTextField(e.Marks.States.Of(row.ID).Note)}
}

func (n *causeNote) view(s *term.Styles, width int) string {
	l := shell.NewDialogLines(s, width)
	l.Say("cause", n.row.text, s.Strong)
	l.Say("note", "one line, kept beside the journal; an empty one removes it", s.Muted)
	l.Field(&n.field)
	l.Blank()
	l.Hints(shell.Hint(s, "enter", "keep") + shell.Hint(s, "esc", "back"))
	return l.Box("Note")
}
