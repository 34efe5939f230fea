package model

import (
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model/wildcard"
)

// anyWord stands in an example of a pattern for a word that no binding has.
const anyWord = "…"

// mostArrivals bounds how many keys of one queue are followed: routing tables can have thousands.
const mostArrivals = 100

// ArrivalKey is a routing key with which messages come into a queue.
type ArrivalKey struct {
	Key     string
	Pattern string // of the binding, when Key is only an example of what it matches
}

// ArrivalKeys returns the routing keys with which messages enter a queue, as far as bindings show; for a topic pattern
// they are examples. A queue without bindings is reached by its own name through the default exchange. Exchanges that
// ignore the key accept any, so they contribute none.
func (t *Topology) ArrivalKeys(ref QueueRef) []ArrivalKey {
	if len(t.bound[ref]) == 0 {
		return []ArrivalKey{{Key: ref.Name}}
	}
	var keys []ArrivalKey
	for b := range t.BindingsTo(ref) {
		for _, k := range t.keysThrough(b, map[string]bool{}) {
			if len(keys) < mostArrivals && !slices.Contains(keys, k) &&
				slices.Contains(t.Route(ref.VHost, b.Source, []string{k.Key}, nil).Queues, ref) {
				keys = append(keys, k)
			}
		}
	}

	return keys
}

// keysThrough returns the keys of messages that pass a binding. Behind exchange-to-exchange bindings, only the keys
// that all of them let through count.
func (t *Topology) keysThrough(b *Binding, passed map[string]bool) []ArrivalKey {
	var own []ArrivalKey
	wide := true
	if x := t.routings[b.VHost].exchanges[b.Source]; x != nil && !x.chooses {
		words := wildcard.Words(b.RoutingKey)
		switch {
		case x.kind == "direct", x.kind == "topic" && !wildcard.IsTopic(words):
			own = []ArrivalKey{{Key: b.RoutingKey}}
			wide = false
		case x.kind == "topic":
			own = examplesOf(b.RoutingKey, words)
		}
	}

	if !wide || passed[b.Source] {
		return own
	}
	passed[b.Source] = true
	var before []ArrivalKey
	for _, i := range t.into[b.From()] {
		before = append(before, t.keysThrough(&t.Snapshot.Bindings[i], passed)...)
	}
	if len(before) > 0 {
		return before
	}

	return own
}

// examplesOf returns keys that a topic pattern matches: with nothing in place of each #, and with one word.
func examplesOf(pattern string, words []string) []ArrivalKey {
	var short, long []string
	for _, w := range words {
		switch w {
		case "#":
			long = append(long, anyWord)
		case "*":
			short = append(short, anyWord)
			long = append(long, anyWord)
		default:
			short, long = append(short, w), append(long, w)
		}
	}

	keys := []ArrivalKey{{strings.Join(long, "."), pattern}}
	if len(short) < len(long) && len(short) > 0 {
		keys = append(keys, ArrivalKey{strings.Join(short, "."), pattern})
	}

	return keys
}

// Name returns the key as it is bound, in words.
func (k ArrivalKey) Name() string {
	if k.Pattern != "" {
		return Quoted(k.Pattern)
	}
	return Quoted(k.Key)
}

// DeadLetterWith returns where a dead letter with only this routing key goes; its headers are unknown.
func (t *Topology) DeadLetterWith(ref QueueRef, key string) Route {
	s := t.settings.of(ref)
	if s.Key.Set {
		key = s.Key.Value
	}
	return t.deadLetterRoute(ref.VHost, s.DLX.Value, routed{keys: []string{key}, keysKnown: true})
}
