package model

import (
	"reflect"
	"slices"
)

// sameStructure reports whether two polls saw the same queues, exchanges, bindings and policies, whatever the queues
// contain, and the same Seen: then settings, routing and hops are the same too. The same objects in another order count
// as a change.
func sameStructure(a, b *Snapshot) bool {
	return a.Overview.Version == b.Overview.Version &&
		(a.Exchanges == nil) == (b.Exchanges == nil) &&
		slices.EqualFunc(a.Queues, b.Queues, func(x, y Queue) bool {
			return x.QueueRef == y.QueueRef && x.Type == y.Type && x.Durable == y.Durable && x.AutoDelete == y.AutoDelete &&
				x.Exclusive == y.Exclusive && x.Policy == y.Policy && x.OperatorPolicy == y.OperatorPolicy &&
				reflect.DeepEqual(x.Arguments, y.Arguments) && reflect.DeepEqual(x.PolicyDefinition, y.PolicyDefinition)
		}) &&
		slices.EqualFunc(a.Exchanges, b.Exchanges, func(x, y Exchange) bool {
			return x.ExchangeRef == y.ExchangeRef && x.Type == y.Type && x.Internal == y.Internal && x.Policy == y.Policy &&
				reflect.DeepEqual(x.Arguments, y.Arguments) && reflect.DeepEqual(x.PolicyDefinition, y.PolicyDefinition)
		}) &&
		reflect.DeepEqual(a.Bindings, b.Bindings) && reflect.DeepEqual(a.Policies, b.Policies) &&
		reflect.DeepEqual(a.Seen, b.Seen) && slices.Equal(a.Stated, b.Stated)
}

// sharing returns a snapshot that takes unchanged parts from an earlier one with the same structure, so that they are
// in memory once: on a broker with 10,000 queues and 30,000 bindings most of a poll is names and tables.
func sharing(earlier, s *Snapshot) *Snapshot {
	shared := *s
	shared.Bindings = earlier.Bindings
	shared.Queues = slices.Clone(s.Queues)
	for i := range shared.Queues {
		q := &shared.Queues[i]
		before := &earlier.Queues[i]
		q.QueueRef = before.QueueRef
		q.Type = before.Type
		q.Arguments = before.Arguments
		q.Policy = before.Policy
		q.OperatorPolicy = before.OperatorPolicy
		q.PolicyDefinition = before.PolicyDefinition
		if q.State == before.State {
			q.State = before.State
		}
		if q.Node == before.Node {
			q.Node = before.Node
		}
		if q.Members != nil && slices.Equal(q.Members, before.Members) {
			q.Members = before.Members
		}
		if q.Online != nil && slices.Equal(q.Online, before.Online) {
			q.Online = before.Online
		}
	}

	shared.Exchanges = slices.Clone(s.Exchanges)
	for i := range shared.Exchanges {
		x := &shared.Exchanges[i]
		before := &earlier.Exchanges[i]
		x.ExchangeRef = before.ExchangeRef
		x.Type = before.Type
		x.Arguments = before.Arguments
		x.Policy = before.Policy
		x.PolicyDefinition = before.PolicyDefinition
	}

	return &shared
}
