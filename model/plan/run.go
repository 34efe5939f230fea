package plan

import (
	"github.com/dlxtop/dlxtop/model"
)

// Run is a plan with what its execution needs besides: a plan is data, and these are not.
type Run struct {
	Plan
	// Topology routes each message: it is the one that the plan was made from. A drop and an undo need none.
	Topology *model.Topology
	// GoOn ends the current wait of a canary each time something is sent: the user does not want to wait longer. May be
	// nil.
	GoOn <-chan struct{}
}

// On is the plan with the topology that it was made from.
func (p Plan) On(t *model.Topology) Run { return Run{Plan: p, Topology: t} }

// Routable reports whether the run can work out where its messages go.
func (r *Run) Routable() bool {
	return r.Topology != nil || !r.Operation.Publishes() || r.Undoing != nil || r.Resuming != nil && r.Planned == 0
}
