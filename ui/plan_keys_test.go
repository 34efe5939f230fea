package ui

import (
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// TestKeysWhileItPlans: a plan is made again after each toggle, and keys that are pressed meanwhile count.
func TestKeysWhileItPlans(t *testing.T) {
	o, _, _ := failedOptions(1)
	list := message.MessageList{failedMessage(0)}
	rows := must.Get(shell.MessageRows(list, ref(failedQueue), false, func(int, *message.Message) {}))(t)
	e, topology := newApp(t.Context(), o).env, model.NewTopology(o.Source.(*recorded).snapshot)
	d, make := act.NewPlanDialog(e, topology, plan.Replay, ref(failedQueue), rows, "all", act.OtherMessages{})
	planned := func() {
		t.Helper()
		d, _ = d.Update(make())
		must.That(t, d.State == shell.DialogAsking, "%v: %v", d.State, d.Plan.Refusal)
	}
	planned()
	press := func(keys ...tea.KeyMsg) {
		for _, k := range keys {
			d, make = d.Update(k)
		}
	}
	canary := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("c")}
	press(canary, canary, canary)
	planned()
	assert.That(t, d.Plan.Canary != nil, "three presses of the canary's key made none")
	press(tea.KeyMsg{Type: tea.KeyTab}, canary)
	planned()
	assert.That(t, d.Mode == 1 && d.Plan.Canary == nil, "target %d, canary %v", d.Mode, d.Plan.Canary)
}
