package model

import (
	"cmp"
	"iter"
	"slices"

	"github.com/dlxtop/dlxtop/model/wildcard"
)

// routing decides where a publish goes in one vhost. It follows RabbitMQ's own order: the exchange's bindings; its
// alternate exchange only when none of them matched; the same for each exchange that was reached; each queue once.
type routing struct {
	vhost     string
	unknown   string // why routes are unknown: "the bindings could not be read"; "" when they were read
	queues    map[string]bool
	exchanges map[string]*exchangeRouting
}

// exchangeRouting indexes the bindings of one exchange, so that a key finds its own without scanning all of them.
type exchangeRouting struct {
	kind      string // the type whose rule applies: x-delayed-message follows its x-delayed-type
	chooses   bool   // the exchange chooses among its bindings by a rule of its own: they are the possible set
	delays    bool   // x-delayed-message: it routes later, not at the time of the publish
	internal  bool
	alternate string                      // alternate exchange, "" for none
	all       []destination               // every binding, each destination once
	literal   map[string][]destination    // direct, and topic patterns without wildcards: by key
	patterns  map[string][]patternBinding // topic patterns with wildcards, by their first word; "*" and "#" among them
	headers   []headersBinding
}

type destination struct {
	name       string
	toExchange bool
}

type patternBinding struct {
	words []string
	destination
}

type headersBinding struct {
	arguments Table
	destination
}

func newRoutings(s *Snapshot) map[string]*routing {
	byVHost := map[string]*routing{}
	of := func(vhost string) *routing {
		r := byVHost[vhost]
		if r == nil {
			r = &routing{vhost: vhost, unknown: Unread(s), queues: map[string]bool{}, exchanges: map[string]*exchangeRouting{}}
			byVHost[vhost] = r
		}
		return r
	}

	for q := range Each(s.Queues) {
		of(q.VHost).queues[q.Name] = true
	}

	for x := range Each(s.Exchanges) {
		if x.Name != "" {
			of(x.VHost).exchanges[x.Name] = newExchangeRouting(x)
		}
	}

	for b := range Each(s.Bindings) {
		if x := of(b.VHost).exchanges[b.Source]; x != nil {
			x.bind(b)
		}
	}

	for _, r := range byVHost {
		for _, x := range r.exchanges {
			x.all = unique(x.all)
		}
	}

	return byVHost
}

// indexBindings indexes the bindings of exchanges by their destination, queue or exchange.
func indexBindings(s *Snapshot) (bound map[QueueRef][]int, into map[ExchangeRef][]int) {
	bound = make(map[QueueRef][]int, len(s.Queues))
	into = map[ExchangeRef][]int{}
	for i := range s.Bindings {
		if b := &s.Bindings[i]; b.ToExchange {
			at := ExchangeRef{b.VHost, b.Destination}
			into[at] = append(into[at], i)
		} else {
			ref := QueueRef{b.VHost, b.Destination}
			bound[ref] = append(bound[ref], i)
		}
	}

	return bound, into
}

// BindingsTo returns the bindings of a queue, except the one to the default exchange.
func (t *Topology) BindingsTo(ref QueueRef) iter.Seq[*Binding] {
	return func(yield func(*Binding) bool) {
		for _, i := range t.bound[ref] {
			if !yield(&t.Snapshot.Bindings[i]) {
				return
			}
		}
	}
}

// Each iterates over pointers to the elements of a list, without copying them: for q := range Each(s.Queues).
func Each[T any](list []T) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i := range list {
			if !yield(&list[i]) {
				return
			}
		}
	}
}

// Without is a new list without the elements that drop names.
func Without[S ~[]T, T any](list S, drop func(T) bool) S {
	return slices.DeleteFunc(slices.Clone(list), drop)
}

// Put puts a value into a map, and makes the map when it is nil.
func Put[M ~map[K]V, K comparable, V any](in *M, key K, value V) {
	if *in == nil {
		*in = M{}
	}
	(*in)[key] = value
}

