package ui

import (
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
)

// TestKeysWhileItPlans: a plan is made again after each toggle, and keys that are pressed meanwhile count.
func TestKeysWhileItPlans(t *testing.T) {
	o, _, _ := failedOptions(1)
	list := message.MessageList{failedMessage(0)}
	rows := must.Get(messageRows(list, ref(failedQueue), false, func(int, *message.Message) {}))(t)
	e, topology := newApp(t.Context(), o).env, model.NewTopology(o.Source.(*recorded).snapshot)
	d, make := newPlanDialog(e, topology, plan.Replay, ref(failedQueue), rows, "all", otherMessages{})
	planned := func() {
		t.Helper()
		d, _ = d.update(make())
		if d.state != dialogAsking {
			t.Fatalf("%v: %v", d.state, d.plan.Refusal)
		}
	}
	planned()
	press := func(keys ...tea.KeyMsg) {
		for _, k := range keys {
			d, make = d.update(k)
		}
	}
	canary := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("c")}
	press(canary, canary, canary)
	planned()
	if d.plan.Canary == nil {
		t.Error("three presses of the canary's key made none")
	}
	press(tea.KeyMsg{Type: tea.KeyTab}, canary)
	planned()
	if d.mode != 1 || d.plan.Canary != nil {
		t.Errorf("target %d, canary %v", d.mode, d.plan.Canary)
	}
}
