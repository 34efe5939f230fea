// Package ui is the dashboard: the app, which polls the broker, keeps a stack of screens for each tab and routes keys
// and messages to them, its palette, its help, and what starts and ends it. The screens are in packages below it, each
// of which only knows those before it: shell, act, messages, causes, trace, flows. Drawing is in term, the picture of a
// flow in picture, and the domain in the packages of model.
package ui

import (
	"cmp"
	"context"
	"os"
	"sync/atomic"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/polls"
	"github.com/dlxtop/dlxtop/model/turns"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/picture"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// app is the root: it handles the size, polls, keeps a stack of screens for each tab, and routes keys and messages to
// the right screen.
type app struct {
	*shell.Env
	width, height int

	poller   poller
	counters [2]asking      // by lane: by passive declares, by totals
	counts   []model.Counts // newer than the poll, newest last
	history  *polls.History
	looks    *shell.DueTimes
	latest   shell.TopologyMsg // zero before the first answer

	tabs       [len(shell.Tabs)]tab
	tab        int
	trail      []place // screens that were shown, latest last
	palette    palette
	notice     shell.NoticeMsg
	waits      *model.InUse // the turn that something waits for; nil: none
	leaving    bool         // the next press of the key for quitting quits, whatever is under way
	saidUnkept bool         // the notice that choices cannot be stored was shown
	empty      map[model.QueueRef]emptiness
	next       string // the context to switch to when the program has ended
}

func newApp(ctx context.Context, given Options) app {
	o := shell.Options(given)
	o.Interval = cmp.Or(max(o.Interval, 0), defaultInterval)
	o.DotStep = cmp.Or(o.DotStep, picture.DotStep)
	if o.Now == nil {
		o.Now = time.Now
	}

	e := &shell.Env{Options: o, Work: shell.NewWork(ctx), Requests: &atomic.Int64{}}
	e.Profile = termenv.Ascii
	e.Shown = e.Now()
	e.Peeks.Store = o.Store
	e.Marks, e.Background = shell.NewCauseMarks(e, o.Marks), turns.NewBackground()
	if o.Broker != nil {
		e.Quiet = o.Broker
		e.Broker = shell.ForegroundBroker(o.Broker, e.Background)
	}

	e.OwnThemes, _ = term.ParseThemes(o.OwnThemes) // CheckTheme has reported errors
	dress(e, cmp.Or(term.Theme(o.Theme), term.Auto))
	e.Reread = rereading(e)

	looks := shell.NewLooks()
	a := app{
		Env:     e,
		poller:  poller{Env: e, pause: o.Interval, looks: looks},
		history: polls.NewHistory(), looks: looks, empty: map[model.QueueRef]emptiness{},
		palette: palette{env: e, field: term.NewTextField(""), recall: e.Commands.Recall()},
		notice:  shell.NoticeMsg{Text: o.Trouble, Bad: true},
	}

	for i, screen := range numbered {
		a.tabs[i].stack = []shell.Page{e.NewPage(screen.open(e))}
	}

	return a
}

// rereading reads the topology outside the polls. What those have seen is remembered.
func rereading(e *shell.Env) plan.Reread {
	return func(ctx context.Context) (*model.Topology, error) {
		snapshot, err := e.Source.Current(ctx)
		if err != nil {
			return nil, err
		}
		polled := e.Polled.Load()
		if polled != nil {
			snapshot.Seen = polled.Snapshot.Seen
		}
		return polled.Next(snapshot), nil
	}
}

type clockMsg struct{} // redraws the header each second: the time, and the age of what is shown

func tick() tea.Cmd { return tea.Every(time.Second, func(time.Time) tea.Msg { return clockMsg{} }) }

type startMsg struct{} // starts the first poll from Update, which owns the poller's state

func (a app) Init() tea.Cmd {
	return tea.Batch(tick(), func() tea.Msg { return startMsg{} }, shell.AwaitLoss(a.Env), act.AwaitUnfinished(a.Env),
		a.LoadChoices(), askBackground(a.Env))
}

// Update returns the only place where messages arrive. After each of them, visible queues are counted and the visible
// screen is prepared.
func (a app) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	a.Shown = a.Now()
	before := a
	cmd := a.update(msg)
	a.leaveTrail(before)
	a.followJobs()
	switch msg.(type) {
	case polledMsg, shell.AnswerMsg:
		a.palette.refresh(&a)
	case tea.KeyMsg, tea.MouseMsg, shell.PushMsg:
		a.see()
	}
	cmd = tea.Batch(cmd, a.ring())

	count := a.count()
	read := a.prepare()
	return a, tea.Batch(cmd, count, read)
}

