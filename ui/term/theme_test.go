package term

import (
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// colours match the parameters of a style's sequence that set a colour.
var colours = regexp.MustCompile(`(^|;)(3[0-8]|4[0-8]|9[0-7]|10[0-7])`)

func TestThemes(t *testing.T) {
	for _, tc := range []struct {
		theme   Theme
		profile termenv.Profile
		light   bool
		palette Theme
		danger  string
	}{
		{Auto, termenv.TrueColor, false, Dark, "\x1b[1;38;2;255;123;113m"},
		{Auto, termenv.TrueColor, true, Light, "\x1b[1;38;2;195;22;28m"},
		{Dark, termenv.TrueColor, true, Dark, "\x1b[1;38;2;255;123;113m"},
		{Light, termenv.ANSI256, false, Light, "\x1b[1;38;5;160m"},
		{Auto, termenv.ANSI, true, ANSI, "\x1b[1;31m"},
		{Dark, termenv.ANSI, false, ANSI, "\x1b[1;31m"},
		{ANSI, termenv.TrueColor, false, ANSI, "\x1b[1;31m"},
		{Mono, termenv.TrueColor, false, Mono, "\x1b[1m"},
		{Auto, termenv.Ascii, false, Mono, "\x1b[1m"}, // NO_COLOR
	} {
		palette := tc.theme.Palette(tc.profile, tc.light)
		assert.Equal(t, palette, tc.palette, "%s on %s", tc.theme, tc.profile.Name())
		styles := NewStyles(palette, tc.profile)
		assert.Equal(t, styles[Danger], tc.danger, "%s on %s: what danger begins with", tc.theme, tc.profile.Name())

		for name, s := range map[string]Style{
			"muted": Muted, "selected": Selected, "cursor": Cursor, "production": Production, "border": Border, "title": Title,
		} {
			text := styles.Dress(s.Render("x"))
			assert.That(t, text != "x", "%s on %s: %s looks as ordinary text does", tc.theme, tc.profile.Name(), name)
			assert.That(t, tc.palette != Mono || !colours.MatchString(strings.TrimSuffix(text[2:strings.Index(text, "m")], "m")),
				"%s has a colour without colours: %q", name, text)
		}
	}

	assert.That(t, !Theme("sepia").Known(), "a theme is known that is none, or the other way round")
	assert.That(t, Auto.Known(), "a theme is known that is none, or the other way round")
}

// A user's theme is its base with other colours; without colours it is like every theme.
func TestOwnTheme(t *testing.T) {
	own := must.Get(ParseThemes(map[string]map[string]string{
		"night": {"danger": "#ff00ff", "selected": "17"}, "day": {"base": "light", "muted": "240"},
	}))(t)
	dark := NewStyles(Dark, termenv.TrueColor)
	night := own.Styles("night", termenv.TrueColor, true)
	got := night.Dress(Danger.Render("x"))
	assert.Equal(t, got, "\x1b[1;38;2;255;0;255mx\x1b[0m", "danger is")
	assert.That(t, night[Selected] != dark[Selected], "selected is %q", night[Selected])
	assert.Equal(t, night[Good], dark[Good])
	day, light := own.Styles("day", termenv.TrueColor, false), NewStyles(Light, termenv.TrueColor)
	assert.Equal(t, day[Danger], light[Danger], "the base is the light theme")
	assert.Equal(t, own.Styles("night", termenv.Ascii, false), NewStyles(Mono, termenv.Ascii))
}

// An error in a theme is one sentence with the key and what is allowed.
func TestMistakesInThemes(t *testing.T) {
	for want, colours := range map[string]map[string]string{
		`accent is "blu": a colour is "#rrggbb", or a number from 0 to 255`: {"accent": "blu", "good": "1"},
		`warning is "256": a colour`:                                        {"warning": "256", "x": "1"},
		`unknown key accents: a theme has base, accent, border`:             {"accents": "#12ab9f"},
		`base is "mono": it is dark, light or ansi`:                         {"base": "mono", "accent": "1"},
	} {
		_, err := ParseThemes(map[string]map[string]string{"mine": colours})
		must.That(t, err != nil, "%v: %v", colours, err)
		assert.That(t, strings.HasPrefix(err.Error(), want), "%v: %v", colours, err)
	}

	_, err := ParseThemes(map[string]map[string]string{"dark": nil})
	assert.That(t, err != nil, "a theme that is built in is taken from a file")
}

// A style without a look of its own leaves nothing in a frame, and a cut text ends its style.
func TestDressLeavesNoMarks(t *testing.T) {
	styles := NewStyles(ANSI, termenv.ANSI)
	frame := Good.Render("it") + " is " + Danger.Render("lost") + BodyLiteral.Render("!") + Cut(Muted.Render("more"), 3)
	assert.Equal(t, styles.Dress(frame), "\x1b[32mit\x1b[0m is \x1b[1;31mlost\x1b[0m\x1b[35m!\x1b[0m\x1b[2mmo…\x1b[0m")
	plain := PlainStyles()
	assert.Equal(t, plain.Dress(frame), "it is lost!mo…")
}

func TestUnderGoesOnBetweenPieces(t *testing.T) {
	styles := NewStyles(Dark, termenv.TrueColor)
	line := styles.Dress(Production.Under("a " + Danger.Render("b") + " c"))
	must.Equal(t, ansi.Strip(line), "a b c", "the text")
	n := strings.Count(line, styles[Production])
	assert.Equal(t, n, 2, "the background is laid %d times: %q", n, line)
	assert.That(t, strings.HasSuffix(line, " c"+resetStyle), "the background is laid %d times: %q", n, line)
}
