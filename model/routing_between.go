package model

import "slices"

// RouteBetween returns the queues that a publish may have reached at some moment between two topologies, t being the
// newer one. The bindings of either may have existed, in any order, and an alternate exchange gets messages unless some
// binding matches all the time. Bindings made and removed in between are in neither.
func (t *Topology) RouteBetween(before *Topology, vhost string, a Address, headers Table) []QueueRef {
	then := before.routings[vhost]
	now := t.routings[vhost]
	if then == nil || now == nil || a.Exchange == "" {
		return t.Route(vhost, a.Exchange, []string{a.RoutingKey}, headers).Queues
	}
	m := routed{keys: []string{a.RoutingKey}, keysKnown: true, headers: headers, headersKnown: true}
	var queues []string
	todo := []string{a.Exchange}
	seen := map[string]bool{a.Exchange: true}
	enter := func(name string) {
		if name != "" && !seen[name] {
			seen[name] = true
			todo = append(todo, name)
		}
	}

	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		was, alternateThen := then.passing(name, &m)
		is, alternateNow := now.passing(name, &m)
		if !slices.ContainsFunc(is, func(d destination) bool { return slices.Contains(was, d) }) {
			enter(alternateThen)
			enter(alternateNow)
		}

		for _, d := range slices.Concat(was, is) {
			if d.toExchange {
				enter(d.name)
			} else if then.queues[d.name] || now.queues[d.name] {
				queues = append(queues, d.name)
			}
		}
	}

	return now.refs(queues)
}

// passing returns a message's destinations at an exchange, and its alternate exchange; none when the exchange does not
// exist.
func (r *routing) passing(exchange string, m *routed) (to []destination, alternate string) {
	if x := r.exchanges[exchange]; x != nil {
		return x.matches(m), x.alternate
	}
	return nil, ""
}
