package model_test

import (
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// TestRolesAreRemembered: a flow stays when its worker stops, as long as the queues exist.
func TestRolesAreRemembered(t *testing.T) {
	at := func(consumers int64, parts ...build.Part) *model.Snapshot {
		work := build.Queue("work", build.Consumers(consumers), build.DLX(""), build.DeadKey("graveyard"))
		parts = append(parts, build.Queue("graveyard"), build.Queue("dead-letter-queue"), work)
		return build.TopologyOf("4.0.5", parts...).Snapshot
	}
	running := model.NewTopology(at(1))
	n := len(running.Flows())
	must.That(t, n == 1 && len(model.NewTopology(at(0)).Flows()) == 0, "%d flows: this does not need a memory", n)
	stopped := running.Next(at(0))
	changed := stopped.Next(at(0, build.Queue("other")))
	for name, topology := range map[string]*model.Topology{"stopped": stopped, "changed": changed} {
		flows := topology.Flows()
		assert.That(t, len(flows) == 1 && flows[0].Name == "work" && len(flows[0].Failed) == 2 &&
			strings.Contains(flows[0].Worker.Reason, "has no consumers"), "%s: %+v", name, flows)
	}
	gone := changed.Next(build.TopologyOf("4.0.5", build.Queue("graveyard")).Snapshot)
	if flows := gone.Next(at(0)).Flows(); len(flows) != 0 {
		t.Errorf("a queue that was deleted and made again: %+v", flows)
	}
}

// A queue that has just been declared has no statistics: what is taken for a worker then is forgotten.
func TestUnknownConsumersMakeNoWorkers(t *testing.T) {
	at := func(settings ...build.Setting) *model.Snapshot {
		return build.TopologyOf("4.0.5", build.Exchange("headers", "dead"),
			build.Queue("late", settings...), build.Queue("pay.rejected", settings...),
			build.Bind("dead", "", "late"), build.Bind("dead", "", "pay.rejected"),
			build.Queue("pay", append(settings, build.DLX("dead"), build.TTL(4000))...)).Snapshot
	}
	unknown := func(q *model.Queue) { q.Consumers = model.Unknown[int64]() }
	flows := model.NewTopology(at(unknown)).Next(at()).Flows()
	assert.That(t, len(flows) == 1 && flows[0].Name == "pay" && len(flows[0].Failed) == 2, "%+v", flows)
}
