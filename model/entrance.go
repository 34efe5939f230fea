package model

import (
	"cmp"
	"slices"
)

// FedThroughRetries reports whether publishers must use the retry buffers of a flow too, because there is no other way
// in: what comes into them is new, or sent again by the worker, and nobody tells which.
func (t *Topology) FedThroughRetries(f *Flow) bool {
	return len(t.DirectBindings(f)) == 0 &&
		!slices.ContainsFunc(f.Buffers, func(b Buffer) bool { return b.Role == DelayedBuffer })
}

// DirectBindings bind the worker of a flow to exchanges, but for those by which the flow's buffers reach it.
func (t *Topology) DirectBindings(f *Flow) []Binding {
	var direct []Binding
	for _, binding := range t.Snapshot.Bindings {
		if binding.VHost != f.VHost || binding.ToExchange || binding.Source == "" ||
			binding.Destination != f.Worker.Queue.Name {
			continue
		}
		explained := slices.ContainsFunc(f.Buffers, func(b Buffer) bool {
			key, known := b.Key.Get()
			if b.DLX != binding.Source {
				return false
			}
			exchange, ok := t.Exchange(ExchangeRef{f.VHost, binding.Source})
			return !known || key == binding.RoutingKey || ok && (exchange.Type == "fanout" || exchange.Type == "headers")
		})
		if !explained {
			direct = append(direct, binding)
		}
	}
	slices.SortFunc(direct, func(a, b Binding) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.RoutingKey, b.RoutingKey))
	})
	return direct
}
