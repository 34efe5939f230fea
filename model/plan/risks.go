package plan

import (
	"reflect"
	"slices"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/loss"
)

// Harm is what the queues that receive messages do to them.
type Harm struct {
	Losses []loss.ByLimit   // what their limits drop during the run
	Full   []loss.ByRefusal // what they refuse
	// what loses copies that fail again where the application's own messages are not lost: one for each queue
	Again []loss.SecondFailure
}

// loses reports whether messages are lost.
func (h *Harm) loses() bool {
	return len(h.Losses) > 0 || len(h.Again) > 0 ||
		slices.ContainsFunc(h.Full, func(r loss.ByRefusal) bool { return r.Loses() })
}

// And returns the harm of two actions together.
func (h Harm) And(o Harm) Harm {
	return Harm{slices.Concat(h.Losses, o.Losses), slices.Concat(h.Full, o.Full), slices.Concat(h.Again, o.Again)}
}

// Risks are what speaks against an action.
type Risks struct {
	Harm
	Warnings []Warning // what the user might not expect
	Refusal  Refusal   // why it must not run, nil when it may
}

// against refuses an action, unless it is refused already.
func (r *Risks) against(o model.Objection) {
	if !r.Refusal.Refused() {
		r.Refusal = Refusal{o}
	}
}

// warn adds a warning, but not twice.
func (r *Risks) warn(w Warning) {
	if !slices.ContainsFunc(r.Warnings, func(other Warning) bool { return reflect.DeepEqual(other, w) }) {
		r.Warnings = append(r.Warnings, w)
	}
}

// receive works out what the limit of a queue does to messages that arrive there, and those of the queues to which it
// passes messages on, except for these. counts are exact ones, where known.
func (r *Risks) receive(
	t *model.Topology, queue model.QueueRef, a loss.Arrivals, counts model.CountsByQueue, except ...model.QueueRef,
) {
	left := 0
	if l := loss.OfLimit(t, queue, a, counts); l != nil {
		r.Losses = append(r.Losses, *l)
		left = l.Lost()
	}
	if full := loss.OfRefusal(t, queue, a, counts); full != nil {
		r.Full = append(r.Full, *full)
		left = full.Refused
	}

	except = append(except, queue)
	pass := func(on []model.QueueRef, a loss.Arrivals) {
		a.Leave = queue
		for _, to := range on {
			if !slices.Contains(except, to) {
				r.receive(t, to, a, counts, except...)
			}
		}
	}

	pass(loss.Behind(t, queue), a)
	pass(t.OverflowTargets(queue), loss.Arrivals{Messages: left, Mean: loss.MeanSize(t, queue), AtMost: true})
}

// judge refuses an action whose messages are lost, or find no room, or leave copies where they are refused. It only
// warns when the user insisted, or when some have room and the others stay.
func (r *Risks) judge(remain remains, insisted bool) {
	if r.loses() {
		r.object(lost{remain, r.Harm}, insisted)
	}

	var blocking full
	for i := range r.Full {
		switch {
		case r.Full[i].Loses():
		case r.Full[i].Blocks():
			blocking = append(blocking, r.Full[i])
		default:
			r.Warnings = append(r.Warnings, Warning{Says: r.Full[i].Words() + "; they stay where they are"})
		}
	}

	if len(blocking) > 0 {
		r.object(blocking, insisted)
	}
}

// overridable is an objection that a user may override.
type overridable interface {
	model.Objection
	Override() string
}

// object adds an objection; insisted: it is overridden.
func (r *Risks) object(o overridable, insisted bool) {
	switch {
	case insisted:
		r.Warnings = append(r.Warnings, Warning{Says: o.Words() + "; " + o.Override(), Grave: true})
	case !r.Refusal.Refused() || r.Refusal.Overridable():
		r.Refusal = append(r.Refusal, o)
	}
}
