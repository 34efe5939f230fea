package model

import (
	"cmp"
	"slices"
)

// FedThroughRetries reports whether publishers, too, must use the retry buffers of a flow because there is no other way
// in. Its messages are then new or were sent back by the worker, and nothing shows which. What the worker rejects comes
// back to an exchange (or, through the default one, to its queue) that publishers can use.
func (t *Topology) FedThroughRetries(f *Flow) bool {
	return len(t.DirectBindings(f)) == 0 && !slices.ContainsFunc(f.Buffers, func(b *Buffer) bool {
		return b.Role == DelayedBuffer || b.Rejected
	})
}

// DirectBindings bind the worker of a flow to the exchanges that publishers use: all except those through which the
// flow's buffers reach it. When there is no other way in, rejected messages come back to the exchange that publishers
// use.
func (t *Topology) DirectBindings(f *Flow) []Binding {
	direct := t.bindingsBeside(f, func(*Buffer) bool { return true })
	if len(direct) == 0 && !slices.ContainsFunc(f.Buffers, func(b *Buffer) bool { return b.Role == DelayedBuffer }) {
		direct = t.bindingsBeside(f, func(b *Buffer) bool { return !b.Rejected })
	}

	slices.SortFunc(direct, func(a, b Binding) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.RoutingKey, b.RoutingKey))
	})
	return direct
}

// bindingsBeside returns the bindings of a flow's worker, except those through which some of its buffers reach it.
func (t *Topology) bindingsBeside(f *Flow, some func(*Buffer) bool) []Binding {
	var beside []Binding
	for binding := range t.BindingsTo(f.Worker.Queue) {
		explained := slices.ContainsFunc(f.Buffers, func(b *Buffer) bool {
			key, known := b.Key.Get()
			if b.DLX != binding.Source || !some(b) {
				return false
			}
			exchange, ok := t.Exchange(binding.From())
			return !known || key == binding.RoutingKey || ok && (exchange.Type == "fanout" || exchange.Type == "headers")
		})

		if !explained {
			beside = append(beside, *binding)
		}
	}

	return beside
}
