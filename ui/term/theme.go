package term

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/muesli/termenv"

	"github.com/dlxtop/dlxtop/model"
)

// Theme names a set of styles.
type Theme string

// The themes. Auto is Dark or Light, depending on the terminal's background.
const (
	Auto  Theme = "auto"
	Dark  Theme = "dark"
	Light Theme = "light"
	ANSI  Theme = "ansi" // the terminal's own 16 colours, as the user configured them
	Mono  Theme = "mono" // no colours: bold, faint and reverse remain
)

func Themes() []Theme { return []Theme{Auto, Dark, Light, ANSI, Mono} }

func (t Theme) Known() bool { return slices.Contains(Themes(), t) }

// Palette chooses what a terminal can show, by its number of colours and its background.
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

// ParseThemes parses the colours of themes by name, each colour by its key. The error is one sentence.
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
		h = maps.Clone(h)
		for _, key := range slices.Sorted(maps.Keys(colours)) {
			_, known := builtIn[Dark][key]
			switch {
			case key == baseKey:
				continue
			case !known:
				return nil, model.Errorf("unknown key %v: a theme has %s, %s", key, baseKey,
					strings.Join(slices.Sorted(maps.Keys(builtIn[Dark])), ", "))
			case !hue.MatchString(colours[key]):
				return nil, fmt.Errorf("%s is %q: a colour is \"#rrggbb\", or a number from 0 to 255", key,
					model.Printable(colours[key]))
			}

			h[key] = colours[key]
		}

		own[Theme(name)] = h
	}

	return own, nil
}

// baseKey names the theme for the colours that are not set.
const baseKey = "base"

var hue = regexp.MustCompile(`^(#[0-9a-fA-F]{6}|[0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])$`)

// Styles makes the styles of a theme for a terminal with these colours.
func (o OwnThemes) Styles(theme Theme, profile termenv.Profile, light bool) Styles {
	if h, ok := o[theme]; ok && profile != termenv.Ascii {
		return h.styles(profile)
	}
	return NewStyles(theme.Palette(profile, light), profile)
}

// hues are the colours of a theme, by their keys in a file. Text has the terminal's own.
type hues map[string]string

// builtIn are the themes with their own colours. Dark has all keys.
var builtIn = map[Theme]hues{
	Dark: {
		"muted": "#8d96a0", "border": "#59626d", "accent": "#5fd7d7", "good": "#7ee08a", "waiting": "#79b8ff",
		"warning": "#f0c050", "danger": "#ff7b72", "chosen": "#d7a6ff", "selected": "#264f66", "on_selected": "#ffffff",
		"production": "#6e1f24", "on_production": "#ffffff",
	},
	Light: {
		"muted": "#636c76", "border": "#a5adb6", "accent": "#005f87", "good": "#1a7f37", "waiting": "#0550ae",
		"warning": "#8a5a00", "danger": "#c4161c", "chosen": "#7a3fc7", "selected": "#bfe3f2", "on_selected": "#10222b",
		"production": "#ffd3d0", "on_production": "#5c0a0d",
	},
	ANSI: {
		"accent": "6", "good": "2", "waiting": "4", "warning": "3", "danger": "1", "chosen": "5",
		"production": "1", "on_production": "15",
	},
}
