package model_test

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dlxtop/model"
	"dlxtop/model/build"
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
			if diff := cmp.Diff(want, got, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
				t.Error(diff)
			}
		})
	}
}
