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
	groups [3]helpGroup
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
	return helpScreen{env: e, groups: [3]helpGroup{
		{"on " + of.Title(), of.Keys()},
		{"moving", k.motions()},
		{"everywhere", append(k.Screens[:len(k.Screens):len(k.Screens)],
			k.NextScreen, k.PrevScreen, k.Palette, k.Undo, k.Pause, k.ReadNow, k.Help, k.Back, k.Quit, k.ForceQuit)},
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
	widths := make([]int, len(h.groups))
	for i, g := range h.groups {
		columns[i] = g.lines(s)
		for _, line := range columns[i] {
			widths[i] = max(widths[i], ansi.StringWidth(line))
		}
	}
	between := 8
	if width < 100 {
		between = 2
	}
	// The first group is the screen's own and has the longest words: it takes what the others leave.
	widths[0] = min(max(widths[0], 30), width-4-widths[1]-widths[2]-2*between)
	lines := []string{""}
	for y := range max(len(columns[0]), len(columns[1]), len(columns[2])) {
		var b strings.Builder
		b.WriteString("   ")
		for i, c := range columns {
			text := ""
			if y < len(c) {
				text = c[y]
			}
			b.WriteString(pad(text, widths[i]))
			if i < len(columns)-1 {
				b.WriteString(strings.Repeat(" ", between))
			}
		}
		lines = append(lines, b.String())
	}
	lines = append(lines, "", "   "+s.Danger.Render(markError)+" lost or will be   "+s.Warning.Render(markWarning)+" risky   "+
		s.Accent.Render(markCursor)+" cursor   "+s.Chosen.Render(markChosen)+" selected   "+s.Muted.Render("?")+" not known")
	return block(lines, width, height)
}

// lines are the group's name and its keys, aligned.
func (g helpGroup) lines(s *Styles) []string {
	keys := 0
	for _, b := range g.bindings {
		keys = max(keys, ansi.StringWidth(b.Help().Key))
	}
	lines := []string{s.Title.Render(g.name), ""}
	for _, b := range g.bindings {
		if b.Enabled() {
			lines = append(lines, s.Accent.Render(fit(b.Help().Key, keys, false, false))+"  "+b.Help().Desc)
		}
	}
	return lines
}
