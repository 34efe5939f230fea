package ui

import (
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
)

// helpScreen lists the keys that do something on the screen it was opened from.
type helpScreen struct {
	env    *env
	about  string
	groups []helpGroup
}

type helpGroup struct {
	name     string
	bindings []key.Binding
}

func newHelpScreen(e *env, of screen) screen {
	if h, ok := of.(helpScreen); ok {
		return h
	}
	k := e.keys
	return helpScreen{env: e, about: of.Title(), groups: []helpGroup{
		{"here", of.Keys()},
		{"moving", k.motions()},
		{"everywhere", append(k.Screens[:len(k.Screens):len(k.Screens)],
			k.NextScreen, k.PrevScreen, k.Palette, k.Pause, k.ReadNow, k.Help, k.Back, k.Quit, k.ForceQuit)},
	}}
}

func (h helpScreen) Init() tea.Cmd { return nil }

func (h helpScreen) Update(msg tea.Msg) (screen, tea.Cmd) {
	if msg, ok := msg.(tea.KeyMsg); ok && is(msg, h.env.keys.Help) {
		return h, pop
	}
	return h, nil
}

func (h helpScreen) Title() string { return "help" }

func (h helpScreen) Typing() bool { return false }

// Keys makes a second "?" close the help.
func (h helpScreen) Keys() []key.Binding { return []key.Binding{describe(h.env.keys.Help, "close")} }

func (h helpScreen) View(width, height int) string {
	s := h.env.styles
	columns := make([][]string, len(h.groups))
	for i, g := range h.groups {
		name := g.name
		if i == 0 {
			name = "on " + h.about
		}
		columns[i] = []string{s.Title.Render(name), ""}
		for _, b := range g.bindings {
			if b.Enabled() {
				columns[i] = append(columns[i], s.Accent.Render(fit(b.Help().Key, 10, false, false))+" "+b.Help().Desc)
			}
		}
	}
	each := (width - 3) / len(columns)
	lines := []string{""}
	for y := 0; ; y++ {
		var b strings.Builder
		some := false
		for _, c := range columns {
			text := ""
			if y < len(c) {
				text, some = c[y], true
			}
			b.WriteString(pad(ansi.Truncate(text, each-2, "…"), each))
		}
		if !some {
			break
		}
		lines = append(lines, "   "+b.String())
	}
	lines = append(lines, "", "   "+s.Muted.Render("marks   ")+
		s.Danger.Render(markError)+" messages are or will be lost   "+s.Warning.Render(markWarning)+" risky   "+
		s.Accent.Render(markCursor)+" cursor   "+s.Chosen.Render(markChosen)+" selected   ? not known")
	return block(lines, width, height)
}
