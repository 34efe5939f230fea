package term

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"

	"github.com/dlxtop/dlxtop/model"
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

// OwnThemes are themes that are not built in.
type OwnThemes map[Theme]hues

// ParseThemes reads the colours of themes by their names, each colour by its key. The error is one sentence.
func ParseThemes(themes map[string]map[string]string) (OwnThemes, error) {
	own := OwnThemes{}
	for name, colours := range themes {
		if Theme(name).Known() {
			return nil, fmt.Errorf("the theme %s is built in: give the file another name", name)
		}
		h, ok := builtIn[Theme(cmp.Or(colours[baseKey], string(Dark)))]
		if !ok {
			return nil, fmt.Errorf("%s is %q: it is dark, light or ansi", baseKey, model.Printable(colours[baseKey]))
		}
		fields := h.fields()
		for _, key := range slices.Sorted(maps.Keys(colours)) {
			field, known := fields[key]
			switch {
			case key == baseKey:
				continue
			case !known:
				return nil, fmt.Errorf("unknown key %s: a theme has %s, %s", model.Printable(key), baseKey,
					strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
			case !hue.MatchString(colours[key]):
				return nil, fmt.Errorf("%s is %q: a colour is \"#rrggbb\", or a number from 0 to 255", key,
					model.Printable(colours[key]))
			}
			*field = colours[key]
		}
		own[Theme(name)] = h
	}
	return own, nil
}

// baseKey names the theme that has the colours which are not set.
const baseKey = "base"

// hue is a colour.
var hue = regexp.MustCompile(`^(#[0-9a-fA-F]{6}|[0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])$`)

// fields are the colours by their keys in a file.
func (h *hues) fields() map[string]*string {
	return map[string]*string{
		"muted": &h.muted, "border": &h.border, "accent": &h.accent, "good": &h.good, "waiting": &h.waiting,
		"warning": &h.warning, "danger": &h.danger, "chosen": &h.chosen,
		"selected": &h.selected, "on_selected": &h.onSelected,
		"production": &h.production, "on_production": &h.onProduction,
	}
}

// Styles are the looks of a theme on a terminal with these colours.
func (o OwnThemes) Styles(theme Theme, profile termenv.Profile, light bool) *Styles {
	if h, ok := o[theme]; ok && profile != termenv.Ascii {
		return stylesOf(looksOf(h, profile))
	}
	return NewStyles(theme.Palette(profile, light), profile)
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

// builtIn are the themes with colours of their own.
var builtIn = map[Theme]hues{Dark: darkHues, Light: lightHues, ANSI: ansiHues}

// newLooks makes the styles of a theme that a terminal of this profile can show.
func newLooks(theme Theme, profile termenv.Profile) looks {
	if theme == Mono {
		profile = termenv.ANSI // attributes only: without a profile Lip Gloss leaves them out, too
	}
	return looksOf(builtIn[theme], profile)
}

func looksOf(h hues, profile termenv.Profile) looks {
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(profile)
	style := r.NewStyle
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
