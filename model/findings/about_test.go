package findings

import (
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// A flow's findings are those of its queues and of the exchanges that its buffers expire into: no others, each once,
// in the order of all.
func TestAboutAFlow(t *testing.T) {
	topology := model.NewTopology(build.Broker("3.10.8",
		build.Exchange("direct", "back"), build.Queue("orders", build.Consumers(1)), build.Bind("back", "orders", "orders"),
		build.Queue("orders.retry", build.DLX("back"), build.DeadKey("orders"), build.TTL(1000)),
		build.Queue("orders.later", build.DLX("back"), build.DeadKey("orders"), build.TTL(2000)),
		build.Queue("other", build.Consumers(1)),
	))
	var flow *model.Flow
	for i, f := range topology.Flows() {
		if f.Worker.Queue.Name == "orders" {
			flow = &topology.Flows()[i]
		}
	}
	if flow == nil || len(flow.Buffers) != 2 {
		t.Fatalf("%+v", topology.Flows())
	}
	about := NewAbout([]Finding{
		{Code: "a", VHost: "/", Exchange: "back"},
		{Code: "b", VHost: "/", Queue: "other"},
		{Code: "c", VHost: "/", Queue: "orders.retry"},
		{Code: "d", VHost: "elsewhere", Queue: "orders"},
		{Code: "e", VHost: "/", Exchange: "front"},
		{Code: "f", VHost: "/", Queue: "orders"},
		{Code: "g"},
	})
	var codes []string
	for _, f := range about.Flow(flow) {
		codes = append(codes, f.Code)
	}
	assert.List(t, codes, []string{"a", "c", "f"})
	of := about.Queue(model.QueueRef{VHost: "/", Name: "other"})
	assert.That(t, len(of) == 1 && of[0].Code == "b", "%+v", of)
}
