package loss

import (
	"slices"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// SecondFailure is how a copy is lost if it fails again in its target: with the copy's routing key and headers, its
// dead letter reaches no queue.
type SecondFailure struct {
	Queue model.QueueRef // where it fails again
	End   model.DeadEnd  // where it is lost
	// Same: the application's own messages are lost there, too, so that the copy is no worse off. Otherwise those are kept
	// with the key OwnKey, if it is known.
	Same   bool
	OwnKey model.Opt[string]
}

// OfSecondFailure works out whether a copy is lost if it fails again in a queue; nil if not, as far as known. own are
// the keys, with those of CC, with which the application's own messages enter the queue; nil when they can be any.
func OfSecondFailure(
	t *model.Topology, ref model.QueueRef, key string, headers, ownHeaders model.Table, own func() [][]string,
) *SecondFailure {
	end, lost := t.DeadEnd(ref, []string{key}, headers)
	if !lost {
		return nil
	}
	f := &SecondFailure{Queue: ref, End: end, Same: true}
	for _, keys := range own() {
		if _, lost := t.DeadEnd(ref, keys, ownHeaders); lost {
			continue
		}
		f.Same = false
		for _, key := range keys { // possibly one of CC
			if _, lost := t.DeadEnd(ref, []string{key}, ownHeaders); !lost {
				f.OwnKey = model.Some(key)
			}
		}
	}
	return f
}

// OwnKeys are the keys with which the application's messages enter a queue: those of its bindings, or its name if it
// has none.
func OwnKeys(t *model.Topology, ref model.QueueRef) [][]string {
	var own [][]string
	e := t.EntryKeys(ref)
	for _, key := range e.Keys {
		own = append(own, []string{key})
	}
	switch {
	case e.Open:
		own = append(own, nil)
	case own == nil:
		own = [][]string{{ref.Name}}
	}
	return own
}

// OwnKeysOf are the OwnKeys for a message that does not say with which keys it entered the queue itself.
func OwnKeysOf(t *model.Topology, ref model.QueueRef, m *message.Message, e *message.Envelope) [][]string {
	for d := range model.Each(m.Deaths) {
		if d.Queue == ref.Name && len(d.RoutingKeys) > 0 {
			return [][]string{d.RoutingKeys}
		}
	}
	if a, told := m.ToldOrigin(e); told {
		route := t.Route(ref.VHost, a.Exchange, []string{a.RoutingKey}, m.Headers)
		if slices.Contains(route.Queues, ref) {
			return [][]string{message.WithCC(a.RoutingKey, m.Headers)}
		}
	}
	return OwnKeys(t, ref)
}

// Words describe the loss in one sentence.
func (f *SecondFailure) Words() string {
	name := func(s string) string { return model.Printable(model.Quoted(s)) }
	after := ""
	if f.End.Queue != f.Queue {
		after = "after " + model.Printable(f.End.Queue.Name) + ", "
	}
	words := model.Sayf("messages that fail again in %s are lost: %sthe dead-letter exchange %s leads to no queue for "+
		"the key %s", f.Queue, after, model.Printable(model.ExchangeName(f.End.Exchange)), name(f.End.Key))
	if key, known := f.OwnKey.Get(); known && !f.Same {
		words += " (for " + name(key) + " it does)"
	}
	if f.Same {
		words += ", and it loses the application's own messages, too"
	}
	return words
}
