package ui

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// effect is what a command does.
type effect func(a app) (tea.Model, tea.Cmd)

// command is something that the palette can do by its name.
type command struct {
	name, does string
	short      string    // its name, too
	run        effect    // nil: it needs a name behind its own
	names      *nameKind // what may stand behind its name; nil: nothing
	takes      *textKind // the same of any text
}

// textKind is a text that a command takes.
type textKind struct {
	word string // what it is called: "text"
	// open does it; the error is why the text cannot be taken, in one sentence
	open func(e *shell.Env, text string) (effect, error)
}

// findText is what is looked for in all queues.
var findText = textKind{word: "text", open: func(e *shell.Env, text string) (effect, error) {
	filter, err := e.Filters.Filter(text)
	if err != nil {
		return nil, err
	}
	return func(a app) (tea.Model, tea.Cmd) { return a.push(messages.NewFindScreen(a.env, text, filter)) }, nil
}}

// commands are those that do something now, in the order in which they are offered.
func commands(a app) []command {
	show := func(i int) effect {
		return func(a app) (tea.Model, tea.Cmd) {
			var cmd tea.Cmd
			if i != a.tab {
				a, cmd = a.show(i)
			}
			a, _ = a.show(i) // of the tab itself, not of what was opened from it
			return a, cmd
		}
	}
	all := []command{
		{name: "flows", does: "what waits, moves, is stuck, failed", run: show(0)},
		{name: "queues", does: "all queues", run: show(1)},
		{name: "failed", does: "what failed and why, and the failed queues", run: show(2)},
		{name: "findings", does: "what is wrong or risky", run: show(3)},
		{name: "journal", does: "what was done", run: show(4)},
		{name: "flow", does: "open a flow", run: show(0), names: &flowNames},
		{name: "queue", does: "open the messages of a queue", run: show(1), names: &queueNames},
		{name: "find", does: "a text, or = and an expression, in all queues", takes: &findText},
		{
			name: "tap", does: "watch messages pass an exchange",
			run: func(a app) (tea.Model, tea.Cmd) { return a.tapHere() }, names: &exchangeNames,
		},
		{
			name: "probe", does: "send a marked message through a flow",
			run: func(a app) (tea.Model, tea.Cmd) { return a.probeHere() }, names: &probeNames,
		},
		{
			name: "last", does: "the screen seen before this one",
			run: func(a app) (tea.Model, tea.Cmd) { return a.last() },
		},
		{name: "undo", does: "the last action", run: func(a app) (tea.Model, tea.Cmd) { return a.undo() }},
		{
			name: "help", does: "the keys",
			run: func(a app) (tea.Model, tea.Cmd) { return a.push(newHelpScreen(a.env, a.top())) },
		},
		{
			name: "columns", does: "hide and show columns of this list",
			run: func(a app) (tea.Model, tea.Cmd) { return a.columns() },
		},
		{
			name: "snapshot", does: "write this screen into a new file, as text; FILE.ansi has the colours",
			takes: &snapshotFile,
		},
		{name: "theme", does: "other colours, until you leave", names: &themeNames},
		{name: "pause", does: "stop or resume reading the broker", run: func(a app) (tea.Model, tea.Cmd) {
			cmd := a.poller.toggle(a.env)
			return a, cmd
		}},
		{name: "read", does: "read the broker again now", run: func(a app) (tea.Model, tea.Cmd) {
			cmd := a.poller.read(a.env)
			return a, cmd
		}},
		{name: "quit", short: "q", does: "leave dlxtop", run: func(a app) (tea.Model, tea.Cmd) { return a, tea.Quit }},
	}
	if len(a.env.Contexts) > 0 {
		all = append(all, command{name: "context", does: "go to another broker", names: &contextNames})
	}
	return all
}
