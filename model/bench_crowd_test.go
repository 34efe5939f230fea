package model

import (
	"fmt"
	"testing"
)

// crowded are topologies in which each queue can reach a crowd of others: what goes over all of them for each would be slow.
func crowded(endpoints, services, chained int) map[string]*Snapshot {
	levels := delayLevels("nsb.v2.delay-level-%02d", "nsb.v2.delay-delivery", 28)
	for i := range endpoints {
		levels = append(levels, endpoint(fmt.Sprintf("endpoint-%04d", i)))
	}
	topic := []part{exchange("topic", "master"), exchange("topic", "dead")}
	failed := []part{exchange("fanout", "dead"), queue("graveyard"), bind("dead", "", "graveyard")}
	for i := range services {
		name := fmt.Sprintf("service-%04d", i)
		topic = append(topic,
			queue(name, consumers(1), dlx("dead")), bind("master", fmt.Sprintf("event.%d.*", i), name),
			queue(name+".retry", dlx("master"), ttl(30000)), exchange("fanout", name+".retry"), bind(name+".retry", "", name+".retry"),
			queue(name+".failed"), bind("dead", fmt.Sprintf("event.%d.*", i), name+".failed"))
		failed = append(failed, queue(name, consumers(1), dlx("dead")))
	}
	chain := []part{queue("w", consumers(1))}
	for i := range chained {
		chain = append(chain, queue(fmt.Sprintf("chain-%d", i), dlx(""), deadKey(fmt.Sprintf("chain-%d", i+1)), ttl(int64(1000+i))))
	}
	chain = append(chain, queue(fmt.Sprintf("chain-%d", chained), dlx(""), deadKey("w"), ttl(1)))
	return map[string]*Snapshot{
		"endpoints with 28 delay levels": broker("4.0.5", levels...), "services whose keys nobody knows": broker("4.0.5", topic...),
		"workers with one failed queue": broker("4.0.5", failed...), "buffers in a chain": broker("4.0.5", chain...),
	}
}

func BenchmarkCrowds(b *testing.B) {
	for name, s := range crowded(1000, 2500, 1000) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				NewTopology(s)
			}
		})
	}
}

func TestCrowdsAreBounded(t *testing.T) {
	for name, s := range crowded(100, 250, 100) {
		t.Run(name, func(t *testing.T) {
			topology := NewTopology(s)
			members := 0
			for i := range topology.Flows() {
				f := &topology.Flows()[i]
				members += len(f.Buffers) + len(f.Failed)
			}
			if members > 3*len(s.Queues) {
				t.Errorf("%d memberships of %d queues", members, len(s.Queues))
			}
		})
	}
}
