package report

import (
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

// Planned is a plan with what it stands on.
type Planned struct {
	Plan     plan.Plan
	Topology *model.Topology // that it was made of
	Looked   Look
	JSON     bool           // it is shown as JSON
	Sequel   *plan.Sequel   // of a replay that was followed: whether it worked
	Arrived  int64          // messages that came into the queue since it was read, and stay
	Undo     *plan.UndoPlan // of an undo; Plan is then what can be said of it in the words of other actions
	Resume   *resumeJSON    // of a resume, else nil
	// why a resume must not run, which is more than why its plan must not; nil of everything else
	Against model.Refusing
}

// Refusal is why it must not run.
func (a *Planned) Refusal() model.Refusing {
	if a.Against != nil {
		return a.Against
	}
	return a.Plan.Refusal
}

// Promise is what the person agrees to.
func (a *Planned) Promise() plan.Promise {
	if a.Undo != nil {
		return a.Undo.Promise()
	}
	return a.Plan.Promise()
}

// Look is what was looked at before an action.
type Look struct {
	Messages int
	Depth    model.Opt[int64]
	Complete bool             // that was all there is
	Left     model.Opt[int64] // looks, where a delivery limit counts them
	Limit    int64
	Cause    string      // the one that messages are selected by, in words that can be shown
	Frozen   plan.Frozen // when the messages that it is on were read; zero: what is there later counts, too
	Saved    bool        // nothing was looked at, because that costs something and was not needed
	Counts   bool        // each look counts towards a delivery limit
}

// OfUndo is an undo as the words of other actions tell it.
func OfUndo(p *plan.UndoPlan, asJSON bool) Planned {
	return Planned{
		Undo: p,
		Plan: plan.Plan{
			Operation: plan.Undo, From: p.Back, Planned: p.Planned(), Refusal: p.Refusal,
			Warnings:   p.Expected(),
			Recipients: []plan.Recipient{{Queue: p.Back}},
		},
		Looked: Look{Complete: true}, JSON: asJSON,
	}
}
