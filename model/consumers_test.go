package model_test

import (
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// Without statistics nobody knows consumers: roles stay as they are, and their reasons claim nothing.
func TestRolesWithoutKnownConsumers(t *testing.T) {
	unknown := func(q *model.Queue) { q.Consumers = model.Unknown[int64]() }
	topology := build.TopologyOf("4.0.5", build.Queue("w", unknown),
		build.Queue("w.wait", build.DLX(""), build.DeadKey("w"), build.TTL(1000), unknown),
		build.Queue("w.failed", unknown))
	flow, ok := topology.FlowOf(build.Ref("w"))
	must.That(t, ok && len(flow.Buffers) == 1 && len(flow.Failed) == 1, "%+v", flow)
	for _, reason := range []string{flow.Buffers[0].Reason, flow.Failed[0].Reason} {
		assert.That(t, !strings.Contains(reason, "no consumers") && strings.Contains(reason, "consumers unknown"),
			"%v", reason)
	}
}
