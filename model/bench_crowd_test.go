package model_test

import (
	"fmt"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// crowded are topologies in which each queue can reach many others. Work that visits all of them for each queue would
// be slow here.
func crowded(endpoints, services, chained int) map[string]*model.Snapshot {
	levels := build.DelayLevels("nsb.v2.delay-level-%02d", "nsb.v2.delay-delivery", 28)
	for i := range endpoints {
		levels = append(levels, build.Endpoint(fmt.Sprintf("endpoint-%04d", i)))
	}
	topic := []build.Part{build.Exchange("topic", "master"), build.Exchange("topic", "dead")}
	failed := []build.Part{build.Exchange("fanout", "dead"), build.Queue("graveyard"), build.Bind("dead", "", "graveyard")}
	for i := range services {
		name := fmt.Sprintf("service-%04d", i)
		topic = append(topic,
			build.Queue(name, build.Consumers(1), build.DLX("dead")), build.Bind("master", fmt.Sprintf("event.%d.*", i), name),
			build.Queue(name+".retry", build.DLX("master"), build.TTL(30000)), build.Exchange("fanout", name+".retry"),
			build.Bind(name+".retry", "", name+".retry"),
			build.Queue(name+".failed"), build.Bind("dead", fmt.Sprintf("event.%d.*", i), name+".failed"))
		failed = append(failed, build.Queue(name, build.Consumers(1), build.DLX("dead")))
	}
	chain := []build.Part{build.Queue("w", build.Consumers(1))}
	for i := range chained {
		chain = append(chain, build.Queue(fmt.Sprintf("chain-%d", i), build.DLX(""),
			build.DeadKey(fmt.Sprintf("chain-%d", i+1)), build.TTL(int64(1000+i))))
	}
	chain = append(chain, build.Queue(fmt.Sprintf("chain-%d", chained), build.DLX("", "w"), build.TTL(1)))
	return map[string]*model.Snapshot{
		"endpoints with 28 delay levels":   build.Broker("4.0.5", levels...),
		"services whose keys nobody knows": build.Broker("4.0.5", topic...),
		"workers with one failed queue":    build.Broker("4.0.5", failed...),
		"buffers in a chain":               build.Broker("4.0.5", chain...),
	}
}

func BenchmarkCrowds(b *testing.B) {
	for name, s := range crowded(1000, 2500, 1000) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				model.NewTopology(s)
			}
		})
	}
}

func TestCrowdsAreBounded(t *testing.T) {
	for name, s := range crowded(100, 250, 100) {
		t.Run(name, func(t *testing.T) {
			topology := model.NewTopology(s)
			members := 0
			for i := range topology.Flows() {
				f := &topology.Flows()[i]
				members += len(f.Buffers) + len(f.Failed)
			}
			assert.That(t, members <= 3*len(s.Queues), "%d memberships of %d queues", members, len(s.Queues))
		})
	}
}
