package term

import (
	"io"
	"strconv"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"
)

// Style says what a piece of text means. Rendered text carries marks, which Styles replace in the whole frame: only
// they know how a style looks.
type Style uint8

// The styles. Colour never carries a meaning alone: there is always a mark or a word, too.
const (
	Text     Style = iota // ordinary text
	Title                 // the program's name, a screen's heading
	Heading               // the head of a table or of a part of a pane
	Strong                // what to read first
	Muted                 // what may be skipped: unknown values, rules, units
	Accent                // the current tab, the cursor's mark, a key's name
	Good                  // moves as it should
	Waiting               // waits, as it should
	Warning               // risky: beside "!"
	Danger                // lost, stuck or broken: beside "!" or "✗"
	Selected              // the whole row under the cursor
	Chosen                // the mark of a selected row
	Cursor                // the character under a text field's cursor
	Border                // lines and boxes

	BodyKey     // a name in a body: of a member, an element, a field
	BodyText    // a text in a body
	BodyLiteral // a number, true, false, null in a body
	BodyMark    // brackets, commas and offsets

	Production // under the header of a context marked as production
	styleCount
)

// The marks of styles are escape sequences, so that they take no cells: one with the style's number begins it, one
// without ends it.
const (
	styleMark = string(rune(ansi.ESC)) + "[>"
	styleEnd  = styleMark + "m"
)

func (s Style) open() string { return styleMark + strconv.Itoa(int(s)) + "m" }

// Render styles text, which must be printable and on one line.
func (s Style) Render(text string) string {
	if s == Text || text == "" {
		return text
	}
	return s.open() + text + styleEnd
}

// Span makes a piece of a line, or a cell of a table.
func (s Style) Span(text string) Span { return Span{Text: text, Style: s} }

// Wrap is printable text in this style, broken like Wrap into lines of at most width cells, after a lead on the first
// line and blanks below it.
func (s Style) Wrap(lead, text string, width int) []string {
	lines := Wrap(text, width)
	for i := range lines {
		lines[i] = lead + s.Render(lines[i])
		lead = strings.Repeat(" ", ansi.StringWidthWc(lead))
	}

	return lines
}

// Under applies the style to a line whose pieces are styled already: it continues between them.
func (s Style) Under(line string) string {
	return s.open() + strings.ReplaceAll(line, styleEnd, styleEnd+s.open()) + styleEnd
}

// Styles are how all styles look: the escape sequence that begins each, "" for ordinary text.
type Styles [styleCount]string

// Dress replaces the marks of styles in a frame.
func (s *Styles) Dress(frame string) string {
	pieces := strings.Split(frame, styleMark)
	var b strings.Builder
	b.WriteString(pieces[0])
	open := ""
	for _, piece := range pieces[1:] {
		mark, text, _ := strings.Cut(piece, "m")
		ends := mark == ""
		if ends && open != "" {
			b.WriteString(resetStyle)
		}

		if open = ""; !ends {
			n, _ := strconv.Atoi(mark)
			open = s[n]
		}
		b.WriteString(open + text)
	}

	return b.String()
}

// resetStyle is what Lip Gloss ends styled text with.
var resetStyle = ansi.SGR(ansi.AttrReset)

// NewStyles makes the styles of a theme for a terminal with these colours: see Theme.Palette for which theme it can
// show.
func NewStyles(theme Theme, profile termenv.Profile) Styles {
	if theme == Mono {
		profile = termenv.ANSI // attributes only: without a profile Lip Gloss leaves them out, too
	}
	return builtIn[theme].styles(profile)
}

func (h hues) styles(profile termenv.Profile) Styles {
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
	quiet := func(key string) string { return precomputed(ink(key).Faint(h[key] == "")) }
	bold := func(key string) string { return precomputed(ink(key).Bold(true)) }
	plain := func(key string) string { return precomputed(ink(key)) }

	on := func(key string, without lipgloss.Style) string {
		if h[key] == "" {
			return precomputed(without.Reverse(true))
		}
		return precomputed(style().Background(lipgloss.Color(h[key])).Foreground(lipgloss.Color(h["on_"+key])))
	}

	return Styles{
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

// precomputed returns what Lip Gloss writes before a text. A frame has hundreds of styled pieces, each of one line,
// already fitted to its cells: the rest of Style.Render is not needed.
func precomputed(style lipgloss.Style) string {
	const text = "x"
	open, _, _ := strings.Cut(style.Render(text), text)
	return open
}

func StyleOf(mark string) Style {
	switch mark {
	case MarkError:
		return Danger
	case MarkWarning:
		return Warning
	}

	return Muted
}

// The marks beside colours.
const (
	MarkError   = "✗"
	MarkWarning = "!"
	MarkInfo    = "·"
	MarkCursor  = "▸"
	MarkChosen  = "●"
)
