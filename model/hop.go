package model

import (
	"slices"

	"github.com/dlxtop/dlxtop/model/wildcard"
)

// Hop is one way out of a queue: messages that leave it for a reason go to an exchange with a key and reach queues.
type Hop struct {
	From     QueueRef
	Reason   Reason
	Exchange string   // the DLX; "" is the default exchange
	Keys     []string // the dead-letter routing key; empty: each message keeps its own, and Route is then the possible set
	Route    Route
}

// Route is the queues that a publish reaches.
type Route struct {
	Queues []QueueRef // sorted, each once
	// false: the possible set only (unknown key, or an exchange type that chooses by itself)
	Exact           bool
	MissingExchange string // an exchange that does not exist; "" when all exist. The default exchange always does
	Unread          bool   // the exchanges or bindings could not be read: nothing is known
	Internal        bool   // the first exchange is internal: the broker refuses a client's publish
	// an x-delayed-message exchange is on the way: it routes later, not at the time of the publish
	Delays  bool
	Through []ExchangeRef // the exchanges passed, in order of discovery
	Keys    KeyKind       // for a hop: what is known of the messages' keys
	Why     string        // why the route is not exact, "" when it is
	Chosen  bool          // something else than a key decides: headers, or an exchange's own rule
}

// KeyKind is what is known of the routing keys of the messages that take a hop. Without a dead-letter key each message
// keeps its own, including CC and BCC.
type KeyKind int

const (
	KeysKnown  KeyKind = iota // they are known, or do not matter
	KeysBound                 // the bound keys are assumed: a message with another key goes elsewhere
	KeysBeyond                // no bound key leads on: these queues are reached by other keys, which CC may contain
	KeysSeen                  // peeked messages are on their way to these queues; others may go elsewhere
	KeysAny                   // nothing is known of them
)

// findHops works out the hops of every queue that has a dead-letter exchange. Queues of one vhost with the same
// exchange and key share the work.
func (t *Topology) findHops() map[QueueRef][]Hop {
	type way struct {
		vhost, exchange, key string
		keyed                bool // false: for messages whose keys are all unknown
	}

	routes := map[way]Route{}

	hops := map[QueueRef][]Hop{}
	for q := range t.EachQueue() {
		ref := q.QueueRef
		s := t.settings.of(ref)
		if !s.DLX.Set {
			continue
		}
		var keys []string
		if s.Key.Set {
			keys = []string{s.Key.Value}
		}

		w := way{ref.VHost, s.DLX.Value, s.Key.Value, s.Key.Set}
		route, known := routes[w]
		if !known {
			route = t.deadLetterRoute(ref.VHost, s.DLX.Value, routed{keys: keys, keysKnown: s.Key.Set})
			routes[w] = route
		}

		if !s.Key.Set {
			route = t.ownKeysRoute(ref, route, s.DLX.Value, t.EntryKeys(ref))
		}
		for _, reason := range t.reasons(ref) {
			hops[ref] = append(hops[ref], Hop{ref, reason, s.DLX.Value, keys, route})
		}
	}

	return hops
}

// deadLetterRoute routes a dead letter: its headers are unknown, and an internal exchange accepts it.
func (t *Topology) deadLetterRoute(vhost, exchange string, m routed) Route {
	route := t.routings[vhost].route(exchange, m)
	route.Internal = false
	return route
}

// ownKeysRoute routes the dead letters of a queue without a dead-letter key: each keeps the keys it was published with.
// The keys by which messages enter the queue narrow down where they can go, but a message may have another key, or
// further ones in CC; so the route is exact only where the key does not matter. any is the route of a message whose
// keys are all unknown.
func (t *Topology) ownKeysRoute(ref QueueRef, any Route, exchange string, entry entryKeys) Route {
	switch {
	case any.Exact || any.Unread:
		return any
	case exchange != "" && len(any.Queues) == 0:
		any.Exact, any.Why = true, "" // the key does not matter
		return any
	}

	route := any
	route.Keys = KeysAny
	if !entry.Any {
		keys := append(slices.Clone(entry.Keys), ref.Name)
		route = t.deadLetterRoute(ref.VHost, exchange, routed{
			keys:      keys,
			keysKnown: len(entry.Patterns) == 0,
			patterns:  wildcard.Topics(slices.Concat(keys, entry.Patterns)),
		})

		route.Exact, route.Keys = false, KeysAny
		if !route.Chosen {
			route.Why = "each message keeps its own routing key; these are for the keys that are bound"
		}
		if len(route.Queues) == 0 || t.routings[ref.VHost].leadsOn(exchange, entry.Patterns) {
			route.Keys = KeysBound
		}
	}

	// A queue that exists to expire its messages leads somewhere: by keys that do not themselves bring messages into it.
	if route.Keys == KeysBound && len(route.Queues) == 0 && t.settings.of(ref).TTL.Set {
		route = any
		route.Keys = KeysBeyond
		route.Why = "each message keeps its own routing keys; none that is bound leads on, these are for others (CC)"
	}

	gone := func(ref QueueRef) bool { return t.Queues[ref] == nil }
	if seen := Without(t.Snapshot.Seen.To[ref], gone); len(seen) > 0 {
		route.Queues = UnionOf(route.Queues, seen)
		route.Keys = KeysSeen
		route.Why = "each message keeps its own routing keys; those that were looked at lead to " + Names(seen)
	}

	return route
}

// entryKeys are the routing keys with which messages enter a queue, as far as its bindings show.
type entryKeys struct {
	Keys     []string
	Patterns []string // of topic bindings with wildcards
	Any      bool     // a binding accepts any key (fanout, headers, an exchange that chooses by itself)
}

// Open reports whether messages may enter with further keys than those that are known.
func (e entryKeys) Open() bool { return e.Any || len(e.Patterns) > 0 }

// Choose reports whether one of the bindings that choose by the key takes this one.
func (e entryKeys) Choose(key string) bool {
	return slices.Contains(e.Keys, key) || slices.ContainsFunc(e.Patterns, func(pattern string) bool {
		return pattern != "#" && wildcard.Topic(wildcard.Words(pattern), wildcard.Words(key))
	})
}

// EntryKeys returns the routing keys with which messages enter a queue.
func (t *Topology) EntryKeys(ref QueueRef) (e entryKeys) {
	for b := range t.BindingsTo(ref) {
		x := t.routings[b.VHost].exchanges[b.Source]
		switch {
		case x != nil && (x.kind == "direct" || x.kind == "topic" && !wildcard.IsTopic(wildcard.Words(b.RoutingKey))):
			e.Keys = append(e.Keys, b.RoutingKey)
		case x != nil && x.kind == "topic":
			e.Patterns = append(e.Patterns, b.RoutingKey)
		default:
			e.Any = true
		}
	}

	return e
}

// reasons returns why messages can leave a queue that has a dead-letter exchange. A message with its own expiration can
// expire in any queue.
func (t *Topology) reasons(ref QueueRef) []Reason {
	s, q := t.settings.of(ref), t.Queues[ref]
	reasons := []Reason{Expired, Rejected}
	if s.Bounded() && s.Overflow.Value != RejectPublish {
		reasons = append(reasons, MaxLen)
	}
	if q.Type == Quorum && s.DeliveryLimit.Set && s.DeliveryLimit.Value >= 0 {
		reasons = append(reasons, DeliveryLimit)
	}

	return reasons
}
