package ui

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/flows"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/trace"
)

// tab is one of the numbered screens with what was opened from it.
type tab struct {
	stack []shell.Page    // the last one is on top
	seen  *model.Snapshot // the newest that this stack was sent: a hidden tab gets the latest one when it is shown
}

// show goes to a tab. Going to the visible one closes what was opened from it.
func (a *app) show(i int) tea.Cmd {
	if i == a.tab {
		a.tabs[i].drop(1)
		return nil
	}
	a.tab = i
	return a.refresh()
}

// refresh sends the latest topology to the screens of the current tab, unless they have it.
func (a *app) refresh() tea.Cmd {
	t := &a.tabs[a.tab]
	if a.latest.Topology == nil || t.seen == a.latest.Topology.Snapshot {
		return nil
	}
	t.seen = a.latest.Topology.Snapshot
	return t.send(a.latest)
}

// rest lets the screens of the other tabs release an older poll.
func (a *app) rest() {
	for i := range a.tabs {
		t := &a.tabs[i]
		if i == a.tab || t.seen == nil {
			continue
		}
		t.seen = nil
		for _, p := range t.stack {
			if _, ok := p.Screen.(interface{ Rests() }); ok {
				p.Update(shell.RestMsg{})
			}
		}
	}
}

func (t *tab) send(msg tea.Msg) tea.Cmd {
	return tea.Batch(model.Mapped(t.stack, func(p *shell.Page) tea.Cmd { return p.Take(msg) })...)
}

// drop closes the screens above the first n. Their operations on the broker end with them.
func (t *tab) drop(n int) {
	for _, p := range t.stack[n:] {
		if s, ok := p.Screen.(interface{ Close() }); ok {
			s.Close()
		}
	}
	t.stack = t.stack[:n]
}

const mostPlaces = 50 // how far back "-" looks for a screen that can still be shown

// place is a screen that was shown: its tab, and the way to it from the tab's own screen.
type place struct {
	tab int
	way []stop
}

// stop is a screen on the way to a place.
type stop struct {
	page  shell.Request
	again func() shell.Screen // opens it again when it was closed; nil: what it showed is over
}

// reopening is a screen that can be opened again after it was closed. The function keeps nothing of what it has read.
type reopening interface {
	Reopening() func() shell.Screen
}

func (a app) at() shell.Request { return a.page().Number }

func (a app) place() place {
	p := place{tab: a.tab}
	for _, page := range a.tabs[a.tab].stack {
		s := stop{page: page.Number}
		if r, ok := page.Screen.(reopening); ok {
			s.again = r.Reopening()
		}
		p.way = append(p.way, s)
	}

	return p
}

// leaveTrail records the app's previous place, when it shows another screen now.
func (a *app) leaveTrail(before app) {
	if a.at() != before.at() {
		trail := append(a.trail[:len(a.trail):len(a.trail)], before.place())
		a.trail = trail[max(0, len(trail)-mostPlaces):]
	}
}

// last goes to the previous screen, on any tab. Done twice, it comes back.
func (a *app) last() tea.Cmd {
	if isBusy(a.top()) {
		return a.refuse("not left: what runs here would be stopped; wait for its end, or stop it with " +
			press.ForceQuit.Help().Key)
	}
	for i, p := range slices.Backward(a.trail) {
		if p.way[len(p.way)-1].page == a.at() || !a.reaches(p) {
			continue
		}
		a.trail = a.trail[:i:i]
		return a.goTo(p)
	}

	a.notice = shell.NoticeMsg{Text: "no other screen was seen before this one"}
	return nil
}

func isBusy(s shell.Screen) bool {
	busy, ok := s.(interface{ Busy() bool })
	return ok && busy.Busy()
}

// kept returns how many screens of the way to a place are still open, from the tab's own one.
func (a app) kept(p place) int {
	stack, n := a.tabs[p.tab].stack, 0
	for n < len(stack) && n < len(p.way) && stack[n].Number == p.way[n].page {
		n++
	}
	return n
}

// reaches reports whether a place can be shown again without stopping anything that runs.
func (a app) reaches(p place) bool {
	n := a.kept(p)
	return !slices.ContainsFunc(p.way[n:], func(s stop) bool { return s.again == nil }) &&
		!slices.ContainsFunc(a.tabs[p.tab].stack[n:], func(page shell.Page) bool { return isBusy(page.Screen) })
}

