package model

import (
	"maps"
	"reflect"
	"slices"
)

// sameStructure reports whether two polls saw the same queues, exchanges, bindings and policies, whatever the queues
// contain, and the same Seen: then settings, routing and hops are the same too. The same objects in another order count
// as a change.
func sameStructure(a, b *Snapshot) bool {
	return a.Overview.Version == b.Overview.Version &&
		(a.Exchanges == nil) == (b.Exchanges == nil) && (a.Bindings == nil) == (b.Bindings == nil) &&
		slices.EqualFunc(a.Queues, b.Queues, func(x, y Queue) bool {
			return x.QueueRef == y.QueueRef && x.Type == y.Type && x.Durable == y.Durable && x.AutoDelete == y.AutoDelete &&
				x.Exclusive == y.Exclusive && x.Policy == y.Policy && x.OperatorPolicy == y.OperatorPolicy &&
				sameTable(x.Arguments, y.Arguments) && sameTable(x.PolicyDefinition, y.PolicyDefinition)
		}) &&
		slices.EqualFunc(a.Exchanges, b.Exchanges, func(x, y Exchange) bool {
			return x.ExchangeRef == y.ExchangeRef && x.Type == y.Type && x.Internal == y.Internal && x.Policy == y.Policy &&
				sameTable(x.Arguments, y.Arguments) && sameTable(x.PolicyDefinition, y.PolicyDefinition)
		}) &&
		slices.EqualFunc(a.Bindings, b.Bindings, func(x, y Binding) bool {
			return x.VHost == y.VHost && x.Source == y.Source && x.Destination == y.Destination &&
				x.ToExchange == y.ToExchange && x.PropertiesKey == y.PropertiesKey &&
				x.RoutingKey == y.RoutingKey && sameTable(x.Arguments, y.Arguments)
		}) &&
		slices.EqualFunc(a.Policies, b.Policies, func(x, y Policy) bool {
			return x.VHost == y.VHost && x.Name == y.Name && x.Operator == y.Operator && x.Pattern == y.Pattern &&
				x.ApplyTo == y.ApplyTo && x.Priority == y.Priority && sameTable(x.Definition, y.Definition)
		}) &&
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

// sameTable compares tables as the management API writes them. An unknown one (nil) is not an empty one.
func sameTable(a, b Table) bool {
	return (a == nil) == (b == nil) && maps.EqualFunc(a, b, sameJSON)
}

func sameJSON(a, b any) bool {
	switch a := a.(type) {
	case Table:
		b, ok := b.(Table)
		return ok && sameTable(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, sameJSON)
	case []byte:
		b, ok := b.([]byte)
		return ok && slices.Equal(a, b)
	}

	switch b.(type) {
	case Table, []any, []byte:
		return false
	}

	return a == b
}
