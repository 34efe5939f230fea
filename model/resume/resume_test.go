package resume

import (
	"reflect"
	"strings"
	"testing"

	"dlxtop/model/build"
	"dlxtop/model/plan"
)

// TestPlansAreData: nothing in a plan is lost in JSON; TestResumeAtRandom executes plans that were written and read.
func TestPlansAreData(t *testing.T) {
	for _, kind := range []reflect.Type{reflect.TypeFor[Plan](), reflect.TypeFor[ImportPlan]()} {
		for _, part := range build.NotData(kind) {
			t.Error(part)
		}
	}
}

// TestRescuesAreNotResumed: what a rescue did not confirm is in the journal, and an undo brings it back.
func TestRescuesAreNotResumed(t *testing.T) {
	r := plan.Record{
		ID: 7, Operation: plan.Rescue, From: build.Ref("q"), Broker: "b:5672",
		Account: plan.Account{Unknown: 1},
	}
	if r.Resumable() {
		t.Error("it is offered")
	}
	p, err := Of(build.TopologyOf("4.0.5", build.Queue("q")), Want{Chain: []plan.Record{r}, Broker: "b:5672"})
	if err != nil || !strings.Contains(p.Refusal.Words(), "`dlxtop journal undo 7`") || p.Refusal.Overridable() {
		t.Errorf("%q (%q) %v", p.Refusal.Words(), p.Refusal.Override(), err)
	}
	r.Operation = plan.Move
	if !r.Resumable() {
		t.Error("a move is not offered")
	}
}
