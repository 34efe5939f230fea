package ui

import (
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

// spreads are the times over which messages can be spread; the first is as fast as the broker confirms.
var spreads = []time.Duration{0, time.Minute, 5 * time.Minute, 15 * time.Minute, plan.LongestSpread}

// laterTarget is a replay into a buffer of the flow, which hands the messages to the worker when they expire.
func laterTarget(l *plan.Later) replayTarget {
	return replayTarget{
		mode: plan.ToQueue, fixed: model.Address{RoutingKey: l.Buffer.Name},
		name: "later: " + model.ShortDuration(l.After) + " in the buffer " + model.Printable(l.Buffer.Name),
	}
}

// canSpread reports whether the key that spreads does something: one message cannot be, and letters belong to the
// queue's name while that is being typed.
func (d *planDialog) canSpread() bool {
	if !d.asks() || !d.operation.Publishes() || d.env.readOnly || len(d.rows) < 2 || d.plan.Refusal.Refused() {
		return false
	}
	o := d.offer()
	return o.prompt == "" || d.named(o)
}

// spreadWords are what the key that spreads does.
func (d *planDialog) spreadWords() string {
	next := spreads[(d.over+1)%len(spreads)]
	if next == 0 {
		return "do not spread"
	}
	return "spread over " + model.ShortDuration(next)
}

func (d *planDialog) spreadHint() string {
	if !d.canSpread() {
		return ""
	}
	return hint(d.env.styles, d.env.keys.Spread.Help().Key, d.env.keys.Spread.Help().Desc)
}
