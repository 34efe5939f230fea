package ui

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/causes"
	"github.com/dlxtop/dlxtop/ui/flows"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
	"github.com/dlxtop/dlxtop/ui/trace"
)

// numbered are the screens of the tabs, in the order of shell.Tabs. A new one is a line here, and a name there.
var numbered = [...]struct {
	does  string
	open  func(e *shell.Env) shell.Screen
	count func(latest shell.TopologyMsg) (n int64, mark string) // after the name of its tab; nil: no count
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

func countFindings(latest shell.TopologyMsg) (n int64, mark string) {
	if len(latest.Findings) == 0 {
		return 0, ""
	}
	return int64(len(latest.Findings)), shell.LevelMark(latest.Findings[0].Level)
}

type effect func(a *app) tea.Cmd

// command is something that the dashboard does on every screen: by its key, by its name in the palette, or by both.
type command struct {
	key         key.Binding // zero: only the palette has it
	name, short string      // "": only the key has it
	does        string
	run         effect // nil: it needs an argument
	pressed     effect // what the key does, if that is something else

	word    string // the kind of argument: "queue"; "": none
	offline bool   // it works before the broker was read
	names   func(a *app) []name
	open    func(a *app, n name) tea.Cmd
	// text runs it with any text as argument, if it has no names; the error is one sentence
	text func(e *shell.Env, text string) (effect, error)
}

func findIn(e *shell.Env, text string) (effect, error) {
	filter, err := e.Filters.Filter(text)
	if err != nil {
		return nil, err
	}
	return func(a *app) tea.Cmd { return a.push(messages.NewFindScreen(a.Env, text, filter)) }, nil
}

// showAlone shows a tab without what was opened from it.
func showAlone(i int) effect {
	return func(a *app) tea.Cmd {
		var cmd tea.Cmd
		if i != a.tab {
			cmd = a.show(i)
		}
		a.show(i)
		return cmd
	}
}

// commands returns all of them, first the numbered screens.
func commands() (all []command) {
	turn := func(by int) effect {
		return func(a *app) tea.Cmd { return a.show((a.tab + by + len(a.tabs)) % len(a.tabs)) }
	}

	for i, screen := range numbered {
		show := func(a *app) tea.Cmd { return a.show(i) }
		all = append(all, command{
			key: shell.Screens[i], name: shell.Tabs[i], does: screen.does, run: showAlone(i), pressed: show,
		})
	}

	return append(all, []command{
		{key: press.NextScreen, does: "next screen", run: turn(1)},
		{key: press.PrevScreen, does: "previous screen", run: turn(-1)},
		{
			key:  press.Palette,
			does: "a command, or a flow or queue by a part of its name; the line completes them", run: (*app).openPalette,
		},
		{
			name: "flow", does: "open a flow", run: showAlone(0), word: "flow", names: (*app).flowNames,
			open: opens("flow", (*app).flowNames, flows.NewFlowScreen),
		},
		{
			name: "queue", does: "open the messages of a queue", run: showAlone(1), word: "queue", names: (*app).queueNames,
			open: opens("queue", (*app).queueNames, messages.NewScreen),
		},
		{name: "find", does: "a text, or = and an expression, in all queues", word: "text", text: findIn},
		{
			name: "tap", does: "watch messages pass an exchange", run: (*app).tapHere, word: "exchange",
			names: (*app).exchangeNames, open: openTap,
		},

		{key: press.Undo, name: "undo", does: "undo the last action", run: (*app).undo},
		{key: press.Pause, name: "pause", does: "stop reading the broker; read it again", run: (*app).pause},
		{key: press.ReadNow, name: "read", does: "read the broker again now", run: (*app).read},
		{key: press.Help, name: "help", does: "help: the keys of this screen", run: (*app).help},
		{key: press.Back, does: "back", run: (*app).back},
		{
			key: press.Last, name: "last", does: "the screen seen before this one, as with `cd -`; twice: this one again",
			run: (*app).last,
		},

		{
			name: "jobs", does: "what runs in the background, and what ran there",
			run: func(a *app) tea.Cmd {
				if _, here := a.top().(*act.JobsScreen); here {
					return nil
				}
				return a.push(act.NewJobsScreen(a.Env))
			},
		},
		{name: "columns", does: "hide and show columns of this list", run: (*app).columns},
		{
			name: "snapshot", does: "write this screen into a new file, as text; FILE.ansi has the colours",
			word: "file", text: snapshotInto,
		},
		{
			name: "theme", does: "other colours, until you leave", word: "theme", offline: true, names: (*app).themeNames,
			open: func(a *app, n name) tea.Cmd {
				dress(a.Env, term.Theme(n.Name))
				return nil
			},
		},

		{key: press.Quit, does: "back; on the first screen of a tab it quits", run: (*app).quit},
		{
			key: press.ForceQuit, name: "quit", short: "q", run: (*app).forceQuit,
			does: "quit, with the terminal restored; it only asks where jobs run",
		},
		{
			key: press.Suspend, does: "suspend; `fg` continues and reads the broker again", run: (*app).suspendByKey,
		},
		{
			name: "context", does: "go to another broker", word: "context", offline: true,
			names: func(a *app) []name { return offlineNames(a.Contexts, a.Title) }, open: (*app).goToContext,
		},
	}...)
}

// sharedKeys returns the keys of the commands.
func sharedKeys() (keys []term.Key) {
	for _, c := range commands() {
		if len(c.key.Keys()) > 0 {
			keys = append(keys, term.Key{Binding: c.key, Does: c.does})
		}
	}
	return keys
}

// name is something that can be named, of any bytes. shown is what is drawn and typed.
type name struct {
	model.QueueRef
	shown, in string // printable; in says where it is if there are several vhosts
}

// opens opens the screen of the named object, unless it was deleted since it was offered.
func opens(
	what string, names func(a *app) []name, screen func(e *shell.Env, ref model.QueueRef) shell.Screen,
) func(*app, name) tea.Cmd {
	return func(a *app, n name) tea.Cmd {
		if !slices.ContainsFunc(names(a), func(now name) bool { return now.QueueRef == n.QueueRef }) {
			return a.refuse("there is no " + what + " " + n.shown + " any more")
		}
		return a.push(screen(a.Env, n.QueueRef))
	}
}

func openTap(a *app, n name) tea.Cmd {
	return a.push(trace.TapExchange(a.Env, a.latest.Topology, model.ExchangeRef(n.QueueRef)))
}

func (a *app) flowNames() []name {
	return a.namesOf(len(a.latest.Flows), func(i int) model.QueueRef { return a.latest.Flows[i].Worker.Queue })
}

func (a *app) queueNames() []name {
	queues := a.latest.Topology.Snapshot.Queues
	return a.namesOf(len(queues), func(i int) model.QueueRef { return queues[i].QueueRef })
}

func (a *app) exchangeNames() []name {
	exchanges := a.latest.Topology.Snapshot.Exchanges
	return slices.DeleteFunc(a.namesOf(len(exchanges), func(i int) model.QueueRef {
		return model.QueueRef{VHost: exchanges[i].VHost, Name: exchanges[i].Name}
	}), func(n name) bool { return n.Name == "" }) // RabbitMQ allows no bindings to the default exchange
}

func (a *app) themeNames() []name {
	return offlineNames(append(term.Themes(), slices.Sorted(maps.Keys(a.OwnThemes))...), a.Theme)
}

// offlineNames returns names that are known without a broker.
func offlineNames[S ~string](texts []S, this S) []name {
	names := make([]name, len(texts))
	for i, text := range texts {
		names[i] = name{QueueRef: model.QueueRef{Name: string(text)}, shown: model.Printable(string(text))}
		if text == this {
			names[i].in = "this one"
		}
	}

	return names
}

// goToContext ends the program, which then restarts with another broker, unless something is running.
func (a *app) goToContext(n name) tea.Cmd {
	if n.Name == a.Title {
		a.notice = shell.NoticeMsg{Text: "this is " + n.shown}
		return nil
	}

	if runs := a.running(); runs != "" {
		return a.refuse(fmt.Sprintf("not left for %s: %s would be stopped; wait for the end, or stop it", n.shown, runs))
	}

	a.next = n.Name
	return tea.Quit
}

func (a *app) namesOf(n int, at func(i int) model.QueueRef) []name {
	several := len(a.latest.Topology.Snapshot.VHosts) > 1
	names := make([]name, n)
	for i := range names {
		ref := at(i)
		names[i] = name{QueueRef: ref, shown: ref.Printable()}
		if several {
			names[i].in = "vhost " + model.Printable(ref.VHost)
		}
	}

	slices.SortStableFunc(names, term.By(func(n name) string { return n.shown }))
	return names
}

// How well a name matches the typed text, best first.
const (
	same = iota
	begins
	contains
	scattered // its letters occur in the name, in order
	differs
)

// nearness returns how well a name matches the typed text. lower is that in lower case.
func (n *name) nearness(typed, lower string) int {
	if n.shown == typed || n.Name == typed || n.VHost+"/"+n.Name == typed {
		return same
	}
	return nearness(strings.ToLower(n.shown), lower)
}

func nearness(text, typed string) int {
	switch at := strings.Index(text, typed); {
	case at == 0:
		return begins
	case at > 0:
		return contains
	}

	for _, r := range typed {
		at := strings.IndexRune(text, r)
		if at < 0 {
			return differs
		}
		text = text[at+utf8.RuneLen(r):]
	}

	return scattered
}

const mostNames = 50 // how many names are offered at once: with more, the user types on

// nearest returns the best matches, and the number of all matches.
func nearest(names []name, typed string) (found []name, all int) {
	lower := strings.ToLower(typed)
	var by [differs][]name
	for i := range names {
		rank := names[i].nearness(typed, lower)
		if rank == differs {
			continue
		}
		all++
		if len(by[rank]) < mostNames {
			by[rank] = append(by[rank], names[i])
		}
	}

	for _, some := range by {
		found = append(found, some...)
	}

	return found[:min(len(found), mostNames)], all
}
