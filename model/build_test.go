package model

import "time"

// A small language to write topologies in tests: broker("4.0.5", queue("a", dlx("x")), direct("x"), bind("x", "k", "b")).

type part func(*Snapshot)

func broker(version string, parts ...part) *Snapshot {
	s := &Snapshot{TakenAt: time.Unix(1_800_000_000, 0), Overview: Overview{Version: ParseVersion(version)}, VHosts: []string{"/"}}
	s.Exchanges = append(s.Exchanges, Exchange{ExchangeRef: ExchangeRef{"/", ""}, Type: "direct"})
	s.Bindings = []Binding{}
	for _, p := range parts {
		p(s)
	}
	return s
}

func topologyOf(version string, parts ...part) *Topology {
	return NewTopology(broker(version, parts...))
}

func ref(name string) QueueRef { return QueueRef{"/", name} }

func refs(names ...string) []QueueRef {
	var rs []QueueRef
	for _, n := range names {
		rs = append(rs, ref(n))
	}
	return rs
}

type setting func(*Queue)

func queue(name string, settings ...setting) part {
	return func(s *Snapshot) {
		q := Queue{QueueRef: ref(name), Type: Classic, Durable: true, Arguments: Table{}, PolicyDefinition: Table{}, Ready: Some[int64](0), Unacked: Some[int64](0), Consumers: Some[int64](0)}
		for _, set := range settings {
			set(&q)
		}
		s.Queues = append(s.Queues, q)
	}
}

func argument(key string, v any) setting { return func(q *Queue) { q.Arguments[key] = v } }
func dlx(name string) setting            { return argument("x-dead-letter-exchange", name) }
func deadKey(key string) setting         { return argument("x-dead-letter-routing-key", key) }
func ttl(ms int64) setting               { return argument("x-message-ttl", ms) }
func consumers(n int64) setting          { return func(q *Queue) { q.Consumers = Some(n) } }
func ready(n int64) setting              { return func(q *Queue) { q.Ready = Some(n) } }
func ofType(t QueueType) setting         { return func(q *Queue) { q.Type = t } }

func policy(name string, definition Table) setting {
	return func(q *Queue) { q.Policy, q.PolicyDefinition = name, definition }
}

func exchange(kind, name string, arguments ...any) part {
	return func(s *Snapshot) {
		x := Exchange{ExchangeRef: ExchangeRef{"/", name}, Type: kind, Arguments: Table{}}
		for i := 0; i+1 < len(arguments); i += 2 {
			x.Arguments[arguments[i].(string)] = arguments[i+1]
		}
		s.Exchanges = append(s.Exchanges, x)
	}
}

func bind(source, key, queue string) part {
	return func(s *Snapshot) {
		s.Bindings = append(s.Bindings, Binding{VHost: "/", Source: source, RoutingKey: key, Destination: queue})
	}
}

func bindExchange(source, key, destination string) part {
	return func(s *Snapshot) {
		s.Bindings = append(s.Bindings, Binding{VHost: "/", Source: source, RoutingKey: key, Destination: destination, ToExchange: true})
	}
}

func bindHeaders(source, queue string, arguments Table) part {
	return func(s *Snapshot) {
		s.Bindings = append(s.Bindings, Binding{VHost: "/", Source: source, Destination: queue, Arguments: arguments})
	}
}

// userPolicy is a policy of the broker's list; which queue it applies to is the queue's own setting. applyTo: queues, when not given.
func userPolicy(name, pattern string, priority int64, definition Table, applyTo ...string) part {
	return func(s *Snapshot) {
		p := Policy{VHost: "/", Name: name, Pattern: pattern, Priority: priority, Definition: definition, ApplyTo: "queues"}
		for _, to := range applyTo {
			p.ApplyTo = to
		}
		s.Policies = append(s.Policies, p)
	}
}
