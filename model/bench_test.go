package model

import (
	"fmt"
	"slices"
	"testing"
)

// large is a broker of 10,000 queues and 30,000 bindings: 3,333 services with a worker, a retry buffer and a failed queue.
func large() *Snapshot {
	parts := []part{exchange("topic", "master"), exchange("topic", "retry"), exchange("topic", "failed")}
	for i := range 3333 {
		name := fmt.Sprintf("service-%04d", i)
		parts = append(parts,
			queue(name, consumers(2)), queue(name+".retry", dlx("master"), deadKey(name), ttl(30000)), queue(name+".failed", ready(3)),
			bind("master", name, name), bind("master", fmt.Sprintf("event.%d.*", i%50), name),
			bind("retry", name, name+".retry"), bind("failed", name, name+".failed"),
		)
		for j := range 5 {
			parts = append(parts, bind("master", fmt.Sprintf("kind.%d.%d", i, j), name))
		}
	}
	return broker("3.10.8", parts...)
}

func BenchmarkTopologyOf10kQueues(b *testing.B) {
	s := large()
	b.ReportAllocs()
	for b.Loop() {
		t := NewTopology(s)
		if len(t.Flows()) != 3333 {
			b.Fatalf("%d flows", len(t.Flows()))
		}
	}
	b.ReportMetric(float64(len(s.Queues)), "queues")
	b.ReportMetric(float64(len(s.Bindings)), "bindings")
}

// The next poll of the same broker: only counts changed.
func BenchmarkNextPollOf10kQueues(b *testing.B) {
	t := NewTopology(large())
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		s := *t.Snapshot
		s.Queues = slices.Clone(s.Queues)
		s.Queues[0].Ready = Some(s.Queues[0].Ready.Or(0) + 1)
		b.StartTimer()
		t = t.Next(&s)
	}
}
