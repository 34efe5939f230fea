package model

import (
	"maps"
	"slices"
)

// DeadEnd is where a message is lost that leaves a queue as a dead letter.
type DeadEnd struct {
	Queue    QueueRef // the last one that it leaves
	Exchange string   // its dead-letter exchange, which leads the message to no queue
	Key      string   // the routing key it has there
}

// DeadEnd follows a message that leaves a queue as a dead letter with these keys (the routing key first, then CC) and
// headers, and through buffers, until a queue keeps it or, for one reason of leaving or another, it is lost. It is
// false when it is kept, and when that is not known. Keys and headers that are nil are not known.
func (t *Topology) DeadEnd(ref QueueRef, keys []string, headers Table) (end DeadEnd, lost bool) {
	for _, hop := range t.hops[ref] {
		if hop.Reason == Expired && !t.settings.of(ref).TTL.Set {
			continue
		}
		if end, lost = t.deadEnd(hop, keys, headers, map[QueueRef]bool{}); !lost {
			return DeadEnd{}, false // the reason can only lead it to further queues
		}
		if headers == nil {
			return end, true
		}
		dead := maps.Clone(headers) // a binding of a headers exchange can ask for what RabbitMQ adds
		dead["x-first-death-queue"], dead["x-first-death-reason"] = ref.Name, string(hop.Reason)
		if end, lost = t.deadEnd(hop, keys, dead, map[QueueRef]bool{}); lost {
			return end, true
		}
	}
	return DeadEnd{}, false
}

func (t *Topology) deadEnd(hop Hop, keys []string, headers Table, seen map[QueueRef]bool) (end DeadEnd, lost bool) {
	if len(hop.Keys) > 0 {
		keys = hop.Keys
	}
	route := t.deadLetterRoute(hop.From.VHost, hop.Exchange, routed{
		keys: keys, keysKnown: keys != nil, headers: headers, headersKnown: headers != nil,
	})
	switch {
	case !route.Exact, len(route.Queues) == 0 && t.settings.of(hop.From).KeepsDeadLetters():
		return DeadEnd{}, false
	case len(route.Queues) == 0:
		end = DeadEnd{Queue: hop.From, Exchange: hop.Exchange}
		if len(keys) > 0 {
			end.Key = keys[0]
		}
		return end, true
	}
	seen[hop.From] = true
	for _, ref := range route.Queues {
		next, leaves := t.Hop(ref, Expired)
		if seen[ref] || !leaves || !t.settings.of(ref).TTL.Set || t.worked[ref] || t.Queues[ref].Consumers.Or(0) > 0 {
			return DeadEnd{}, false
		}
		if end, lost = t.deadEnd(*next, keys, headers, seen); !lost {
			return DeadEnd{}, false
		}
	}
	return end, true
}

// Possible are the queues that a message published at an address can reach, whatever its headers are.
func (t *Topology) Possible(vhost string, a Address) []QueueRef {
	return t.deadLetterRoute(vhost, a.Exchange, routed{keys: []string{a.RoutingKey}, keysKnown: true}).Queues
}

// Hears reports whether a queue can be one of those that an application reaches by this routing key: it is bound for
// it, or to no exchange at all.
func (t *Topology) Hears(ref QueueRef, key string) bool {
	bound := false
	for b := range t.BindingsTo(ref) {
		if slices.Contains(t.Possible(ref.VHost, Address{b.Source, key}), ref) {
			return true
		}
		bound = true
	}
	return !bound
}
