package ui

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"dlxtop/model"
)

// Options say what the dashboard shows and how it may act.
type Options struct {
	Source     Source
	Broker     Broker
	Journal    Journal       // nil: what is done is not kept, and there is no undo
	Files      Files         // nil: nothing can be exported
	Editor     string        // the command that edits a file, as VISUAL or EDITOR have it; "" is vi or nano
	Title      string        // the context's name or the broker's host:port, for the header; never a password
	VHost      string        // "" is all of them
	Interval   time.Duration // between the end of a poll and the next one; 0 is 2 s
	ReadOnly   bool
	Production bool
	Now        func() time.Time // nil: time.Now
}

// New makes the dashboard as a Bubble Tea model. Its commands run until their deadlines; Run also ends them with the program.
func New(o Options) tea.Model { return newApp(context.Background(), o) }

// Run shows the dashboard on this terminal until the user quits or ctx ends, and restores the terminal. It returns when
// everything that it started has returned.
//
// Signals are the caller's, who ends ctx: Bubble Tea 1.3.10's own handler waits for ever for a program that ctx has just ended.
func Run(ctx context.Context, o Options) error {
	return run(newApp(ctx, o), tea.WithContext(ctx), tea.WithAltScreen(), tea.WithoutSignalHandler())
}

func run(a app, options ...tea.ProgramOption) error {
	_, err := tea.NewProgram(a, options...).Run()
	a.env.work.end()
	if errors.Is(err, tea.ErrProgramKilled) && errors.Is(err, context.Canceled) || errors.Is(err, tea.ErrInterrupted) {
		return nil // it was asked to end
	}
	return err
}

// app is the root: it measures, polls, keeps a stack of screens for each tab, and gives keys and messages to whom they concern.
type app struct {
	env           *env
	vhost         string
	width, height int

	poller   poller
	counters [2]counter
	history  *history
	looks    *looks
	latest   topologyMsg // zero before the first answer

	tabs    [5]tab
	tab     int
	palette palette
	notice  noticeMsg
}

// tab is one of the numbered screens with what was opened from it.
type tab struct {
	name  string
	stack []screen        // the last one is on top
	seen  *model.Topology // the newest that this stack was sent: a hidden tab gets the latest one when it is shown
}

func newApp(ctx context.Context, o Options) app {
	e := &env{
		broker: o.Broker, journal: o.Journal, files: o.Files, editor: o.Editor, styles: newStyles(colourWanted()), keys: newKeyMap(), now: o.Now,
		title: o.Title, readOnly: o.ReadOnly, production: o.Production,
		work: newWork(ctx), requests: &atomic.Int64{},
	}
	if e.now == nil {
		e.now = time.Now
	}
	if o.Interval <= 0 {
		o.Interval = defaultInterval
	}
	return app{
		env: e, vhost: o.VHost,
		poller:   newPoller(o),
		counters: newCounters(o),
		history:  newHistory(), looks: newLooks(),
		palette: newPalette(e),
		tabs: [5]tab{
			{name: "Flows", stack: []screen{newFlowsScreen(e)}},
			{name: "Queues", stack: []screen{newQueuesScreen(e)}},
			{name: "Failed", stack: []screen{newFailedScreen(e)}},
			{name: "Findings", stack: []screen{newFindingsScreen(e)}},
			{name: "Journal", stack: []screen{newJournalScreen(e)}},
		},
	}
}

// clockMsg redraws the header each second: the time, and the age of what is shown.
type clockMsg struct{}

func tick() tea.Cmd { return tea.Every(time.Second, func(time.Time) tea.Msg { return clockMsg{} }) }

// startMsg starts the first poll from Update, where the poller's state is kept.
type startMsg struct{}

// Init is the first command of the program.
func (a app) Init() tea.Cmd {
	cmds := []tea.Cmd{tick(), func() tea.Msg { return startMsg{} }, tellUnfinished(a.env)}
	for _, t := range a.tabs {
		cmds = append(cmds, t.stack[0].Init())
	}
	return tea.Batch(cmds...)
}

// Update is the program's one place where messages arrive. Whatever came: what is seen then is counted.
func (a app) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	m, cmd := a.update(msg)
	next := m.(app)
	if count := next.count(); count != nil {
		cmd = tea.Batch(cmd, count)
	}
	return next, cmd
}

func (a app) update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		a.width, a.height = msg.Width, msg.Height
		return a, nil
	case tea.KeyMsg:
		return a.handleKeys(msg)
	case clockMsg:
		return a, tick()
	case startMsg:
		cmd := a.poller.read(a.env)
		return a, cmd
	case pollDueMsg:
		cmd := a.poller.due(msg, a.env)
		return a, cmd
	case polledMsg:
		return a.polled(msg)
	case peekedMsg:
		if msg.err == nil {
			a.looks.remember(msg.queue, msg.waits)
		}
		return a.broadcast(msg)
	case countDueMsg:
		return a.countDue(msg), nil
	case countedMsg:
		return a.counted(msg)
	case pushMsg:
		return a.push(msg.screen)
	case popMsg:
		return a.back(), nil
	case noticeMsg:
		a.notice = msg
		return a, nil
	case tea.QuitMsg, tea.InterruptMsg:
		return a, nil
	}
	return a.broadcast(msg)
}

