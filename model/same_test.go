package model

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each change of a broker has to be seen by the next topology, as if it were made from nothing.
func TestTheNextTopologyIsTheOneFromNothing(t *testing.T) {
	structure := []part{
		exchange("direct", "x"), queue("w", consumers(1)), bind("x", "k", "w"), queue("w.failed"),
		queue("b", dlx("x"), deadKey("k"), ttl(1000)),
	}
	with := func(more ...part) []part { return append(append([]part{}, structure...), more...) }
	change := func(change func(*Snapshot)) []part { return with(change) }
	tests := map[string][]part{
		"nothing":           with(),
		"a count":           change(func(s *Snapshot) { s.Queues[0].Ready = Some[int64](7) }),
		"consumers":         change(func(s *Snapshot) { s.Queues[0].Consumers = Some[int64](0) }),
		"a new queue":       with(queue("c", ttl(5))),
		"a queue that went": change(func(s *Snapshot) { s.Queues = s.Queues[1:] }),
		"an argument":       change(func(s *Snapshot) { s.Queues[2].Arguments["x-message-ttl"] = int64(2000) }),
		"a policy": change(func(s *Snapshot) {
			s.Queues[0].Policy, s.Queues[0].PolicyDefinition = "p", Table{"message-ttl": int64(3)}
		}),
		"an unknown policy":   change(func(s *Snapshot) { s.Queues[2].PolicyDefinition = nil }),
		"a binding":           with(bind("x", "k", "w.failed")),
		"a binding that went": change(func(s *Snapshot) { s.Bindings = s.Bindings[:0] }),
		"an alternate":        change(func(s *Snapshot) { s.Exchanges[1].Arguments["alternate-exchange"] = "y" }),
		"an exchange":         with(exchange("fanout", "y")),
		"nothing read":        change(func(s *Snapshot) { s.Bindings = nil }),
		"another version":     change(func(s *Snapshot) { s.Overview.Version = Version{4, 0, 5} }),
		"a policy's pattern":  with(userPolicy("p", ".*", 1, Table{"delivery-limit": int64(3)})),
	}
	for name, parts := range tests {
		t.Run(name, func(t *testing.T) {
			after := broker("3.10.8", parts...)
			got, want := topologyOf("3.10.8", structure...).Next(after), NewTopology(after)
			if diff := cmp.Diff(want, got, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
				t.Error(diff)
			}
		})
	}
}