// Mapped returns what a function makes of each element of a list.
func Mapped[T, R any](list []T, of func(*T) R) []R {
	made := make([]R, len(list))
	for i := range list {
		made[i] = of(&list[i])
	}
	return made
}

// Unread names the parts of the routing that a snapshot lacks: nil means unknown, not "none".
func Unread(s *Snapshot) string {
	switch {
	case s.Exchanges == nil:
		return "the exchanges could not be read"
	case s.Bindings == nil:
		return "the bindings could not be read"
	}

	return ""
}

func newExchangeRouting(x *Exchange) *exchangeRouting {
	r := &exchangeRouting{
		kind: x.Type, internal: x.Internal, literal: map[string][]destination{},
		patterns: map[string][]patternBinding{},
	}

	if x.Type == "x-delayed-message" {
		r.kind, _ = x.Arguments.Text("x-delayed-type")
		r.delays = true
	}

	switch r.kind {
	case "direct", "fanout", "topic", "headers", "x-recent-history":
	default:
		r.chooses = true // local random, JMS topic, and types that dlxtop does not know
	}

	var ok bool
	if r.alternate, ok = x.Arguments.Text("alternate-exchange"); !ok { // the argument beats the policy
		r.alternate, _ = x.PolicyDefinition.Text("alternate-exchange")
	}

	return r
}

func (x *exchangeRouting) bind(b *Binding) {
	d := destination{b.Destination, b.ToExchange}
	x.all = append(x.all, d)
	switch x.kind {
	case "direct":
		x.literal[b.RoutingKey] = append(x.literal[b.RoutingKey], d)
	case "topic":
		if words := wildcard.Words(b.RoutingKey); wildcard.IsTopic(words) {
			x.patterns[words[0]] = append(x.patterns[words[0]], patternBinding{words, d})
		} else {
			x.literal[b.RoutingKey] = append(x.literal[b.RoutingKey], d)
		}
	case "headers":
		x.headers = append(x.headers, headersBinding{b.Arguments, d})
	}
}

func unique(ds []destination) []destination {
	slices.SortFunc(ds, func(a, b destination) int {
		if c := cmp.Compare(a.name, b.name); c != 0 || a.toExchange == b.toExchange {
			return c
		}
		if a.toExchange {
			return 1
		}
		return -1
	})

	return slices.Compact(ds)
}

// matches returns the destinations of a message. When its keys are not known, any key is possible.
func (x *exchangeRouting) matches(m *routed) []destination {
	if x.chooses || x.kind == "fanout" || x.kind == "x-recent-history" {
		return x.all
	}
	if x.kind == "headers" {
		if !m.headersKnown {
			return x.all
		}
		var found []destination
		for _, b := range x.headers {
			if headersMatch(b.arguments, m.headers) {
				found = append(found, b.destination)
			}
		}

		return found
	}

	if !m.keysKnown {
		return x.overlapping(m.patterns)
	}
	if len(m.keys) == 1 && len(x.patterns) == 0 {
		return x.literal[m.keys[0]]
	}
	var found []destination
	for _, key := range m.keys {
		found = append(found, x.literal[key]...)
		if len(x.patterns) > 0 {
			words := wildcard.Words(key)
			first := []string{"#", "*"}
			if len(words) > 0 {
				first = append(first, words[0])
			}

			for _, word := range first {
				for _, b := range x.patterns[word] {
					if wildcard.Topic(b.words, words) {
						found = append(found, b.destination)
					}
				}
			}
		}
	}

	return found
}

// mostOverlaps bounds how many bindings are compared with the patterns of one queue.
const mostOverlaps = 2_000

