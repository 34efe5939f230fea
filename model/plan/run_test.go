package plan

import (
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// newRun is the plan of an action, after it was written as JSON and read, with the topology that it was made of.
func newRun(t *model.Topology, want ActionWant) *Run {
	p, err := build.ThroughJSON(New(t, want))
	if err != nil {
		panic(err)
	}
	run := p.On(t)
	return &run
}
