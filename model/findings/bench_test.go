package findings

import (
	"fmt"
	"slices"
	"testing"

	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// large is a broker of 10,000 queues and 30,000 bindings: 3,333 services with a worker, a retry buffer and a failed
// queue.
func large() *model.Snapshot {
	parts := []build.Part{
		build.Exchange("topic", "master"), build.Exchange("topic", "retry"), build.Exchange("topic", "failed"),
	}
	for i := range 3333 {
		name := fmt.Sprintf("service-%04d", i)
		parts = append(parts, build.Queue(name, build.Consumers(2)),
			build.Queue(name+".retry", build.DLX("master", name), build.TTL(30000)), build.Queue(name+".failed", build.Ready(3)),
			build.Bind("master", name, name), build.Bind("master", fmt.Sprintf("event.%d.*", i%50), name),
			build.Bind("retry", name, name+".retry"), build.Bind("failed", name, name+".failed"))
		for j := range 5 {
			parts = append(parts, build.Bind("master", fmt.Sprintf("kind.%d.%d", i, j), name))
		}
	}
	return build.Broker("3.10.8", parts...)
}

func BenchmarkTopologyOf10kQueues(b *testing.B) {
	s := large()
	b.ReportAllocs()
	for b.Loop() {
		t := model.NewTopology(s)
		must.Equal(b, len(t.Flows()), 3333, "flows")
		Of(t)
	}
	b.ReportMetric(float64(len(s.Queues)), "queues")
	b.ReportMetric(float64(len(s.Bindings)), "bindings")
}

// The next poll of the same broker: only counts changed.
func BenchmarkNextPollOf10kQueues(b *testing.B) {
	t := model.NewTopology(large())
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		s := *t.Snapshot
		s.Queues = slices.Clone(s.Queues)
		s.Queues[0].Ready = model.Some(s.Queues[0].Ready.Or(0) + 1)
		b.StartTimer()
		t = t.Next(&s)
		Of(t)
	}
}
