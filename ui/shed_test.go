package ui

import (
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"dlxtop/model"
	"dlxtop/model/findings"
)

// TestHiddenTabsLetGo: what a tab showed before the latest poll is let go while it is hidden, and it shows the latest
// one when it is seen again.
func TestHiddenTabsLetGo(t *testing.T) {
	a := newApp(t.Context(), frozen(&recorded{snapshot: busyBroker()}))
	var m tea.Model = a
	give := func(msg tea.Msg) { m, _ = m.Update(msg) }
	polled := func() {
		current := m.(app)
		current.poller.inFlight = current.env.newRequest()
		topology := model.NewTopology(busyBroker())
		flows := topology.Flows()
		m = current
		give(polledMsg{request: current.poller.inFlight, topology: topologyMsg{
			topology: topology, flows: flows, about: findings.NewAbout(nil),
		}})
	}
	shown := func(tab int) *model.Topology {
		switch s := m.(app).tabs[tab].stack[0].screen.(type) {
		case flowsScreen:
			return s.latest.topology
		case queuesScreen:
			return s.latest.topology
		case findingsScreen:
			return s.latest.topology
		}
		t.Fatalf("tab %d has another screen", tab)
		return nil
	}
	give(tea.WindowSizeMsg{Width: 120, Height: 36})
	polled()
	for _, key := range []string{"2", "4", "1"} {
		give(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(key)})
	}
	for _, tab := range []int{0, 1, 3} {
		if shown(tab) != m.(app).latest.topology {
			t.Fatalf("tab %d does not show the poll", tab)
		}
	}
	polled()
	if latest := m.(app).latest.topology; shown(0) != latest || shown(1) != nil || shown(3) != nil {
		t.Error("hidden tabs keep a topology")
	}
	give(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("2")})
	if shown(1) != m.(app).latest.topology {
		t.Error("a tab that is seen again does not show the latest poll")
	}
	_ = m.View()
}
