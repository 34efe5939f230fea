package trace

import (
	"slices"

	"github.com/dlxtop/dlxtop/model"
)

// TapChoices are the useful taps on a flow: the exchange behind each buffer, beginning with the queue ref's, once with
// the exchanges in front of it, which make the waits exact, and once alone; then the exchanges through which the
// worker's failures leave.
func TapChoices(t *model.Topology, f *model.Flow, ref model.QueueRef) []TapWant {
	var wants []TapWant
	add := func(exchanges ...string) {
		if !slices.ContainsFunc(wants, func(w TapWant) bool { return slices.Equal(w.Exchanges, exchanges) }) {
			wants = append(wants, TapWant{VHost: f.VHost, Exchanges: exchanges})
		}
	}
	for _, first := range []bool{true, false} {
		for _, b := range f.Buffers {
			if b.Has(ref) != first {
				continue
			}
			if fronts := frontsOf(t, b); len(fronts) > 0 {
				add(append([]string{b.DLX}, fronts...)...)
			}
			add(b.DLX)
		}
	}
	for _, hop := range t.Hops(f.Worker.Queue) {
		add(hop.Exchange)
	}
	return wants
}

// TapsOf are the useful taps on one exchange: together with those in front of the buffers that lead to it, and alone.
func TapsOf(t *model.Topology, x model.ExchangeRef) []TapWant {
	exchanges := []string{x.Name}
	for f := range model.Each(t.Flows()) {
		for _, b := range f.Buffers {
			if f.VHost != x.VHost || b.DLX != x.Name {
				continue
			}
			for _, front := range frontsOf(t, b) {
				if !slices.Contains(exchanges, front) {
					exchanges = append(exchanges, front)
				}
			}
		}
	}
	alone := TapWant{VHost: x.VHost, Exchanges: exchanges[:1:1]}
	if len(exchanges) == 1 {
		return []TapWant{alone}
	}
	return []TapWant{{VHost: x.VHost, Exchanges: exchanges}, alone}
}

// frontsOf are the exchanges bound to a buffer that can be tapped, except its own DLX.
func frontsOf(t *model.Topology, b *model.Buffer) []string {
	var fronts []string
	for binding := range model.Each(t.Snapshot.Bindings) {
		if binding.ToExchange || binding.Source == b.DLX ||
			!b.Has(model.QueueRef{VHost: binding.VHost, Name: binding.Destination}) {
			continue
		}
		x, exists := t.Handing(model.ExchangeRef{VHost: binding.VHost, Name: binding.Source})
		if exists && !x.Chooses && !slices.Contains(fronts, binding.Source) {
			fronts = append(fronts, binding.Source)
		}
	}
	slices.Sort(fronts)
	return fronts
}
