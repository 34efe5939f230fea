package ui

import (
	"cmp"
	"context"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/picture"
	"github.com/dlxtop/dlxtop/ui/term"
)

// app is the root: it measures, polls, keeps a stack of screens for each tab, and gives keys and messages to whom they
// concern.
type app struct {
	env           *env
	vhost         string
	width, height int

	poller   poller
	counters [2]counter
	counts   []model.Counts // that are newer than the poll, the newest last
	history  *history
	looks    *looks
	latest   topologyMsg // zero before the first answer

	tabs       [5]tab
	tab        int
	trail      []place // screens that were seen, the latest last
	palette    palette
	notice     noticeMsg
	saidUnkept bool   // that choices cannot be kept
	next       string // the context to go to when the program has ended
}

func newApp(ctx context.Context, o Options) app {
	e := &env{
		source: o.Source, journal: o.Journal, files: o.Files,
		editor: o.Editor, styles: &term.Styles{Plain: o.Plain}, keys: newKeyMap(), now: o.Now,
		dotStep: cmp.Or(o.dotStep, picture.DotStep),
		schemas: o.Schemas,
		mouse:   o.Mouse, filters: o.Filters, actions: o.Actions, keeper: &keeper{file: o.Kept}, index: o.Index,
		title: o.Title, contexts: o.Contexts, readOnly: o.ReadOnly, production: o.Production,
		work: newWork(ctx), requests: &atomic.Int64{},
		profile: termenv.Ascii, acting: map[model.QueueRef]bool{},
	}
	e.marks, e.quiet = newCauseMarks(e, o.Marks), &quietLooks{looker: o.Broker}
	if o.Broker != nil {
		e.broker = wantedBroker{o.Broker, e.quiet}
	}
	dress(e, cmp.Or(term.Theme(o.Theme), term.Auto))
	e.reread = rereading(e)
	if e.now == nil {
		e.now = time.Now
	}
	e.shown = e.now()
	if o.Interval <= 0 {
		o.Interval = defaultInterval
	}
	looks := newLooks()
	first := func(s screen) []page { return []page{e.newPage(s)} }
	return app{
		env: e, vhost: o.VHost,
		poller:   newPoller(o, looks),
		counters: newCounters(o),
		history:  newHistory(), looks: looks,
		palette: newPalette(e), notice: noticeMsg{text: o.Trouble, bad: true},
		tabs: [5]tab{
			{name: "Flows", stack: first(newFlowsScreen(e))},
			{name: "Queues", stack: first(newQueuesScreen(e))},
			{name: "Failed", stack: first(newFailedScreen(e, model.QueueRef{}))},
			{name: "Findings", stack: first(newFindingsScreen(e))},
			{name: "Journal", stack: first(newJournalScreen(e))},
		},
	}
}

// rereading reads the topology apart from the polls. What they have seen is remembered.
func rereading(e *env) plan.Reread {
	return func(ctx context.Context) (*model.Topology, error) {
		snapshot, err := e.source.Current(ctx)
		if err != nil {
			return nil, err
		}
		polled := e.polled.Load()
		if polled != nil {
			snapshot.Seen = polled.Snapshot.Seen
		}
		return polled.Next(snapshot), nil
	}
}

// clockMsg redraws the header each second: the time, and the age of what is shown.
type clockMsg struct{}

func tick() tea.Cmd { return tea.Every(time.Second, func(time.Time) tea.Msg { return clockMsg{} }) }

// startMsg starts the first poll from Update, where the poller's state is kept.
type startMsg struct{}

// Init is the first command of the program.
func (a app) Init() tea.Cmd {
	cmds := []tea.Cmd{
		tick(), func() tea.Msg { return startMsg{} }, awaitLoss(a.env), tellUnfinished(a.env), a.env.loadChoices(),
		askBackground(a.env),
	}
	for _, t := range a.tabs {
		cmds = append(cmds, t.stack[0].asked(t.stack[0].Init()))
	}
	return tea.Batch(cmds...)
}

