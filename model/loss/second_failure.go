package loss

import (
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// SecondFailure is how a copy is lost if it fails again in its target: with the copy's routing key and headers, its
// dead letter reaches no queue. Or how it is lost at once.
type SecondFailure struct {
	By    Loser
	Queue model.QueueRef // where it fails again
	End   model.DeadEnd  // where it is lost
	Where string         // for ByWorker: what names OwnKey
	// Same: the application's own messages are lost there, too, so that the copy is no worse off. Otherwise those are kept
	// with the key OwnKey, if it is known.
	Same   bool
	OwnKey model.Opt[string]
	// InTime: dead letters have come back though no queue leads there now: its worker may declare one before each reject.
	InTime bool
}

// Loser is who loses a copy.
type Loser int

const (
	ByBroker      Loser = iota // its dead-letter exchange leads to no queue
	ByApplication              // it publishes its failures with a key that leads to no queue
	ByWorker                   // it may acknowledge unseen what comes with another key than the message names
)

// OfPublishedFailure works out whether a copy is lost if it fails again in a queue whose application publishes its
// failures itself, into the queue from, with a key that it makes of the message's own: error.order.paid of order.paid.
func OfPublishedFailure(
	t *model.Topology, from, ref model.QueueRef, m *message.Message, key string,
) *SecondFailure {
	if d := m.FailingDeath(); m.Exchange == "" || m.RoutingKey == ref.Name || d != nil && d.Reason != model.Expired {
		return nil // RabbitMQ published it, or its application by the queue's name
	}
	var own []string
	if first, _, told := m.FirstKey(); told {
		own = append(own, first)
	}

	own = append(append(own, t.EntryKeys(ref).Keys...), ref.Name)

	for _, k := range own {
		next, made := nextKey(m.RoutingKey, k, key)
		if !made {
			continue
		}
		was := t.Route(from.VHost, m.Exchange, []string{m.RoutingKey}, m.Headers)
		route := t.Route(from.VHost, m.Exchange, []string{next}, m.Headers)
		if slices.Contains(was.Queues, from) && route.Exact && len(route.Queues) == 0 {
			end := model.DeadEnd{Queue: ref, Exchange: m.Exchange, Key: next}
			return &SecondFailure{By: ByApplication, Queue: ref, End: end, OwnKey: model.Some(k)}
		}

		return nil
	}

	return nil
}

// nextKey returns the key that an application makes of key as it has made one of own: with the same words before or
// behind.
func nextKey(made, own, key string) (string, bool) {
	const between = ".-_:/"
	before, ends := strings.CutSuffix(made, own)
	if ends && before != "" && strings.ContainsAny(before[len(before)-1:], between) {
		return before + key, true
	}

	behind, begins := strings.CutPrefix(made, own)
	if begins && behind != "" && strings.ContainsAny(behind[:1], between) {
		return key + behind, true
	}

	return "", false
}

// NamedKey returns the key that a message itself names, and where: one by which a queue is bound.
func NamedKey(t *model.Topology, ref model.QueueRef, m *message.Message) (key, where string, ok bool) {
	bound := t.EntryKeys(ref)
	if key, where, told := m.FirstKey(); told && t.Hears(ref, key) && !slices.Contains(bound.Patterns, key) {
		return key, where, true
	}
	return m.Mentions(func(text string) bool { return text != ref.Name && slices.Contains(bound.Keys, text) })
}

// OfOtherKey works out whether a worker may acknowledge a copy unseen: the message itself names one of the keys by
// which its queue is bound, and the copy comes with another one, by which it is not.
func OfOtherKey(t *model.Topology, ref model.QueueRef, m *message.Message, key string) *SecondFailure {
	if t.Hears(ref, key) {
		return nil
	}
	for d := range model.Each(m.Deaths) {
		if d.Queue == ref.Name && slices.Contains(d.RoutingKeys, key) {
			return nil // it failed there with this key
		}
	}

	if RetriesBy(t, ref, key) {
		return nil
	}

	named, where, ok := NamedKey(t, ref, m)
	if !ok || named == key {
		return nil
	}

	return &SecondFailure{
		By:     ByWorker,
		Queue:  ref,
		End:    model.DeadEnd{Queue: ref, Key: key},
		OwnKey: model.Some(named),
		Where:  where,
	}
}

// RetriesBy reports whether messages come back to a worker's queue from a buffer with this key, by the queue's name.
func RetriesBy(t *model.Topology, ref model.QueueRef, key string) bool {
	for _, f := range t.FlowsOf(ref) {
		for _, b := range f.Buffers {
			hop, leaves := t.Hop(b.Queue, model.Expired)
			if leaves && hop.Exchange == "" && slices.Equal(hop.Keys, []string{key}) {
				return true
			}
		}
	}

	return false
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
	q, _ := t.Queue(end.Queue)
	f := &SecondFailure{Queue: ref, End: end, Same: true, InTime: q.CameBack() > 0}
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

// OwnKeys returns the keys with which the application's messages enter a queue: those of its bindings, or its name if
// it has none.
func OwnKeys(t *model.Topology, ref model.QueueRef) [][]string {
	var own [][]string
	e := t.EntryKeys(ref)
	for _, key := range e.Keys {
		own = append(own, []string{key})
	}

	switch {
	case e.Open():
		own = append(own, nil)
	case own == nil:
		own = [][]string{{ref.Name}}
	}

	return own
}

// OwnKeysOf returns the OwnKeys for a message that does not say with which keys it entered the queue itself.
func OwnKeysOf(t *model.Topology, ref model.QueueRef, m *message.Message, e *message.Envelope) [][]string {
	for d := range model.Each(m.Deaths) {
		if d.Queue == ref.Name && len(d.RoutingKeys) > 0 {
			keys := slices.Clone(d.RoutingKeys)
			keys[0] = m.OwnKey(keys[0])
			return [][]string{keys}
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
	switch f.By {
	case ByWorker:
		return model.Sayf("the message names the routing key %s (%s), and %s would see %s, by which it is not bound: an "+
			"application that chooses by the key may acknowledge it unseen", name(f.OwnKey.Or("")), f.Where, f.Queue,
			name(f.End.Key))
	case ByApplication:
		return model.Sayf("messages that fail again in %s are lost: its application publishes its failures to the exchange "+
			"%s, and no queue is bound for the key %s (for that of %s one is)", f.Queue,
			model.ExchangeName(f.End.Exchange), name(f.End.Key), name(f.OwnKey.Or("")))
	}

	after := ""
	if f.End.Queue != f.Queue {
		after = "after " + model.Printable(f.End.Queue.Name) + ", "
	}

	words := model.Sayf("messages that fail again in %s are lost: %sthe dead-letter exchange %s leads to no queue for "+
		"the key %s", f.Queue, after, model.ExchangeName(f.End.Exchange), name(f.End.Key))
	if key, known := f.OwnKey.Get(); known && !f.Same {
		words += " (for " + name(key) + " it does)"
	}
	if f.Same {
		words += ", and it loses the application's own messages, too"
	}
	if f.InTime {
		words += ", unless its worker declares a queue for them in time"
	}

	return words
}
