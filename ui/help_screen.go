package ui

import (
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/ui/term"
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
		{"moving", k.Motions()},
		{"everywhere", []key.Binding{
			term.Binding("1 … 5", "flows … journal", "1"), k.NextScreen, k.PrevScreen, k.Palette, k.Undo, k.Pause, k.ReadNow,
			k.Help, k.Back, k.Last, k.Quit, k.ForceQuit, k.Suspend,
		}},
	}}
}

func (h helpScreen) Init() tea.Cmd { return nil }

func (h helpScreen) Update(msg tea.Msg) (screen, tea.Cmd) {
	if msg, ok := msg.(tea.KeyMsg); ok && term.Is(msg, h.env.keys.Help) {
		return h, pop
	}
	return h, nil
}

func (h helpScreen) Title() string { return "help" }

func (h helpScreen) Typing() bool { return false }

// Keys makes a second "?" close the help.
func (h helpScreen) Keys() []key.Binding {
	return []key.Binding{term.Describe(h.env.keys.Help, "close")}
}

func (h helpScreen) View(width, height int) string {
	s := h.env.styles
	columns := make([][]string, len(h.groups))
	widths := make([]int, len(h.groups))
	for i, g := range h.groups {
		columns[i] = g.lines(s)
		for _, line := range columns[i] {
			widths[i] = max(widths[i], ansi.StringWidthWc(line))
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
			b.WriteString(term.Pad(text, widths[i]))
			if i < len(columns)-1 {
				b.WriteString(strings.Repeat(" ", between))
			}
		}
		lines = append(lines, b.String())
	}
	lines = append(lines, "", "   "+s.Danger.Render(term.MarkError)+" lost or will be   "+
		s.Warning.Render(term.MarkWarning)+" risky   "+
		s.Accent.Render(term.MarkCursor)+" cursor   "+s.Chosen.Render(term.MarkChosen)+" selected   "+
		s.Muted.Render("?")+" not known")
	return term.Block(lines, width, height)
}

// lines are the group's name and its keys, aligned.
func (g helpGroup) lines(s *term.Styles) []string {
	keys := 0
	for _, b := range g.bindings {
		keys = max(keys, ansi.StringWidthWc(b.Help().Key))
	}
	lines := []string{s.Title.Render(g.name), ""}
	for _, b := range g.bindings {
		if b.Enabled() {
			lines = append(lines, s.Accent.Render(term.Fit(b.Help().Key, keys, false, false))+"  "+b.Help().Desc)
		}
	}
	return lines
}
