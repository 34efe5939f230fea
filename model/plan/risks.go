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

// And is the harm of two actions together.
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

// receive works out what the limit of a queue does to messages that arrive there. counts are exact ones, where known.
func (r *Risks) receive(
	t *model.Topology, queue model.QueueRef, a loss.Arrivals, counts model.CountsByQueue,
) {
	if l := loss.OfLimit(t, queue, a, counts); l != nil {
		r.Losses = append(r.Losses, *l)
	}
	if full := loss.OfRefusal(t, queue, a, counts); full != nil {
		r.Full = append(r.Full, *full)
	}
}

// judge refuses an action whose messages are lost, or find no room, or leave copies where they are refused. It only
// warns when the user insisted, or when some have room and the others stay.
func (r *Risks) judge(remain remains, insisted bool) {
	if len(r.Losses) > 0 || len(r.Again) > 0 {
		r.object(lost{remain, r.Losses, r.Again}, insisted)
	}

	var blocking full
	for i := range r.Full {
		if r.Full[i].Blocks() {
			blocking = append(blocking, r.Full[i])
		} else {
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