// polled keeps the answer to a poll and shows it to the tab that is seen.
func (a app) polled(msg polledMsg) (tea.Model, tea.Cmd) {
	ok, wait := a.poller.answered(msg, a.env)
	if !ok {
		return a, wait
	}
	a.history.record(a.env.now(), msg.topology.topology, msg.topology.flows, msg.topology.moves)
	a.latest = msg.topology
	a.latest.history, a.latest.looks = a.history, a.looks
	cmd := a.refresh()
	return a, tea.Batch(wait, cmd)
}

// refresh sends the latest topology to the screens of the current tab, unless they have it.
func (a *app) refresh() tea.Cmd {
	t := &a.tabs[a.tab]
	if a.latest.topology == nil || t.seen == a.latest.topology {
		return nil
	}
	t.seen = a.latest.topology
	return t.send(a.latest)
}

// send gives a message to all screens of the tab.
func (t *tab) send(msg tea.Msg) tea.Cmd {
	var cmds []tea.Cmd
	stack := make([]screen, len(t.stack))
	for i, s := range t.stack {
		next, cmd := s.Update(msg)
		stack[i] = next
		cmds = append(cmds, cmd)
	}
	t.stack = stack
	return tea.Batch(cmds...)
}

// broadcast gives an answer to all screens: the one that asked knows it by its request.
func (a app) broadcast(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmds []tea.Cmd
	for i := range a.tabs {
		cmds = append(cmds, a.tabs[i].send(msg))
	}
	return a, tea.Batch(cmds...)
}

func (a app) top() screen {
	stack := a.tabs[a.tab].stack
	return stack[len(stack)-1]
}

func (a app) push(s screen) (tea.Model, tea.Cmd) {
	var first tea.Cmd
	if a.latest.topology != nil {
		s, first = s.Update(a.latest)
	}
	t := &a.tabs[a.tab]
	t.stack = append(t.stack[:len(t.stack):len(t.stack)], s)
	return a, tea.Batch(first, s.Init())
}

// back closes the top screen; the tab's own screen stays.
func (a app) back() app {
	t := &a.tabs[a.tab]
	if len(t.stack) > 1 {
		t.drop(len(t.stack) - 1)
	}
	return a
}

// drop closes the screens above the first n. What one of them has under way on the broker ends with it.
func (t *tab) drop(n int) {
	for _, s := range t.stack[n:] {
		if s, ok := s.(interface{ Close() }); ok {
			s.Close()
		}
	}
	t.stack = t.stack[:n]
}

// show goes to a tab. Going to the one that is shown closes what was opened from it.
func (a app) show(i int) (app, tea.Cmd) {
	if i == a.tab {
		a.tabs[i].drop(1)
		return a, nil
	}
	a.tab = i
	cmd := a.refresh()
	return a, cmd
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
	case is(msg, k.ForceQuit):
		if busy, ok := a.top().(interface{ Busy() bool }); ok && busy.Busy() {
			return a.toScreen(msg) // it stops what runs; pressed again, the program ends
		}
		return a, tea.Quit
	case a.tooSmall():
		if is(msg, k.Quit) {
			return a, tea.Quit
		}
		return a, nil // nobody sees what another key would do
	case a.palette.open:
		var command command
		a.palette, command = a.palette.handle(msg)
		if command.run == nil {
			return a, nil
		}
		return command.run(a)
	case msg.Paste && !a.top().Typing():
		return a, nil // a text that was pasted is not a row of commands
	case a.top().Typing() || key.Matches(msg, a.top().Keys()...):
		return a.toScreen(msg)
	}
	for i, b := range k.Screens {
		if is(msg, b) {
			return a.show(i)
		}
	}
	switch {
	case is(msg, k.NextScreen):
		return a.show((a.tab + 1) % len(a.tabs))
	case is(msg, k.PrevScreen):
		return a.show((a.tab + len(a.tabs) - 1) % len(a.tabs))
	case is(msg, k.Quit):
		if len(a.tabs[a.tab].stack) == 1 {
			return a, tea.Quit
		}
		return a.back(), nil
	case is(msg, k.Back):
		return a.back(), nil
	case is(msg, k.Undo):
		return a.undo()
	case is(msg, k.Help):
		return a.push(newHelpScreen(a.env, a.top()))
	case is(msg, k.Palette):
		a.palette = a.palette.opened()
		return a, nil
	case is(msg, k.Pause):
		cmd := a.poller.toggle(a.env)
		return a, cmd
	case is(msg, k.ReadNow):
		cmd := a.poller.read(a.env)
		return a, cmd
	}
	return a.toScreen(msg)
}

func (a app) toScreen(msg tea.Msg) (tea.Model, tea.Cmd) {
	t := &a.tabs[a.tab]
	stack := append([]screen(nil), t.stack...)
	var cmd tea.Cmd
	stack[len(stack)-1], cmd = stack[len(stack)-1].Update(msg)
	t.stack = stack
	return a, cmd
}
