package ui

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"dlxtop/ui/term"
)

// palette is the line for commands that ":" opens, with completion.
type palette struct {
	env   *env
	open  bool
	field term.TextField
	wrong string // what was entered and is no command
}

// command is something that the palette can do.
type command struct {
	name, does string
	run        func(a app) (tea.Model, tea.Cmd)
	takes      func(a app, argument string) (tea.Model, tea.Cmd) // instead of run, with what stands behind the name
}

func newPalette(e *env) palette { return palette{env: e, field: term.NewTextField("")} }

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
		{name: "flows", does: "what waits, moves, is stuck, failed", run: show(0)},
		{name: "queues", does: "all queues", run: show(1)},
		{name: "failed", does: "failed queues", run: show(2)},
		{name: "findings", does: "what is wrong or risky", run: show(3)},
		{name: "journal", does: "what was done", run: show(4)},
		{name: "undo", does: "the last action", run: func(a app) (tea.Model, tea.Cmd) { return a.undo() }},
		{
			name: "tap", does: "EXCHANGE: watch messages pass it",
			takes: func(a app, exchange string) (tea.Model, tea.Cmd) { return a.tapNamed(exchange) },
		},
		{
			name: "probe", does: "FLOW: send a marked message through it",
			takes: func(a app, flow string) (tea.Model, tea.Cmd) { return a.probeNamed(flow) },
		},
		{
			name: "help", does: "the keys",
			run: func(a app) (tea.Model, tea.Cmd) { return a.push(newHelpScreen(a.env, a.top())) },
		},
		{name: "pause", does: "stop or go on reading the broker", run: func(a app) (tea.Model, tea.Cmd) {
			cmd := a.poller.toggle(a.env)
			return a, cmd
		}},
		{name: "read", does: "read the broker again now", run: func(a app) (tea.Model, tea.Cmd) {
			cmd := a.poller.read(a.env)
			return a, cmd
		}},
		{name: "quit", does: "leave dlxtop", run: func(a app) (tea.Model, tea.Cmd) { return a, tea.Quit }},
	}
}

func (p palette) opened() palette {
	p.open, p.wrong = true, ""
	p.field.Set("")
	return p
}

// matching are the commands that begin with what is typed.
func (p palette) matching() []command {
	name, argument, more := strings.Cut(strings.TrimLeft(p.field.Text(), " "), " ")
	var found []command
	for _, c := range commands() {
		switch {
		case more && strings.TrimSpace(argument) != "" && (c.takes == nil || c.name != name):
		case strings.HasPrefix(c.name, name):
			if c.takes != nil {
				c.run = func(a app) (tea.Model, tea.Cmd) { return c.takes(a, strings.TrimSpace(argument)) }
			}
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
	case term.Is(msg, k.Abandon):
		p.open = false
	case term.Is(msg, k.Complete):
		if len(found) > 0 && !strings.Contains(strings.TrimSpace(p.field.Text()), " ") {
			p.field.Set(found[0].name)
			if found[0].takes != nil {
				p.field.Set(found[0].name + " ")
			}
		}
	case term.Is(msg, k.Accept):
		if strings.TrimSpace(p.field.Text()) == "" {
			p.open = false
			break
		}
		if len(found) == 0 {
			p.wrong = p.field.Text()
			break
		}
		p.open = false
		return p, found[0]
	default:
		p.wrong = ""
		p.field.Update(msg)
	}
	return p, command{}
}

// view is two lines: what is typed, and what it can become.
func (p palette) view(width int) []string {
	s := p.env.styles
	line := s.Accent.Render(" : ") + p.field.View(s, width-4)
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
	return []string{line, term.Cut(b.String(), width, "…")}
}