// overlapping returns the destinations that some key reaches which one of these patterns matches: all of them when no
// pattern is known.
func (x *exchangeRouting) overlapping(patterns [][]string) []destination {
	if patterns == nil || len(patterns)*len(x.all) > mostOverlaps {
		return x.all
	}
	reached := func(words []string) bool {
		return slices.ContainsFunc(patterns, func(p []string) bool { return wildcard.Overlap(p, words) })
	}

	var found []destination
	for key, to := range x.literal {
		if reached(wildcard.Words(key)) {
			found = append(found, to...)
		}
	}

	for _, bindings := range x.patterns {
		for _, b := range bindings {
			if reached(b.words) {
				found = append(found, b.destination)
			}
		}
	}

	return unique(found)
}

// leadsOn reports whether an exchange has a queue for each key that one of these patterns matches.
func (r *routing) leadsOn(exchange string, patterns []string) bool {
	for _, p := range wildcard.Topics(patterns) {
		covers := func(b patternBinding) bool {
			return wildcard.Covers(b.words, p) && !b.toExchange && r.queues[b.name]
		}
		x := r.exchanges[exchange]
		led := x != nil && slices.ContainsFunc([]string{"#", "*", p[0]}, func(first string) bool {
			return slices.ContainsFunc(x.patterns[first], covers)
		})
		if !led {
			return false
		}
	}

	return true
}

// picksOne are the exchanges that give each message to one of their bindings, whatever it is.
var picksOne = map[string]bool{"x-consistent-hash": true, "x-random": true, "x-modulus-hash": true}

// inexact returns why the matches of this exchange are only the possible set, "" when they are exact.
func (x *exchangeRouting) inexact(m *routed) string {
	switch {
	case len(x.all) < 2 && picksOne[x.kind]:
	case x.chooses:
		return "an exchange of type " + Quoted(x.kind) + " chooses among its bindings by a rule of its own"
	case x.delays:
		return "an x-delayed-message exchange routes later, by the bindings of that time"
	case x.kind == "headers" && !m.headersKnown:
		return "each message's own headers decide"
	case !m.keysKnown && (x.kind == "direct" || x.kind == "topic"):
		return "each message keeps its own routing key"
	}

	return ""
}

// routed is what a route depends on: the keys (routing key, CC and BCC) and the headers.
type routed struct {
	keys         []string
	keysKnown    bool
	patterns     [][]string // the words of patterns that match the keys, when these are not known; nil: any key
	headers      Table
	headersKnown bool
}

func (r *routing) route(exchange string, m routed) Route {
	route := Route{Exact: true}
	var queues []string
	if exchange == "" {
		if !m.keysKnown {
			return Route{Why: "each message keeps its own routing key"}
		}
		for _, key := range m.keys {
			if r.queues[key] {
				queues = append(queues, key)
			}
		}

		route.Through = []ExchangeRef{{r.vhost, ""}}
		route.Queues = r.refs(queues)
		return route
	}

	if r.unknown != "" {
		return Route{Unread: true, Why: r.unknown}
	}
	first, ok := r.exchanges[exchange]
	if !ok {
		return Route{Exact: true, MissingExchange: exchange}
	}
	route.Internal = first.internal
	todo := []string{exchange}
	seen := map[string]bool{exchange: true}
	enter := func(name string) {
		if !seen[name] && r.exchanges[name] != nil {
			seen[name] = true
			todo = append(todo, name)
		}
	}

	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		x := r.exchanges[name]
		route.Through = append(route.Through, ExchangeRef{r.vhost, name})
		route.Delays = route.Delays || x.delays
		if why := x.inexact(&m); why != "" && route.Exact {
			route.Exact, route.Why, route.Chosen = false, why, x.kind != "direct" && x.kind != "topic"
		}

		found := x.matches(&m)
		if x.alternate != "" && (len(found) == 0 || x.inexact(&m) != "" && !picksOne[x.kind]) {
			enter(x.alternate)
		}

		for _, d := range found {
			if d.toExchange {
				enter(d.name)
			} else if r.queues[d.name] {
				queues = append(queues, d.name)
			}
		}
	}

	route.Queues = r.refs(queues)
	return route
}

func (r *routing) refs(names []string) []QueueRef {
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return Mapped(names, func(name *string) QueueRef { return QueueRef{r.vhost, *name} })
}