func (a *app) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		a.width, a.height = msg.Width, msg.Height
		if a.Plain {
			a.width = min(a.width, term.PlainWidth)
		}
	case tea.KeyMsg:
		return a.handleKeys(msg)
	case tea.MouseMsg:
		return a.handleMouse(msg)
	case clockMsg:
		// If only the parent is killed, its terminal goes to a shell that does not share it. A terminal that closes sends
		// SIGHUP only to the leader of its session, which may be make, and make waits.
		if a.Parent != 0 && os.Getppid() != a.Parent || a.Screen.Gone() {
			return tea.Quit
		}

		a.waits = a.Work.Waits.Load()
		return tick()
	case pollDueMsg:
		if msg.timer == a.poller.timer && !a.poller.paused {
			return a.poller.read()
		}
	case backgroundMsg:
		a.background(msg)
	case polledMsg:
		return a.polled(msg)
	case shell.AnswerMsg:
		return a.answer(msg)
	case shell.LendMsg:
		return tea.Exec(msg.Program, a.withMouse(msg.Over))

	case shell.LostMsg:
		return tea.Batch(a.poller.lost(msg.Why), shell.AwaitLoss(a.Env))
	case countDueMsg:
		for lane := range a.counters {
			if c := &a.counters[lane]; c.timer == msg.timer {
				c.timer = 0 // the next one starts when the screen is visible
			}
		}
	case shell.CountedMsg:
		return a.counted(msg)
	case shell.ChoicesMsg:
		return a.chosen(msg.Choices)
	case shell.UnkeptMsg:
		if !a.saidUnkept {
			a.saidUnkept = true
			return a.refuse("columns and commands are not kept for the next start: " + msg.Err.Error())
		}
	case shell.HideMsg:
		return tea.Batch(a.hide(msg), a.Keep(func(c *shell.KeptChoices) { c.Hide(msg) }))
	case shell.PushMsg:
		return a.push(msg.Screen)
	case shell.PopMsg:
		a.popped(msg)

	case shell.NoticeMsg:
		a.notice = msg
	case shell.FollowMsg:
		return a.Follow(msg)
	case shell.SequelMsg:
		return a.Followed(msg)
	case suspendMsg:
		return a.suspend(false)
	case continuedMsg:
		return a.suspend(true)
	case startMsg, resumedMsg: // then the screen is as old as the time away
		return a.poller.read()
	}

	return nil
}

// polled keeps the answer to a poll and passes it to the visible tab.
func (a *app) polled(msg polledMsg) tea.Cmd {
	ok, wait := a.poller.answered(msg)
	if !ok {
		return wait
	}

	a.history.Record(a.Now(), msg.topology.Topology, msg.topology.Flows, msg.topology.Moves)
	before := a.latest.Topology
	a.Appeared(before, msg.topology.Topology)
	a.latest = msg.topology
	a.forget(a.Now())
	a.latest.Topology = a.latest.Topology.Counted(a.counts)
	a.Polled.Store(msg.topology.Topology)
	a.latest.History = a.history
	a.latest.Looks = a.looks
	a.latest.Failed = failedIn(a.latest)
	a.firstFailed(before)
	cmd := a.refresh()
	a.rest()

	return tea.Batch(wait, cmd, a.listen())
}

func (a app) top() shell.Screen { return a.page().Screen }

// page returns the visible screen.
func (a app) page() shell.Page {
	stack := a.tabs[a.tab].stack
	return stack[len(stack)-1]
}

func (a *app) push(s shell.Screen) tea.Cmd {
	var first tea.Cmd
	p, again := s.(shell.Page)
	if !again {
		p = a.NewPage(s)
	}
	if a.latest.Topology != nil {
		first = p.Take(a.latest)
	}

	t := &a.tabs[a.tab]
	t.stack = append(t.stack[:len(t.stack):len(t.stack)], p)
	return first
}

// back closes the top screen; the tab's own screen stays.
func (a *app) back() tea.Cmd {
	t := &a.tabs[a.tab]
	if len(t.stack) > 1 {
		t.drop(len(t.stack) - 1)
	}
	return nil
}

// popped closes the screen that asked for it, on any tab, or makes it a job. It may be closed already, or covered: two
// keys that are read at once both ask for it.
func (a *app) popped(msg shell.PopMsg) {
	for i := range a.tabs {
		t := &a.tabs[i]
		top := len(t.stack) - 1
		if top < 1 || t.stack[top].Number != msg.Page {
			continue
		}

		r, runs := t.stack[top].Screen.(shell.Runner)

		switch {
		case !msg.Runs:
			t.drop(top)
		case runs && r.HowFar().Runs():
			a.Detach(t.stack[top])
			t.stack = t.stack[:top]
		}
	}
}

