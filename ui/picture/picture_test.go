package picture

import (
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// What a person parked is in the picture, and apart from what failed.
func TestParkedQueuesAreApart(t *testing.T) {
	flow := model.Flow{Parked: []model.Member{{Queue: build.Ref("parked")}}}
	p := Of(&flow, Moment{Topology: build.TopologyOf("4.0.5")})
	assert.Equal(t, p.failed.heading, "0 failed queues, 1 parked", "heading")
}

// What expires in a worker goes where its rejects go, and the arrow says both. It says nothing of what comes later.
func TestExpiredInAWorker(t *testing.T) {
	for lines, want := range map[string]string{
		"queue orders.failed\nqueue orders consumers=1":           "rejected",
		"queue orders.failed\nqueue orders consumers=1 ttl=60000": "rejected, expired",
		"exchange fanout old\nqueue orders.archive\nbind old orders.archive\nqueue orders.failed ttl=60000 dlx=old\n" +
			"queue orders consumers=1": "rejected",
	} {
		topology := build.Described("4.0.5", lines+" dlx= key=orders.failed")
		p := Of(&topology.Flows()[0], Moment{Topology: topology})
		assert.Equal(t, p.failed.in.label, want, lines)
	}
}
