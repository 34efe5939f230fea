package model

import (
	"maps"
	"slices"
)

// DeadEnd is where a dead letter is lost.
type DeadEnd struct {
	Queue    QueueRef // the last queue that it leaves
	Exchange string   // the queue's dead-letter exchange, which routes the message to no queue
	Key      string   // the message's routing key at that exchange
}

// DeadEnd follows a dead letter with these keys (the routing key first, then CC) and headers, through buffers, until a
// queue keeps it or it is lost for one of the reasons for which it may leave. It is false when the message is kept, and
// when that is unknown. Nil keys and headers are unknown.
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
		dead := maps.Clone(headers) // a headers exchange may match headers that RabbitMQ adds
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

// Possible returns the queues that a message published at an address can reach, whatever its headers are.
func (t *Topology) Possible(vhost string, a Address) []QueueRef {
	return t.deadLetterRoute(vhost, a.Exchange, routed{keys: []string{a.RoutingKey}, keysKnown: true}).Queues
}

// Hears reports whether an application may be reached through this queue by the routing key: the queue is bound with
// it, or has no bindings at all.
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