// handleKeys splits input that was typed faster than it was read: the terminal then delivers several keys as one.
func (a *app) handleKeys(msg tea.KeyMsg) tea.Cmd {
	if msg.Type != tea.KeyRunes || len(msg.Runes) < 2 || msg.Paste {
		return a.handleKey(msg)
	}
	var cmds []tea.Cmd
	for _, r := range msg.Runes {
		one := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: msg.Alt}
		if r == ' ' {
			one.Type = tea.KeySpace
		}
		cmds = append(cmds, a.handleKey(one))
	}

	return tea.Batch(cmds...)
}

// handleKey keeps the order: text input, the screen, global keys.
func (a *app) handleKey(msg tea.KeyMsg) tea.Cmd {
	a.notice = shell.NoticeMsg{}
	a.leaving = a.leaving && key.Matches(msg, press.Quit, press.ForceQuit)

	switch {
	case press.Is(msg, press.ForceQuit):
		if isBusy(a.top()) {
			return a.toScreen(msg) // it stops the run; pressed again, the program ends
		}
		return a.forceQuit()
	case press.Is(msg, press.Suspend):
		return a.suspendByKey()
	case a.tooSmall():
		if press.Is(msg, press.Quit) && a.unfinished() == "" {
			return tea.Quit
		}
		return nil // the effect of other keys would be invisible
	case a.palette.open:
		if chosen := a.palette.handle(msg, a); chosen != nil {
			return chosen(a)
		}
		return nil
	case msg.Paste && !a.top().Typing():
		return nil // pasted text is not a sequence of commands
	case a.top().Typing() || term.Offers(a.top().Keys(), msg):
		return a.toScreen(msg)
	}

	for _, c := range commands() {
		switch {
		case !press.Is(msg, c.key):
		case c.pressed != nil:
			return c.pressed(a)
		default:
			return c.run(a)
		}
	}

	return a.toScreen(msg)
}

func (a *app) refuse(why string) tea.Cmd {
	a.notice = shell.NoticeMsg{Text: why, Bad: true}
	return nil
}

// quit closes the screens above the tab's own, and from that one the program: at once, or at the second press where
// something would be lost by it.
func (a *app) quit() tea.Cmd {
	if len(a.tabs[a.tab].stack) > 1 {
		return a.back()
	}
	return a.leave(a.unfinished(), press.Quit)
}

// forceQuit quits at once, unless that stops jobs: they are easily forgotten.
func (a *app) forceQuit() tea.Cmd {
	if a.RunningJobs() == 0 || a.tooSmall() {
		return tea.Quit
	}
	return a.leave(a.unfinished(), press.ForceQuit)
}

func (a *app) leave(why string, again key.Binding) tea.Cmd {
	if why == "" || a.leaving {
		return tea.Quit
	}
	a.leaving = true
	return a.refuse(why + ": " + again.Help().Key + " again quits")
}

// unfinished returns what quitting would end, in words; "" when nothing is under way.
func (a app) unfinished() string {
	runs := a.running()
	switch {
	case runs == "":
	case a.Journal != nil && a.RunningJobs() > 0:
		return "not quit: " + runs + " would be stopped, and what is open then is in the journal, which resumes it"
	default:
		return "not quit: " + runs + " would be stopped"
	}

	if queue, watched := a.Watched(); watched {
		return "not quit: the replay of " + queue.Printable() + " is still watched"
	}

	return ""
}

// running says what runs, on any tab; "" when nothing does.
func (a app) running() string {
	for _, t := range a.tabs {
		for _, page := range t.stack {
			if isBusy(page.Screen) {
				return "what runs on " + page.Screen.Title()
			}
		}
	}

	if n := a.RunningJobs(); n > 0 {
		return model.Sayf("%v job(s) (:jobs)", n)
	}
	return ""
}

func (a *app) help() tea.Cmd { return a.push(newHelpScreen(a.top())) }

func (a *app) openPalette() tea.Cmd {
	a.palette.begin(a)
	return nil
}

func (a *app) pause() tea.Cmd { return a.poller.toggle() }

func (a *app) read() tea.Cmd {
	cmd := a.poller.read()
	if a.Plain { // ages, too
		cmd = tea.Batch(cmd, tea.ClearScreen)
	}
	return cmd
}

func (a *app) toScreen(msg tea.Msg) tea.Cmd { return a.page().Take(msg) }
