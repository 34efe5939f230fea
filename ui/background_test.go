package ui

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/muesli/termenv"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// TestAnswersOfTheTerminalAreNoKeys: letters of an answer are commands, wherever reads cut it.
func TestAnswersOfTheTerminalAreNoKeys(t *testing.T) {
	for _, tc := range []struct {
		reads []string
		keys  string
		light string // what was heard: "light", "dark", or nothing
	}{
		{[]string{"jk"}, "jk", ""},
		{[]string{"\x1b"}, "\x1b", ""},
		{[]string{"\x1b", "[A"}, "\x1b[A", ""},
		{[]string{"j\x1b]11;rgb:ffff/ffff/ffff\x1b\\k"}, "jk", "light"},
		{[]string{"\x1b]11;rgb:0000/0000/0000\x07"}, "", "dark"},
		{[]string{"\x1b]", "11;rgb:1e1e/", "1e1e/2e2e\x1b", "\\d"}, "d", "dark"},
		{[]string{"\x1b]1", "1;rgba:ff/ff/ff/ff\x07r"}, "r", "light"},
		{[]string{"\x1b]x"}, "\x1b]x", ""},
		{[]string{"\x1b]11;" + strings.Repeat("d", 100)}, "", ""},
		{[]string{"\x1b]11;drop\x07", "j"}, "j", ""},
	} {
		from, to, err := os.Pipe()
		must.Do(t, err)
		heard := ""
		k := &keyboard{File: from, background: func(light bool) {
			heard = map[bool]string{true: "light", false: "dark"}[light]
		}}
		var keys strings.Builder
		for _, read := range tc.reads {
			keys.Write(k.without([]byte(read)))
		}
		assert.That(t, keys.String() == tc.keys && heard == tc.light, "%q are the keys %q and %q, want %q and %q", tc.reads,
			keys.String(), heard, tc.keys, tc.light)
		k.held, heard = nil, ""
		must.Get(to.WriteString(strings.Join(tc.reads, "")))(t)
		to.Close()
		if text, err := io.ReadAll(k); err != nil || string(text) != tc.keys || heard != tc.light {
			t.Errorf("read at once, %q are %q and %q (%v)", tc.reads, text, heard, err)
		}
		from.Close()
	}
}

// TestBackgroundIsWaitedFor: the first frame has the right colours, and a late answer changes them.
func TestBackgroundIsWaitedFor(t *testing.T) {
	a := newApp(t.Context(), frozen(&recorded{snapshot: busyBroker()}))
	a.width, a.height = 80, 24
	a.env.Profile, a.env.Asking = termenv.TrueColor, true
	dress(a.env, term.Auto)
	assert.That(t, a.View() == "", "something is drawn before the terminal has said its background")
	dark := a.env.Styles.Danger
	m, _ := a.Update(backgroundMsg{})
	assert.That(t, m.View() != "" && a.env.Styles.Danger == dark,
		"without an answer, what is drawn is not for a dark background")
	m.Update(backgroundMsg{known: true, light: true})
	assert.That(t, a.env.Styles.Danger != dark, "a light background has the colours of a dark one")
}

// TestThemeOfTheMoment: another theme is chosen without leaving, and what is on the screen has its colours at once.
func TestThemeOfTheMoment(t *testing.T) {
	var e *shell.Env
	terminal := newTerminal(t, frozen(&recorded{snapshot: busyBroker()}), 80, 24, func(a *app) {
		a.env.Profile = termenv.TrueColor
		dress(a.env, term.Dark)
		e = a.env
	})
	terminal.await("ucenter@user")
	terminal.press(":theme")
	terminal.await("theme THEME")
	terminal.press(" li", keyEnter)
	terminal.awaitGone("tab completes")
	terminal.press("q")
	terminal.awaitEnd()
	assert.That(t, *e.Styles == *term.NewStyles(term.Light, termenv.TrueColor) && e.Theme == term.Light, "the theme is %s",
		e.Theme)
	other := newTerminal(t, frozen(&recorded{snapshot: busyBroker()}), 80, 24)
	other.await("ucenter@user")
	other.press(":theme sepia", keyEnter)
	other.await("there is no theme sepia")
}

func TestOwnThemeIsOffered(t *testing.T) {
	o, _, _ := failedOptions(3)
	o.OwnThemes = map[string]map[string]string{"night": {"danger": "#ff00ff"}}
	screen := newTerminal(t, o, 80, 24)
	screen.await("ucenter@user")
	screen.command("theme ni", "▸ theme night")
	screen.press(keyEnter)
	screen.awaitInside("the theme is worn", func(a app) bool { return a.env.Theme == "night" })
}
