package ui

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// tab is one of the numbered screens with what was opened from it.
type tab struct {
	stack []shell.Page    // the last one is on top
	seen  *model.Snapshot // the newest that this stack was sent: a hidden tab gets the latest one when it is shown
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

// refresh sends the latest topology to the screens of the current tab, unless they have it.
func (a *app) refresh() tea.Cmd {
	t := &a.tabs[a.tab]
	if a.latest.Topology == nil || t.seen == a.latest.Topology.Snapshot {
		return nil
	}
	t.seen = a.latest.Topology.Snapshot
	return t.send(a.latest)
}

// rest lets the screens of the other tabs go of an older poll.
func (a *app) rest() {
	for i := range a.tabs {
		t := &a.tabs[i]
		if i == a.tab || t.seen == nil {
			continue
		}
		t.seen, t.stack = nil, slices.Clone(t.stack)
		for j, p := range t.stack {
			if _, ok := p.Screen.(interface{ Rests() }); ok {
				t.stack[j].Screen, _ = p.Update(shell.RestMsg{})
			}
		}
	}
}

// send gives a message to all screens of the tab.
func (t *tab) send(msg tea.Msg) tea.Cmd {
	var cmds []tea.Cmd
	stack := make([]shell.Page, len(t.stack))
	for i, p := range t.stack {
		var cmd tea.Cmd
		stack[i], cmd = p.Takes(msg)
		cmds = append(cmds, cmd)
	}
	t.stack = stack
	return tea.Batch(cmds...)
}

// drop closes the screens above the first n. What one of them has under way on the broker ends with it.
func (t *tab) drop(n int) {
	for _, p := range t.stack[n:] {
		if s, ok := p.Screen.(interface{ Close() }); ok {
			s.Close()
		}
	}
	t.stack = t.stack[:n]
}
