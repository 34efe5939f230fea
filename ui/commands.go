package ui

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/causes"
	"github.com/dlxtop/dlxtop/ui/flows"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
	"github.com/dlxtop/dlxtop/ui/trace"
)

// numbered are the screens of the tabs, in the order of shell.Tabs. A further one is a line here, and a name there.
var numbered = [...]struct {
	does  string // its command
	open  func(e *shell.Env) shell.Screen
	count func(latest shell.TopologyMsg) (n int64, mark string) // behind the name of its tab; nil: nothing is counted
}{
	{does: "what waits, moves, is stuck, failed", open: flows.NewFlowsScreen},
	{does: "all queues", open: causes.NewQueuesScreen},
	{
		does:  "what failed and why, and the failed queues",
		open:  func(e *shell.Env) shell.Screen { return causes.NewFailedScreen(e, model.QueueRef{}) },
		count: func(latest shell.TopologyMsg) (int64, string) { return latest.Failed, term.MarkError },
	},
	{does: "what is wrong or risky", open: flows.NewFindingsScreen, count: countFindings},
	{does: "what was done", open: act.NewJournalScreen},
}

// countFindings counts the findings; the worst is the first.
func countFindings(latest shell.TopologyMsg) (n int64, mark string) {
	if len(latest.Findings) == 0 {
		return 0, ""
	}
	return int64(len(latest.Findings)), shell.LevelMark(latest.Findings[0].Level)
}

// effect is what a command does.
type effect func(a app) (app, tea.Cmd)

// command is something that the palette can do by its name.
type command struct {
	name, does string
	short      string // its name, too
	run        effect // nil: something has to stand behind its name

	word    string // what stands there: "queue"; "": nothing
	offline bool   // it is known before the broker was read
	names   func(a app) []name
	open    func(a app, n name) (app, tea.Cmd)
	// text does it with any text, where it has no names; the error is why it cannot, in one sentence
	text func(e *shell.Env, text string) (effect, error)
}

// findIn looks for a text in all queues.
func findIn(e *shell.Env, text string) (effect, error) {
	filter, err := e.Filters.Filter(text)
	if err != nil {
		return nil, err
	}
	return func(a app) (app, tea.Cmd) { return a.push(messages.NewFindScreen(a.env, text, filter)) }, nil
}

// showAlone shows a tab without what was opened from it.
func showAlone(i int) effect {
	return func(a app) (app, tea.Cmd) {
		var cmd tea.Cmd
		if i != a.tab {
			a, cmd = a.show(i)
		}
		a, _ = a.show(i)
		return a, cmd
	}
}

// commands are those that do something now, in the order in which they are offered.
func commands(a app) []command {
	all := allCommands(a)
	if len(a.env.Contexts) == 0 {
		all = all[:len(all)-1]
	}
	return all
}

func allCommands(a app) (all []command) {
	for i, screen := range numbered {
		all = append(all, command{name: a.env.Keys.Screens[i].Help().Desc, does: screen.does, run: showAlone(i)})
	}
	return append(all, []command{
		{
			name: "flow", does: "open a flow", run: showAlone(0), word: "flow", names: app.flowNames,
			open: opens("flow", app.hasFlow, flows.NewFlowScreen),
		},
		{
			name: "queue", does: "open the messages of a queue", run: showAlone(1), word: "queue", names: app.queueNames,
			open: opens("queue", app.hasQueue, messages.NewScreen),
		},
		{name: "find", does: "a text, or = and an expression, in all queues", word: "text", text: findIn},
		{
			name: "tap", does: "watch messages pass an exchange", run: app.tapHere, word: "exchange",
			names: app.exchangeNames, open: openTap,
		},
		{
			name: "probe", does: "send a marked message through a flow", run: app.probeHere, word: "flow",
			names: app.flowNames, open: opens("flow", app.hasFlow, trace.NewProbeScreen),
		},
		{name: "last", does: "the screen seen before this one", run: app.last},
		{name: "undo", does: "the last action", run: app.undo},
		{name: "help", does: "the keys", run: app.help},
		{name: "columns", does: "hide and show columns of this list", run: app.columns},
		{
			name: "snapshot", does: "write this screen into a new file, as text; FILE.ansi has the colours",
			word: "file", text: snapshotInto,
		},
		{
			name: "theme", does: "other colours, until you leave", word: "theme", offline: true, names: app.themeNames,
			open: app.changeTheme,
		},
		{name: "pause", does: "stop or resume reading the broker", run: app.pause},
		{name: "read", does: "read the broker again now", run: app.read},
		{name: "quit", short: "q", does: "leave dlxtop", run: func(a app) (app, tea.Cmd) { return a, tea.Quit }},
		{
			name: "context", does: "go to another broker", word: "context", offline: true, names: app.contextNames,
			open: app.goToContext,
		},
	}...)
}
