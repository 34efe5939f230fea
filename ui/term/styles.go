package term

import (
	"os"

	"github.com/charmbracelet/x/ansi"
)

// Style is how a piece of text looks. The zero Style is plain. It uses only the terminal's own 16 colours and
// attributes, so that it fits light and dark backgrounds and whatever theme the operator has chosen.
type Style struct {
	Open string // the escape sequence that starts it, "" when plain
}

// Render dresses text, which must be printable and on one line.
func (s Style) Render(text string) string {
	if s.Open == "" || text == "" {
		return text
	}
	return s.Open + text + ansi.ResetStyle
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
}

// NewStyles makes the looks. Without colour (NO_COLOR) the attributes remain: bold, faint and reverse are not colours.
func NewStyles(colour bool) *Styles {
	paint := func(c ansi.Color, attributes ...ansi.Style) Style {
		var style ansi.Style
		for _, a := range attributes {
			style = append(style, a...)
		}
		if colour && c != nil {
			style = style.ForegroundColor(c)
		}
		if len(style) == 0 {
			return Style{}
		}
		return Style{style.String()}
	}
	bold, faint, reverse := ansi.Style{}.Bold(), ansi.Style{}.Faint(), ansi.Style{}.Reverse(true)
	return &Styles{
		Title:    paint(nil, bold),
		Heading:  paint(nil, faint),
		Text:     Style{},
		Strong:   paint(nil, bold),
		Muted:    paint(nil, faint),
		Accent:   paint(ansi.Cyan, bold),
		Good:     paint(ansi.Green),
		Waiting:  paint(ansi.Blue),
		Warning:  paint(ansi.Yellow),
		Danger:   paint(ansi.Red, bold),
		Selected: paint(ansi.Cyan, reverse),
		Chosen:   paint(ansi.Magenta, bold),
		Cursor:   paint(nil, reverse),
		Border:   paint(nil, faint),
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

// ColourWanted follows no-color.org: NO_COLOR set to anything but "" turns colours off.
func ColourWanted() bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// The marks that stand beside a colour.
const (
	MarkError   = "✗"
	MarkWarning = "!"
	MarkInfo    = "·"
	MarkCursor  = "▸"
	MarkChosen  = "●"
)