// Update is the program's one place where messages arrive. Whatever came: what is seen then is counted and prepared.
func (a app) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	a.env.shown = a.env.now()
	m, cmd := a.update(msg)
	next := m.(app).trailed(a)
	switch msg.(type) {
	case polledMsg, answerMsg:
		next.palette = next.palette.refreshed(next)
	}
	count := next.count()
	next, read := next.prepared()
	return next, tea.Batch(cmd, count, read)
}

func (a app) update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		a.width, a.height = msg.Width, msg.Height
		if a.env.styles.Plain {
			a.width = min(a.width, term.PlainWidth)
		}
		return a, nil
	case tea.KeyMsg:
		return a.handleKeys(msg)
	case tea.MouseMsg:
		return a.handleMouse(msg)
	case clockMsg:
		// Killed alone, a parent leaves its terminal to a shell that is not asked to share it. A terminal that closes
		// sends SIGHUP to the leader of its session alone, which may be make, and make waits.
		if a.env.parent != 0 && os.Getppid() != a.env.parent || a.env.screen.gone() {
			return a, tea.Quit
		}
		return a, tick()
	case startMsg:
		cmd := a.poller.read(a.env)
		return a, cmd
	case pollDueMsg:
		cmd := a.poller.due(msg, a.env)
		return a, cmd
	case backgroundMsg:
		return a.background(msg)
	case polledMsg:
		return a.polled(msg)
	case answerMsg:
		return a.answer(msg)
	case lendMsg:
		return a, tea.Exec(msg.program, a.withMouse(msg.over))
	case lostMsg:
		cmd := a.poller.lost(msg.why, a.env)
		return a, tea.Batch(cmd, awaitLoss(a.env))
	case countDueMsg:
		return a.countDue(msg), nil
	case countedMsg:
		return a.counted(msg)
	case choicesMsg:
		return a.chosen(msg.choices)
	case unkeptMsg:
		return a.unkept(msg.err), nil
	case hideMsg:
		cmd := a.hide(msg)
		return a, tea.Batch(cmd, a.env.keep(func(c *keptChoices) { c.hide(msg) }))
	case pushMsg:
		return a.push(msg.screen)
	case popMsg:
		return a.popped(msg), nil
	case noticeMsg:
		a.notice = msg
		return a, nil
	case suspendMsg:
		return a.suspend(false)
	case continuedMsg:
		return a.suspend(true)
	case resumedMsg: // what is on the screen is as old as the time away
		cmd := a.poller.read(a.env)
		return a, cmd
	}
	return a, nil
}

// polled keeps the answer to a poll and shows it to the tab that is seen.
func (a app) polled(msg polledMsg) (tea.Model, tea.Cmd) {
	ok, wait := a.poller.answered(msg, a.env)
	if !ok {
		return a, wait
	}
	a.history.record(a.env.now(), msg.topology.topology, msg.topology.flows, msg.topology.moves)
	a.latest = msg.topology
	a.latest.topology = a.latest.topology.Counted(a.counts)
	a.env.polled.Store(msg.topology.topology)
	a.latest.history, a.latest.looks = a.history, a.looks
	t := a.latest.topology
	a.latest.failed = sumOf(failedRefs(a.latest, model.QueueRef{}), func(ref model.QueueRef) model.Opt[int64] {
		return readyOf(t, ref)
	}).Or(0)
	cmd := a.refresh()
	a.rest()
	return a, tea.Batch(wait, cmd)
}

func (a app) top() screen {
	stack := a.tabs[a.tab].stack
	return stack[len(stack)-1].screen
}

func (a app) push(s screen) (tea.Model, tea.Cmd) {
	var first tea.Cmd
	p := a.env.newPage(s)
	if a.latest.topology != nil {
		p, first = p.takes(a.latest)
	}
	t := &a.tabs[a.tab]
	t.stack = append(t.stack[:len(t.stack):len(t.stack)], p)
	return a, tea.Batch(first, p.asked(p.Init()))
}

