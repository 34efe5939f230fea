package ui

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/flows"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
	"github.com/dlxtop/dlxtop/ui/trace"
)

// nameKind is a kind of thing that commands take by name.
type nameKind struct {
	command, word string // "queue": as it is typed, and as it is called in a sentence
	offline       bool   // they are known before the broker was read
	all           func(a app) []name
	open          func(a app, n name) (tea.Model, tea.Cmd)
}

// name is one thing that can be named. shown is what is drawn and typed; vhost and name are the thing itself, of any
// bytes.
type name struct {
	vhost, name string
	shown, in   string // printable; in says where it is when there are several vhosts
}

func (n name) ref() model.QueueRef { return model.QueueRef{VHost: n.vhost, Name: n.name} }

var (
	flowNames = nameKind{
		command: "flow", word: "flow", all: func(a app) []name { return a.flowNames() },
		open: func(a app, n name) (tea.Model, tea.Cmd) {
			if !a.hasFlow(n.ref()) {
				return a.gone("flow", n)
			}
			return a.push(flows.NewFlowScreen(a.env, n.ref()))
		},
	}
	queueNames = nameKind{
		command: "queue", word: "queue",
		all: func(a app) []name {
			queues := a.latest.Topology.Snapshot.Queues
			return a.namesOf(len(queues), func(i int) model.QueueRef { return queues[i].QueueRef })
		},
		open: func(a app, n name) (tea.Model, tea.Cmd) {
			if _, ok := a.latest.Topology.Queue(n.ref()); !ok {
				return a.gone("queue", n)
			}
			return a.push(messages.NewScreen(a.env, n.ref()))
		},
	}
	exchangeNames = nameKind{
		command: "tap", word: "exchange",
		all: func(a app) []name {
			exchanges := a.latest.Topology.Snapshot.Exchanges
			return slices.DeleteFunc(a.namesOf(len(exchanges), func(i int) model.QueueRef {
				return model.QueueRef{VHost: exchanges[i].VHost, Name: exchanges[i].Name}
			}), func(n name) bool { return n.name == "" }) // RabbitMQ lets nothing be bound to the default exchange
		},
		open: func(a app, n name) (tea.Model, tea.Cmd) {
			if s, ok := trace.TapExchange(a.env, a.latest.Topology, model.ExchangeRef{VHost: n.vhost, Name: n.name}); ok {
				return a.push(s)
			}
			return a.gone("exchange", n)
		},
	}
	probeNames = nameKind{
		command: "probe", word: "flow", all: func(a app) []name { return a.flowNames() },
		open: func(a app, n name) (tea.Model, tea.Cmd) {
			if !a.hasFlow(n.ref()) {
				return a.gone("flow", n)
			}
			return a.push(trace.NewProbeScreen(a.env, n.ref()))
		},
	}
)

var contextNames = nameKind{
	command: "context", word: "context", offline: true,
	all: func(a app) []name {
		names := make([]name, len(a.env.Contexts))
		for i, c := range a.env.Contexts {
			if names[i] = (name{name: c, shown: model.Printable(c)}); c == a.env.Title {
				names[i].in = "this one"
			}
		}
		return names
	},
	open: func(a app, n name) (tea.Model, tea.Cmd) { return a.goToContext(n) },
}

var themeNames = nameKind{
	command: "theme", word: "theme", offline: true,
	all: func(a app) []name {
		var names []name
		for _, theme := range append(term.Themes(), slices.Sorted(maps.Keys(a.env.OwnThemes))...) {
			n := name{name: string(theme), shown: string(theme)}
			if theme == a.env.Theme {
				n.in = "this one"
			}
			names = append(names, n)
		}
		return names
	},
	open: func(a app, n name) (tea.Model, tea.Cmd) { return a.dressed(term.Theme(n.name)) },
}

// goToContext ends the program, which then begins with another broker, unless something runs here.
func (a app) goToContext(n name) (tea.Model, tea.Cmd) {
	if n.name == a.env.Title {
		a.notice = shell.NoticeMsg{Text: "this is " + n.shown}
		return a, nil
	}
	for _, t := range a.tabs {
		for _, page := range t.stack {
			if isBusy(page.Screen) {
				a.notice = shell.NoticeMsg{Bad: true, Text: fmt.Sprintf("not left for %s: what runs on %s would be stopped; "+
					"wait for its end, or stop it with %s", n.shown, page.Screen.Title(), a.env.Keys.ForceQuit.Help().Key)}
				return a, nil
			}
		}
	}
	a.next = n.name
	return a, tea.Quit
}

func (a app) flowNames() []name {
	return a.namesOf(len(a.latest.Flows), func(i int) model.QueueRef { return a.latest.Flows[i].Worker.Queue })
}

func (a app) hasFlow(ref model.QueueRef) bool {
	return slices.ContainsFunc(a.latest.Flows, func(f model.Flow) bool { return f.Worker.Queue == ref })
}

// namesOf are the names of n objects of the broker, by what is shown.
func (a app) namesOf(n int, at func(i int) model.QueueRef) []name {
	several := len(a.latest.Topology.Snapshot.VHosts) > 1
	names := make([]name, n)
	for i := range names {
		ref := at(i)
		names[i] = name{vhost: ref.VHost, name: ref.Name, shown: model.Printable(ref.String())}
		if several {
			names[i].in = "vhost " + model.Printable(ref.VHost)
		}
	}
	slices.SortStableFunc(names, func(a, b name) int { return cmp.Compare(a.shown, b.shown) })
	return names
}

// gone says that something was deleted since it was offered.
func (a app) gone(what string, n name) (tea.Model, tea.Cmd) {
	a.notice = shell.NoticeMsg{Text: "there is no " + what + " " + n.shown + " any more", Bad: true}
	return a, nil
}

// How well a name matches what was typed, the best first.
const (
	same = iota
	begins
	contains
	scattered // its letters are in the name, in their order
	differs
)

// nearness says how well a name matches what was typed. lower is that in lower case.
func (n *name) nearness(typed, lower string) int {
	if n.shown == typed || n.name == typed || n.vhost+"/"+n.name == typed {
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

// mostNames bounds how many names are offered at once: who sees more than a few types on.
const mostNames = 50

// nearest are the names that match best, and how many match at all.
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
