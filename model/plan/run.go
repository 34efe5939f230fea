package plan

import (
	"github.com/dlxtop/dlxtop/model"
)

// Run is a plan with what its execution needs beside it: the plan is data, and these are not.
type Run struct {
	Plan
	// Topology routes each message: it is the one that the plan was made of. A drop and an undo need none.
	Topology *model.Topology
	// GoOn ends the present wait of a canary, as often as it is sent: a person does not want to wait any longer. Nil:
	// nobody says so.
	GoOn <-chan struct{}
}

// On is the plan with the topology that it was made of.
func (p Plan) On(t *model.Topology) Run { return Run{Plan: p, Topology: t} }

// Routable reports whether the run can tell where its messages go.
func (r *Run) Routable() bool {
	return r.Topology != nil || !r.Operation.Publishes() || r.Undoing != nil || r.Resuming != nil && r.Planned == 0
}
