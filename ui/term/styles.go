package term

import (
	"io"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"
)

// Style is how a piece of text looks. The zero Style is plain.
type Style struct {
	open, end string // the escape sequences around it, "" when plain
}

// Render styles text, which must be printable and on one line.
func (s Style) Render(text string) string {
	if s.open == "" || text == "" {
		return text
	}
	return s.open + text + s.end
}

// Field puts a text into a cell of a table.
func (s Style) Field(text string) Field { return Field{Text: text, Style: s} }

// Wrap is printable text in this style, broken like Wrap into lines of at most width cells, after a lead on the first
// line and blanks below it.
func (s Style) Wrap(lead, text string, width int) []string {
	lines := Wrap(text, width)
	for i := range lines {
		lines[i] = lead + s.Render(lines[i])
		if i == 0 {
			lead = strings.Repeat(" ", ansi.StringWidthWc(lead))
		}
	}

	return lines
}

// Under applies the style to a line whose pieces are styled already: it continues between them.
func (s Style) Under(line string) string {
	if s.open == "" {
		return line
	}
	return s.open + strings.ReplaceAll(line, s.end, s.end+s.open) + s.end
}

// Styles are all styles of the program, by meaning. Colour never carries a meaning alone: there is always a mark or a
// word, too.
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
	Chosen   Style // the mark of a selected row
	Cursor   Style // the character under a text field's cursor
	Border   Style // lines and boxes

	BodyKey     Style // a name in a body: of a member, an element, a field
	BodyText    Style // a text in a body
	BodyLiteral Style // a number, true, false, null in a body
	BodyMark    Style // brackets, commas and offsets

	Production Style // under the header of a context marked as production

	Plain bool // everything in one column and no pictures, for a screen that is heard or felt
}

// NewStyles makes the styles of a theme for a terminal with these colours: see Theme.Palette for which theme it can
// show.
func NewStyles(theme Theme, profile termenv.Profile) *Styles {
	if theme == Mono {
		profile = termenv.ANSI // attributes only: without a profile Lip Gloss leaves them out, too
	}
	return builtIn[theme].styles(profile)
}

func (h hues) styles(profile termenv.Profile) *Styles {
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(profile)
	style := r.NewStyle
	ink := func(key string) lipgloss.Style {
		if h[key] == "" {
			return style()
		}
		return style().Foreground(lipgloss.Color(h[key]))
	}

	// Without a colour of its own, secondary text is faint, and the cursor's row is reversed.
	quiet := func(key string) Style { return precomputed(ink(key).Faint(h[key] == "")) }
	bold := func(key string) Style { return precomputed(ink(key).Bold(true)) }
	plain := func(key string) Style { return precomputed(ink(key)) }

	on := func(key string, without lipgloss.Style) Style {
		if h[key] == "" {
			return precomputed(without.Reverse(true))
		}
		return precomputed(style().Background(lipgloss.Color(h[key])).Foreground(lipgloss.Color(h["on_"+key])))
	}

	return &Styles{
		Title:       bold(""),
		Strong:      bold(""),
		Heading:     quiet("muted"),
		Muted:       quiet("muted"),
		Border:      quiet("border"),
		Accent:      bold("accent"),
		Good:        plain("good"),
		Waiting:     plain("waiting"),
		Warning:     plain("warning"),
		Danger:      bold("danger"),
		Chosen:      bold("chosen"),
		Cursor:      precomputed(style().Reverse(true)),
		Selected:    on("selected", ink("accent")),
		Production:  on("production", style()),
		BodyKey:     plain("accent"),
		BodyText:    plain("good"),
		BodyLiteral: plain("chosen"),
		BodyMark:    quiet("muted"),
	}
}

// precomputed returns what Lip Gloss writes around a text. A frame has hundreds of styled pieces, each of one line,
// already fitted to its cells: the rest of Style.Render is not needed.
func precomputed(style lipgloss.Style) Style {
	const text = "x"
	open, end, _ := strings.Cut(style.Render(text), text)
	return Style{open, end}
}

func (s *Styles) Mark(mark string) Style {
	switch mark {
	case MarkError:
		return s.Danger
	case MarkWarning:
		return s.Warning
	}

	return s.Muted
}

// The marks beside colours.
const (
	MarkError   = "✗"
	MarkWarning = "!"
	MarkInfo    = "·"
	MarkCursor  = "▸"
	MarkChosen  = "●"
)
