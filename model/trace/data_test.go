package trace

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/filter"
)

// TestPlansAreData: taps and probes survive JSON, with the types of the arguments of their bindings, and refused ones.
func TestPlansAreData(t *testing.T) {
	for _, kind := range []reflect.Type{reflect.TypeFor[plainTap](), reflect.TypeFor[plainProbe]()} {
		for _, part := range build.NotData(kind) {
			t.Error(part)
		}
	}
	topology := build.TopologyOf("4.0.5",
		build.Exchange("headers", "h"), build.BindHeaders("h", "worker", model.Table{"n": int64(1), "f": 1.5, "t": "x"}),
		build.Exchange("direct", "front"), build.Exchange("direct", "dlx"),
		build.Queue("buffer", build.DLX("dlx"), build.DeadKey("w"), build.TTL(5000), build.Ready(3)),
		build.Bind("front", "in", "buffer"), build.Queue("worker"), build.Bind("dlx", "w", "worker"),
		build.Queue("busy", build.Consumers(2)), build.Queue("before", build.DLX(""), build.DeadKey("busy"), build.TTL(100)))
	for _, name := range []string{"h", "front", "", "nowhere"} {
		p := PlanTap(topology, TapWant{VHost: "/", Exchanges: []string{name}})
		wantSurvives(t, p)
	}
	for _, worker := range []string{"worker", "busy"} {
		flow, ok := topology.FlowOf(build.Ref(worker))
		must.That(t, ok, "%v", worker)
		p := PlanProbe(topology, ProbeWant{ID: "x", Flow: flow})
		assert.That(t, p.NeedsConsumers() == (worker == "busy") && len(p.Removals) > 0, "%+v", p)
		if read := wantSurvives(t, p); read.NeedsConsumers() != p.NeedsConsumers() {
			t.Error("it forgets why it is refused")
		}
	}
}

func wantSurvives[T any](t *testing.T, p T) T {
	t.Helper()
	read, err := build.ThroughJSON(p)
	all := cmp.Exporter(func(reflect.Type) bool { return true })
	diff := cmp.Diff(p, read, all, cmp.Comparer(func(a, b *filter.Filter) bool { return a == b }))
	assert.That(t, diff == "" && err == nil, "%v %v", diff, err)
	return read
}
