package model_test

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// Each change of a broker has to be seen by the next topology, as if it were made from nothing.
func TestTheNextTopologyIsTheOneFromNothing(t *testing.T) {
	structure := []build.Part{
		build.Exchange("direct", "x"), build.Queue("w", build.Consumers(1)), build.Bind("x", "k", "w"),
		build.Queue("w.failed"),
		build.Queue("b", build.DLX("x"), build.DeadKey("k"), build.TTL(1000)),
	}
	with := func(more ...build.Part) []build.Part { return append(append([]build.Part{}, structure...), more...) }
	change := func(change func(*model.Snapshot)) []build.Part { return with(change) }
	tests := map[string][]build.Part{
		"nothing":           with(),
		"a count":           change(func(s *model.Snapshot) { s.Queues[0].Ready = model.Some[int64](7) }),
		"consumers":         change(func(s *model.Snapshot) { s.Queues[0].Consumers = model.Some[int64](0) }),
		"a new queue":       with(build.Queue("c", build.TTL(5))),
		"a queue that went": change(func(s *model.Snapshot) { s.Queues = s.Queues[1:] }),
		"an argument":       change(func(s *model.Snapshot) { s.Queues[2].Arguments["x-message-ttl"] = int64(2000) }),
		"a policy": change(func(s *model.Snapshot) {
			s.Queues[0].Policy, s.Queues[0].PolicyDefinition = "p", model.Table{"message-ttl": int64(3)}
		}),
		"an unknown policy":   change(func(s *model.Snapshot) { s.Queues[2].PolicyDefinition = nil }),
		"a binding":           with(build.Bind("x", "k", "w.failed")),
		"a binding that went": change(func(s *model.Snapshot) { s.Bindings = s.Bindings[:0] }),
		"an alternate":        change(func(s *model.Snapshot) { s.Exchanges[1].Arguments["alternate-exchange"] = "y" }),
		"an exchange":         with(build.Exchange("fanout", "y")),
		"nothing read":        change(func(s *model.Snapshot) { s.Bindings = nil }),
		"another version": change(func(s *model.Snapshot) {
			s.Overview.Version = model.Version{
				Major: 4, Minor: 0,
				Patch: 5,
			}
		}),
		"ways of messages": change(func(s *model.Snapshot) {
			s.Seen.From = map[model.QueueRef][]model.QueueRef{build.Ref("b"): build.Refs("w")}
		}),
		"a policy's pattern": with(build.UserPolicy("p", ".*", 1, model.Table{"delivery-limit": int64(3)})),
	}
	for name, parts := range tests {
		t.Run(name, func(t *testing.T) {
			after := build.Broker("3.10.8", parts...)
			got, want := build.TopologyOf("3.10.8", structure...).Next(after), model.NewTopology(after)
			assert.NoDiff(t, cmp.Diff(want, got, cmp.Exporter(func(reflect.Type) bool { return true })))
		})
	}
}

// TestWhatAPollRepeatsIsInMemoryOnce: most of a poll is names and tables, and they rarely change.
func TestWhatAPollRepeatsIsInMemoryOnce(t *testing.T) {
	broker := func(ready int64) *model.Snapshot {
		return build.Broker("3.10.8", build.Exchange("direct", "x"), build.Queue("w", build.Consumers(1), build.Ready(ready)),
			build.Queue("b", build.DLX("x"), build.DeadKey("w"), build.TTL(1000)), build.Bind("x", "w", "w"))
	}
	first := model.NewTopology(broker(1))
	polled := broker(2)
	second := first.Next(polled)
	before, after := first.Snapshot, second.Snapshot
	assert.That(t, &before.Bindings[0] == &after.Bindings[0], "bindings are kept twice")
	for i := range before.Queues {
		kept, table := reflect.ValueOf(before.Queues[i].Arguments), reflect.ValueOf(after.Queues[i].Arguments)
		assert.That(t, kept.Pointer() == table.Pointer(), "the arguments of %s are kept twice", before.Queues[i].Name)
	}
	q, ok := second.Queue(build.Ref("w"))
	was, _ := first.Queue(build.Ref("w"))
	assert.That(t, ok && q.Ready.Or(0) == 2 && was.Ready.Or(0) == 1, "%v and %v are ready", was.Ready, q.Ready)
	assert.That(t, &polled.Bindings[0] != &after.Bindings[0], "the poll itself was changed")
}

// TestWhatFlowsShareIsInMemoryOnce: in a tangle, each buffer belongs to dozens of flows.
func TestWhatFlowsShareIsInMemoryOnce(t *testing.T) {
	topology := model.NewTopology(build.Broker("3.10.8", build.Exchange("fanout", "x"),
		build.Queue("a", build.Consumers(1)), build.Queue("b", build.Consumers(1)),
		build.Queue("c", build.Consumers(1), build.DLX(""), build.DeadKey("later")),
		build.Queue("later", build.DLX("x"), build.TTL(1000)),
		build.Bind("x", "", "a"), build.Bind("x", "", "b"), build.Bind("x", "", "c")))
	flows := topology.Flows()
	must.That(t, len(flows) == 3 && len(flows[0].Buffers) == 1 && len(flows[2].Buffers) == 1, "flows %+v", flows)
	assert.That(t, flows[0].Buffers[0] == flows[1].Buffers[0], "a buffer that is the same for two workers is kept twice")
	if own := flows[2].Buffers[0]; own == flows[0].Buffers[0] || !own.Rejected || flows[0].Buffers[0].Rejected {
		t.Errorf("for the worker whose failures it gets it is %+v", own)
	}
}
