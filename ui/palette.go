package ui

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
)

// palette is the line for commands that ":" opens, with completion.
type palette struct {
	env   *env
	open  bool
	field textField
	wrong string // what was entered and is no command
}

// command is something that the palette can do.
type command struct {
	name, does string
	run        func(a app) (tea.Model, tea.Cmd)
}

func newPalette(e *env) palette { return palette{env: e, field: newTextField("")} }

func commands() []command {
	show := func(i int) func(app) (tea.Model, tea.Cmd) {
		return func(a app) (tea.Model, tea.Cmd) {
			var cmd tea.Cmd
			if i != a.tab {
				a, cmd = a.show(i)
			}
			a, _ = a.show(i) // of the tab itself, not of what was opened from it
			return a, cmd
		}
	}
	return []command{
		{"flows", "what waits, moves, is stuck, failed", show(0)},
		{"queues", "all queues", show(1)},
		{"failed", "failed queues", show(2)},
		{"findings", "what is wrong or risky", show(3)},
		{"journal", "what was done", show(4)},
		{"undo", "the last action", func(a app) (tea.Model, tea.Cmd) { return a.undo() }},
		{"help", "the keys", func(a app) (tea.Model, tea.Cmd) { return a.push(newHelpScreen(a.env, a.top())) }},
		{"pause", "stop or go on reading the broker", func(a app) (tea.Model, tea.Cmd) {
			cmd := a.poller.pause(a.env)
			return a, cmd
		}},
		{"read", "read the broker again now", func(a app) (tea.Model, tea.Cmd) {
			cmd := a.poller.read(a.env)
			return a, cmd
		}},
		{"quit", "leave dlxtop", func(a app) (tea.Model, tea.Cmd) { return a, tea.Quit }},
	}
}

func (p palette) opened() palette {
	p.open, p.wrong = true, ""
	p.field.set("")
	return p
}

// matching are the commands that begin with what is typed.
func (p palette) matching() []command {
	var found []command
	for _, c := range commands() {
		if strings.HasPrefix(c.name, strings.TrimSpace(p.field.text())) {
			found = append(found, c)
		}
	}
	return found
}

// handle takes a key while the palette is open. A command with run is to be run.
func (p palette) handle(msg tea.KeyMsg) (palette, command) {
	k := p.env.keys
	found := p.matching()
	switch {
	case is(msg, k.Abandon):
		p.open = false
	case is(msg, k.Complete):
		if len(found) > 0 {
			p.field.set(found[0].name)
		}
	case is(msg, k.Accept):
		if strings.TrimSpace(p.field.text()) == "" {
			p.open = false
			break
		}
		if len(found) == 0 {
			p.wrong = p.field.text()
			break
		}
		p.open = false
		return p, found[0]
	default:
		p.wrong = ""
		p.field.update(msg)
	}
	return p, command{}
}

// view is two lines: what is typed, and what it can become.
func (p palette) view(width int) []string {
	s := p.env.styles
	line := s.Accent.Render(" : ") + p.field.view(s, width-4)
	var b strings.Builder
	found := p.matching()
	for i, c := range found {
		item := s.Accent.Render(c.name) + " " + s.Muted.Render(c.does)
		if i > 0 {
			item = s.Text.Render(c.name)
		}
		b.WriteString("   " + item)
	}
	if len(found) == 0 {
		b.WriteString("   " + s.Danger.Render("! no such command") + "  esc closes")
	}
	return []string{line, ansi.Truncate(b.String(), width, "…")}
}
