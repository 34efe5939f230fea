package act

import (
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/target"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// Spreads are the times over which messages can be spread; the first is as fast as the broker confirms.
var Spreads = []time.Duration{0, time.Minute, 5 * time.Minute, 15 * time.Minute, plan.LongestSpread}

// canaryWaits are how long a canary can watch; the first is as long as a message that fails again takes to come back.
var canaryWaits = []time.Duration{plan.CanaryAuto, 10 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute}

// PlanOptions are what keys change in a plan.
type PlanOptions struct {
	canary  bool // it begins with one message
	wait    int  // for which of canaryWaits that is watched
	tries   bool // counters of tries stay as they are
	doubles bool // copies of what was replayed are replayed, too
	Over    int  // which of the spreads it takes
}

// Turn changes the option of a key, and reports whether it is one.
func (o *PlanOptions) Turn(k *shell.KeyMap, msg tea.KeyMsg) bool {
	switch {
	case term.Is(msg, k.Canary):
		o.canary = !o.canary
	case term.Is(msg, k.CanaryWait):
		o.wait = (o.wait + 1) % len(canaryWaits)
	case term.Is(msg, k.KeepTries):
		o.tries = !o.tries
	case term.Is(msg, k.Doubles):
		o.doubles = !o.doubles
	case term.Is(msg, k.Spread):
		o.Over = (o.Over + 1) % len(Spreads)
	default:
		return false
	}
	return true
}

// Options are the keys of the options that this plan has, with what they do now.
func (d *PlanDialog) Options() (keys []key.Binding) {
	k, p := d.Env.Keys, &d.Plan
	if !d.Asks() || d.Consent.Asked || !d.Operation.Publishes() || d.Env.ReadOnly || p.Acquire.Refusal.Refused() {
		return nil
	}
	add := func(offered, on bool, b key.Binding, off string) {
		if offered && on {
			b = term.Describe(b, off)
		}
		if offered {
			keys = append(keys, b)
		}
	}
	can, replays := !p.Refusal.Refused(), d.Operation == plan.Replay
	add(can || d.canary, d.canary, k.Canary, "no canary")
	waits := "wait as a retry takes"
	if wait := canaryWaits[(d.wait+1)%len(canaryWaits)]; wait > 0 {
		waits = "wait " + model.ShortDuration(wait)
	}
	add(can && d.canary, true, k.CanaryWait, waits)
	add(can && replays && d.edit == nil && p.CountsTries(), d.tries, k.KeepTries, "reset tries")
	add(replays && p.HoldsDoubles(), d.doubles, k.Doubles, "leave copies")
	next := "do not spread"
	if over := Spreads[(d.Over+1)%len(Spreads)]; over > 0 {
		next = "spread over " + model.ShortDuration(over)
	}
	add(can && len(d.Rows) > 1, true, k.Spread, next)
	return keys
}

// laterTarget is a replay into a buffer of the flow, which hands the messages to the worker when they expire.
func laterTarget(l *plan.Later) ReplayTarget {
	return ReplayTarget{
		mode: target.ToQueue, fixed: model.Address{RoutingKey: l.Buffer.Name},
		name: "later: " + model.ShortDuration(l.After) + " in the buffer " + model.Printable(l.Buffer.Name),
	}
}
