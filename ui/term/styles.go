package term

import (
	"strings"

	"github.com/muesli/termenv"
)

// Style is how a piece of text looks. The zero Style is plain.
type Style struct {
	open, end string // the escape sequences around it, "" when plain
}

// Render dresses text, which must be printable and on one line.
func (s Style) Render(text string) string {
	if s.open == "" || text == "" {
		return text
	}
	return s.open + text + s.end
}

// Under lays the style under a line whose pieces are dressed already: it goes on between them.
func (s Style) Under(line string) string {
	if s.open == "" {
		return line
	}
	return s.open + strings.ReplaceAll(line, s.end, s.end+s.open) + s.end
}

// Styles are all looks of the program, by what they mean. Colour never carries a meaning alone: a mark or a word stands
// beside it.
type Styles struct {
	Title    Style // the program's name, a screen's heading
	Heading  Style // the head of a table or of a part of a pane
	Text     Style // ordinary text
	Strong   Style // what to read first
	Muted    Style // what may be skipped: unknown values, rules, units
	Accent   Style // the current tab, the cursor's mark, a key's name
	Good     Style // moves as it should
	Waiting  Style // waits, as it should
	Warning  Style // risky: beside "!"
	Danger   Style // lost, stuck or broken: beside "!" or "✗"
	Selected Style // the whole row under the cursor
	Chosen   Style // the mark of a chosen row
	Cursor   Style // the character under a text field's cursor
	Border   Style // lines and boxes

	BodyKey     Style // a name in a body: of a member, an element, a field
	BodyText    Style // a text in a body
	BodyLiteral Style // a number, true, false, null in a body
	BodyMark    Style // brackets, commas and offsets

	Production Style // under the header of a context that is marked as production

	Plain bool // one thing below the other and no picture, for a screen that is heard or felt
}

// NewStyles makes the looks of a theme for a terminal with these colours: Theme.Palette says which theme it can show.
func NewStyles(theme Theme, profile termenv.Profile) *Styles {
	return stylesOf(newLooks(theme, profile))
}

func stylesOf(l looks) *Styles {
	return &Styles{
		Title: precomputed(l.title), Heading: precomputed(l.heading), Strong: precomputed(l.strong),
		Muted: precomputed(l.muted), Accent: precomputed(l.accent), Good: precomputed(l.good),
		Waiting: precomputed(l.waiting), Warning: precomputed(l.warning), Danger: precomputed(l.danger),
		Selected: precomputed(l.selected), Chosen: precomputed(l.chosen), Cursor: precomputed(l.cursor),
		Border: precomputed(l.border), Production: precomputed(l.production),
		BodyKey: precomputed(l.bodyKey), BodyText: precomputed(l.bodyText), BodyLiteral: precomputed(l.bodyLiteral),
		BodyMark: precomputed(l.muted),
	}
}

// Mark is the look of a mark.
func (s *Styles) Mark(mark string) Style {
	switch mark {
	case MarkError:
		return s.Danger
	case MarkWarning:
		return s.Warning
	}
	return s.Muted
}

// The marks that stand beside a colour.
const (
	MarkError   = "✗"
	MarkWarning = "!"
	MarkInfo    = "·"
	MarkCursor  = "▸"
	MarkChosen  = "●"
)
