package ui

import (
	"runtime"
	"testing"
	"weak"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// TestHiddenTabsKeepNoOldPoll: on a large broker each poll is tens of megabytes. What was seen of an older one is let
// go of, and comes back with its cursor and its order when it is shown again.
func TestHiddenTabsKeepNoOldPoll(t *testing.T) {
	c := newClock()
	a := newApp(t.Context(), lively(&recorded{snapshot: busyBroker()}, c))
	a.env.Styles = term.NewStyles(term.Mono, termenv.Ascii)
	update := func(msg tea.Msg) {
		next, _ := a.Update(msg)
		a = next.(app)
	}
	var polls []weak.Pointer[model.Topology]
	poll := func() {
		topology := model.NewTopology(busyBroker())
		polls = append(polls, weak.Make(topology))
		found := findings.Of(topology)
		a.poller.inFlight = a.env.NewRequest()
		update(polledMsg{request: a.poller.inFlight, topology: shell.TopologyMsg{
			Topology: topology, Flows: topology.Flows(), Findings: found, About: findings.NewAbout(found),
		}})
	}
	key := func(r rune) { update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}}) }
	update(tea.WindowSizeMsg{Width: 120, Height: 36})
	var screens []string
	for tab := range a.tabs {
		key(rune('1' + tab))
		poll()
		key('j')
		key('s')
		key('j')
		screens = append(screens, a.View())
	}
	for range 3 {
		poll()
	}
	runtime.GC()
	runtime.GC()
	for i, p := range polls[:len(polls)-1] {
		assert.That(t, p.Value() == nil, "poll %d of %d is still in memory", i+1, len(polls))
	}
	for tab := range a.tabs {
		key(rune('1' + tab))
		assert.Equal(t, a.View(), screens[tab], "it shows")
	}
	last := polls[len(polls)-1].Value()
	assert.That(t, last != nil && last == a.latest.Topology, "the newest poll is not the one that is shown")
}