// goTo shows a place, and reopens closed screens on the way to it.
func (a *app) goTo(p place) tea.Cmd {
	a.tab = p.tab
	n := a.kept(p)
	a.tabs[a.tab].drop(n)
	cmds := []tea.Cmd{a.refresh()}

	trail := slices.Clone(a.trail)
	for i := range trail {
		trail[i].way = slices.Clone(trail[i].way)
	}

	for _, s := range p.way[n:] {
		cmds = append(cmds, a.push(s.again()))
		for _, earlier := range trail { // refers to the page that replaces the closed one
			for i := range earlier.way {
				if earlier.way[i].page == s.page {
					earlier.way[i].page = a.at()
				}
			}
		}
	}

	a.trail = trail
	return tea.Batch(cmds...)
}

// answer passes an answer to the screen that asked, on any tab. It is dropped if that was closed.
func (a *app) answer(msg shell.AnswerMsg) tea.Cmd {
	looked, isLook := msg.Msg.(messages.PeekedMsg)
	if isLook && looked.Err == nil {
		a.looks.Remember(looked.Queue, looked.Waits)
		a.looks.Dead[looked.Queue] = shell.DeadLetters{Dead: looked.Dead, Of: len(looked.Rows)}
		a.looks.Seen = a.looks.Seen.With(looked.Seen)
	}

	if marked, ok := msg.Msg.(shell.MarkedMsg); ok {
		return a.Marks.Take(marked)
	}
	var soon tea.Cmd
	if _, acted := msg.Msg.(shell.EndedMsg[plan.Account]); acted {
		soon = a.poller.soon()
	}

	for i := range a.tabs {
		t := &a.tabs[i]
		at := slices.IndexFunc(t.stack, func(p shell.Page) bool { return p.Number == msg.Page })
		if at >= 0 {
			return tea.Batch(t.stack[at].Take(msg.Msg), soon)
		}
	}

	for _, j := range a.Jobs {
		if j.Number == msg.Page && j.Screen != nil {
			return tea.Batch(j.Take(msg.Msg), soon)
		}
	}

	if isLook && looked.Err == nil {
		return messages.Closing(looked.Peeked.Messages)
	}

	return soon
}

func (a *app) tapHere() tea.Cmd {
	if flow, ok := a.top().(*flows.FlowScreen); ok && flow.Flow != nil {
		return trace.TapFlow(a.Env, a.latest.Topology, flow.Flow, flow.Cursor)
	}
	return a.refuse("name an exchange: tap EXCHANGE")
}

func (a *app) undo() tea.Cmd {
	if a.Journal == nil {
		return a.refuse("there is no journal to undo from: dlxtop was started with --no-journal")
	}
	if f, open := a.top().(*act.FollowUpScreen); open {
		if _, resumes := f.Is.(act.Resuming); !resumes {
			return nil
		}
	}

	if len(a.Together()) > 1 {
		return a.push(act.UndoTogether(a.Env, a.Together()...))
	}

	return a.push(act.NewUndoScreen(a.Env, 0))
}

// chosen adds the choices of earlier starts. Commands of this one are newer.
func (a *app) chosen(c shell.KeptChoices) tea.Cmd {
	a.Recall(c)
	a.Commands.Precede(c.Commands)
	a.palette.recall.Restart()
	a.Programs.Precede(c.Programs)

	var cmds []tea.Cmd
	for name, titles := range c.Hidden {
		cmds = append(cmds, a.hide(shell.HideMsg{Screen: name, Titles: titles}))
	}

	return tea.Batch(cmds...)
}

// hide sends a choice of columns to any screen with them.
func (a *app) hide(msg shell.HideMsg) tea.Cmd {
	var cmds []tea.Cmd
	for i := range a.tabs {
		cmds = append(cmds, a.tabs[i].send(msg))
	}
	return tea.Batch(cmds...)
}

// columns opens the choice of columns of the visible screen.
func (a *app) columns() tea.Cmd {
	var name string
	var titles, hidden []string
	list, ok := a.top().(shell.Columned)
	if ok {
		name, titles, hidden = list.Columns()
	}
	if titles == nil {
		return a.refuse("columns are chosen on 1 flows, 2 queues and 3 failed")
	}

	return a.push(&shell.ColumnsScreen{Env: a.Env, List: list, Name: name, Titles: titles, Hidden: hidden})
}