// back closes the top screen; the tab's own screen stays.
func (a app) back() app {
	t := &a.tabs[a.tab]
	if len(t.stack) > 1 {
		t.drop(len(t.stack) - 1)
	}
	return a
}

// popped closes the screen that asked for it, whichever tab that is on. It may be closed already, or covered: two keys
// that are read at once both ask for it.
func (a app) popped(msg popMsg) app {
	for i := range a.tabs {
		t := &a.tabs[i]
		if top := len(t.stack) - 1; top > 0 && t.stack[top].number == msg.page {
			t.drop(top)
		}
	}
	return a
}

// handleKeys takes apart what was typed faster than it was read: the terminal then delivers several keys as one.
func (a app) handleKeys(msg tea.KeyMsg) (tea.Model, tea.Cmd) {
	if msg.Type != tea.KeyRunes || len(msg.Runes) < 2 || msg.Paste {
		return a.handleKey(msg)
	}
	var cmds []tea.Cmd
	var m tea.Model = a
	for _, r := range msg.Runes {
		one := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: msg.Alt}
		if r == ' ' {
			one.Type = tea.KeySpace
		}
		var cmd tea.Cmd
		m, cmd = m.(app).handleKey(one)
		cmds = append(cmds, cmd)
	}
	return m, tea.Batch(cmds...)
}

// handleKey keeps the order: what takes text, the screen, everywhere.
func (a app) handleKey(msg tea.KeyMsg) (tea.Model, tea.Cmd) {
	k := a.env.keys
	a.notice = noticeMsg{}
	switch {
	case term.Is(msg, k.ForceQuit):
		if isBusy(a.top()) {
			return a.toScreen(msg) // it stops what runs; pressed again, the program ends
		}
		return a, tea.Quit
	case term.Is(msg, k.Suspend):
		return a.suspendByKey()
	case a.tooSmall():
		if term.Is(msg, k.Quit) {
			return a, tea.Quit
		}
		return a, nil // nobody sees what another key would do
	case a.palette.open:
		return a.commanded(msg)
	case msg.Paste && !a.top().Typing():
		return a, nil // a text that was pasted is not a row of commands
	case a.top().Typing() || key.Matches(msg, a.top().Keys()...):
		return a.toScreen(msg)
	}
	for i, b := range k.Screens {
		if term.Is(msg, b) {
			return a.show(i)
		}
	}
	switch {
	case term.Is(msg, k.NextScreen):
		return a.show((a.tab + 1) % len(a.tabs))
	case term.Is(msg, k.PrevScreen):
		return a.show((a.tab + len(a.tabs) - 1) % len(a.tabs))
	case term.Is(msg, k.Quit):
		if len(a.tabs[a.tab].stack) == 1 {
			return a, tea.Quit
		}
		return a.back(), nil
	case term.Is(msg, k.Back):
		return a.back(), nil
	case term.Is(msg, k.Last):
		return a.last()
	case term.Is(msg, k.Undo):
		return a.undo()
	case term.Is(msg, k.Help):
		return a.push(newHelpScreen(a.env, a.top()))
	case term.Is(msg, k.Palette):
		a.palette = a.palette.opened(a)
		return a, nil
	case term.Is(msg, k.Pause):
		cmd := a.poller.toggle(a.env)
		return a, cmd
	case term.Is(msg, k.ReadNow):
		cmd := a.poller.read(a.env)
		if a.env.styles.Plain { // ages, too
			cmd = tea.Batch(cmd, tea.ClearScreen)
		}
		return a, cmd
	}
	return a.toScreen(msg)
}

func (a app) toScreen(msg tea.Msg) (tea.Model, tea.Cmd) {
	t := &a.tabs[a.tab]
	stack, top := slices.Clone(t.stack), len(t.stack)-1
	var cmd tea.Cmd
	stack[top], cmd = stack[top].takes(msg)
	t.stack = stack
	return a, cmd
}
