package ui

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/ui/shell"
)

// mostPlaces bounds how far back "-" looks for a screen that can still be shown.
const mostPlaces = 50

// place is a screen that was seen: its tab, and the way to it from the tab's own screen.
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

// at is the page that is seen.
func (a app) at() shell.Request {
	stack := a.tabs[a.tab].stack
	return stack[len(stack)-1].Number
}

// place is where the app is.
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

// trailed notes where the app was before, when it shows another screen now.
func (a app) trailed(before app) app {
	if a.at() == before.at() {
		return a
	}
	trail := append(a.trail[:len(a.trail):len(a.trail)], before.place())
	a.trail = trail[max(0, len(trail)-mostPlaces):]
	return a
}

// last goes to the screen that was seen before this one, on whichever tab. Done twice, it comes back.
func (a app) last() (app, tea.Cmd) {
	if isBusy(a.top()) {
		a.notice = shell.NoticeMsg{Bad: true, Text: "not left: what runs here would be stopped; wait for its end, or stop " +
			"it with " + a.env.Keys.ForceQuit.Help().Key}
		return a, nil
	}
	for i := len(a.trail) - 1; i >= 0; i-- {
		p := a.trail[i]
		if p.way[len(p.way)-1].page == a.at() || !a.reaches(p) {
			continue
		}
		a.trail = a.trail[:i:i]
		return a.goTo(p)
	}
	a.notice = shell.NoticeMsg{Text: "no other screen was seen before this one"}
	return a, nil
}

func isBusy(s shell.Screen) bool {
	busy, ok := s.(interface{ Busy() bool })
	return ok && busy.Busy()
}

// kept is how many screens of the way to a place are still open, from the tab's own one.
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
	for _, s := range p.way[n:] {
		if s.again == nil {
			return false
		}
	}
	for _, page := range a.tabs[p.tab].stack[n:] {
		if isBusy(page.Screen) {
			return false
		}
	}
	return true
}

// goTo shows a place. What was closed of the way to it is opened again.
func (a app) goTo(p place) (app, tea.Cmd) {
	a.tab = p.tab
	n := a.kept(p)
	a.tabs[a.tab].drop(n)
	cmds := []tea.Cmd{a.refresh()}
	trail := append([]place(nil), a.trail...)
	for _, s := range p.way[n:] {
		var cmd tea.Cmd
		a, cmd = a.push(s.again())
		cmds = append(cmds, cmd)
		for i := range trail {
			trail[i] = trail[i].renamed(s.page, a.at())
		}
	}
	a.trail = trail
	return a, tea.Batch(cmds...)
}

// renamed is the place with another page in the place of one that was closed.
func (p place) renamed(from, to shell.Request) place {
	way := append([]stop(nil), p.way...)
	for i := range way {
		if way[i].page == from {
			way[i].page = to
		}
	}
	return place{p.tab, way}
}
