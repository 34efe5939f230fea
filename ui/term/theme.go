package term

import (
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
)

// Theme names a set of looks.
type Theme string

// The themes. Auto is Dark or Light, as the terminal's background is.
const (
	Auto  Theme = "auto"
	Dark  Theme = "dark"
	Light Theme = "light"
	ANSI  Theme = "ansi" // the terminal's own 16 colours, whatever the operator has made of them
	Mono  Theme = "mono" // no colours: bold, faint and reverse remain
)

// Themes are the names of all themes, Auto first.
func Themes() []Theme { return []Theme{Auto, Dark, Light, ANSI, Mono} }

// Known reports whether there is a theme of this name.
func (t Theme) Known() bool { return slices.Contains(Themes(), t) }

// Palette is the theme that a terminal can show: as many colours as it has, and dark or light as its background is.
func (t Theme) Palette(profile termenv.Profile, light bool) Theme {
	switch {
	case t == Mono || profile == termenv.Ascii:
		return Mono
	case t == ANSI || profile == termenv.ANSI:
		return ANSI
	case t == Light || t == Auto && light:
		return Light
	}
	return Dark
}

// looks are the styles of a theme as Lip Gloss has them.
type looks struct {
	title, heading, strong, muted, accent, good, waiting, warning, danger lipgloss.Style
	selected, chosen, cursor, border, production                          lipgloss.Style
	bodyKey, bodyText, bodyLiteral                                        lipgloss.Style
}

// hues are the colours of a theme. Text has the terminal's own.
type hues struct {
	muted, border, accent, good, waiting, warning, danger, chosen string
	selected, onSelected                                          string
	production, onProduction                                      string
}

var (
	darkHues = hues{
		muted: "#8d96a0", border: "#59626d", accent: "#5fd7d7", good: "#7ee08a", waiting: "#79b8ff",
		warning: "#f0c050", danger: "#ff7b72", chosen: "#d7a6ff", selected: "#264f66", onSelected: "#ffffff",
		production: "#6e1f24", onProduction: "#ffffff",
	}
	lightHues = hues{
		muted: "#636c76", border: "#a5adb6", accent: "#005f87", good: "#1a7f37", waiting: "#0550ae",
		warning: "#8a5a00", danger: "#c4161c", chosen: "#7a3fc7", selected: "#bfe3f2", onSelected: "#10222b",
		production: "#ffd3d0", onProduction: "#5c0a0d",
	}
	ansiHues = hues{
		accent: "6", good: "2", waiting: "4", warning: "3", danger: "1", chosen: "5",
		production: "1", onProduction: "15",
	}
)

// newLooks makes the styles of a theme that a terminal of this profile can show.
func newLooks(theme Theme, profile termenv.Profile) looks {
	if theme == Mono {
		profile = termenv.ANSI // attributes only: without a profile Lip Gloss leaves them out, too
	}
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(profile)
	style := r.NewStyle
	h := map[Theme]hues{Dark: darkHues, Light: lightHues, ANSI: ansiHues}[theme]
	ink := func(hue string) lipgloss.Style {
		if hue == "" {
			return style()
		}
		return style().Foreground(lipgloss.Color(hue))
	}
	// Without a colour of its own, what is second is faint, and what is under the cursor is reversed.
	quiet := func(hue string) lipgloss.Style { return ink(hue).Faint(hue == "") }
	on := func(background, foreground lipgloss.TerminalColor) lipgloss.Style {
		return style().Background(background).Foreground(foreground)
	}
	l := looks{
		title: style().Bold(true), heading: quiet(h.muted), strong: style().Bold(true), muted: quiet(h.muted),
		accent: ink(h.accent).Bold(true), good: ink(h.good), waiting: ink(h.waiting), warning: ink(h.warning),
		danger: ink(h.danger).Bold(true), chosen: ink(h.chosen).Bold(true), cursor: style().Reverse(true),
		border: quiet(h.border), selected: ink(h.accent).Reverse(true), production: style().Reverse(true),
		bodyKey: ink(h.accent), bodyText: ink(h.good), bodyLiteral: ink(h.chosen),
	}
	if h.selected != "" {
		l.selected = on(lipgloss.Color(h.selected), lipgloss.Color(h.onSelected))
	}
	if h.production != "" {
		l.production = on(lipgloss.Color(h.production), lipgloss.Color(h.onProduction))
	}
	return l
}

// precomputed is what Lip Gloss writes around a text. A frame has hundreds of dressed pieces, each of one line, already
// fitted to its cells: what else Style.Render does for each is not needed.
func precomputed(style lipgloss.Style) Style {
	const text = "x"
	open, end, _ := strings.Cut(style.Render(text), text)
	return Style{open, end}
}
