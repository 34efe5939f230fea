package model

import (
	"fmt"
	"slices"
	"strings"
)

// TargetMode is how the address of a replayed message is chosen.
type TargetMode string

// The modes, as --to names them.
const (
	// ToAuto is the narrowest address that keeps the routing key which the worker expects: the message's own origin when that
	// reaches only the worker; else the flow's own way back; else the worker by name through the default exchange.
	ToAuto     TargetMode = "auto"
	ToOrigin   TargetMode = "origin"   // where the message was first published
	ToQueue    TargetMode = "queue"    // one queue, through the default exchange
	ToExchange TargetMode = "exchange" // a fixed exchange and key
)

// Target says where a replay goes. It is made by Topology.Target, which knows the routing.
type Target struct {
	Mode     TargetMode
	From     QueueRef
	Workers  []QueueRef             // the workers of the flows that From belongs to
	Fixed    Address                // of ToQueue and ToExchange
	WaysBack map[QueueRef][]Address // for each worker: the flow's own ways from a buffer back to it, narrowest first
	topology *Topology
}

// Way is where one message goes and whom it reaches there.
type Way struct {
	Address
	Reaches []QueueRef // the queues that receive it, sorted
	Exact   bool       // false: an exchange type on the way makes Reaches the possible set only
	Why     string     // "its origin", "the flow's way back", …
	Problem string     // why it cannot be replayed there, "" when it can
}

// ParseTarget reads --to: auto, origin, queue:NAME or exchange:NAME/KEY (the key may hold further slashes).
func ParseTarget(to string) (TargetMode, Address, error) {
	kind, rest, _ := strings.Cut(to, ":")
	switch {
	case to == "" || to == string(ToAuto):
		return ToAuto, Address{}, nil
	case to == string(ToOrigin):
		return ToOrigin, Address{}, nil
	case kind == string(ToQueue) && rest != "":
		return ToQueue, Address{RoutingKey: rest}, nil
	case kind == string(ToExchange) && rest != "":
		name, key, _ := strings.Cut(rest, "/")
		return ToExchange, Address{Exchange: name, RoutingKey: key}, nil
	}
	return "", Address{}, fmt.Errorf("%q is no target: use auto, origin, queue:NAME or exchange:NAME/KEY", to)
}

// To is where a replay or a move goes, as --to would name it; "auto" when that differs from message to message, "" when it is neither.
func (p *Plan) To() string {
	switch {
	case p.Operation != Replay && p.Operation != Move:
		return ""
	case p.Target.Mode != ToAuto || len(p.Ways) != 1:
		return p.Target.Fixed.named(p.Target.Mode)
	case p.Ways[0].Exchange == "":
		return p.Ways[0].named(ToQueue)
	}
	return p.Ways[0].named(ToExchange)
}

func (a Address) named(mode TargetMode) string {
	switch mode {
	case ToQueue:
		return fmt.Sprintf("%s:%s", mode, a.RoutingKey)
	case ToExchange:
		return fmt.Sprintf("%s:%s/%s", mode, a.Exchange, a.RoutingKey)
	}
	return string(mode)
}

// Target prepares where a replay from a queue goes. The mode and fixed address are those of ParseTarget.
func (t *Topology) Target(from QueueRef, mode TargetMode, fixed Address) Target {
	target := Target{Mode: mode, From: from, Fixed: fixed, WaysBack: map[QueueRef][]Address{}, topology: t}
	for _, flow := range t.FlowsOf(from) {
		worker := flow.Worker.Queue
		target.Workers = append(target.Workers, worker)
		target.WaysBack[worker] = t.waysBack(flow)
	}
	return target
}

// waysBack are the addresses at which the flow's buffers hand their messages to the worker: retry buffers first, and of
// those the ones that reach nobody else.
func (t *Topology) waysBack(flow *Flow) []Address {
	type candidate struct {
		Address
		reaches int
	}
	var found []candidate
	for _, b := range flow.Buffers {
		for _, hop := range t.Hops(b.Queue) {
			if hop.Reason != Expired || hop.Exchange == "" || len(hop.Keys) != 1 || !hop.Route.Exact {
				continue
			}
			if slices.Contains(hop.Route.Queues, flow.Worker.Queue) {
				found = append(found, candidate{Address{hop.Exchange, hop.Keys[0]}, len(hop.Route.Queues)})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return a.reaches - b.reaches })
	var ways []Address
	for _, c := range found {
		if !slices.Contains(ways, c.Address) {
			ways = append(ways, c.Address)
		}
	}
	return ways
}

// Way decides where one message goes.
func (t Target) Way(m *Message) Way {
	return t.wayOf(m, opening(m))
}

// wayOf is Way for a message whose envelope, if there is one, is open.
func (t Target) wayOf(m *Message, o opened) Way {
	if t.Mode == ToQueue || t.Mode == ToExchange {
		return t.way(t.Fixed, "chosen", o.Message)
	}
	origin, _ := m.originBy(o.envelope)
	if t.Mode == ToOrigin {
		return t.way(origin, "its origin", o.Message)
	}
	worker, why, ok := t.evidence(m, o.envelope)
	if !ok && len(t.Workers) == 0 {
		return Way{Problem: "this queue belongs to no flow, and the message does not tell its worker: name a target, for example queue:NAME"}
	}
	workers := t.Workers
	if ok {
		workers = []QueueRef{worker}
	}
	if w := t.way(origin, "its origin", o.Message); w.reachesOnly(workers...) {
		return w
	}
	if !ok {
		worker, ok = t.workerOf(m)
		why = "the worker by name"
	}
	if !ok {
		return Way{Problem: fmt.Sprintf("this queue belongs to %d flows (%s), and nothing tells which worker the message is for: name a target, for example queue:NAME", len(t.Workers), list(t.Workers))}
	}
	for _, address := range t.WaysBack[worker] {
		if w := t.way(address, "the flow's own way back", o.Message); w.reachesOnly(worker) {
			return w
		}
	}
	return t.way(Address{RoutingKey: worker.Name}, why, o.Message)
}

// evidence is the worker in which the message itself says that it failed, when there is such a queue.
func (t Target) evidence(m *Message, e *Envelope) (worker QueueRef, why string, ok bool) {
	name, framework, ok := m.workerBy(e)
	worker = QueueRef{t.From.VHost, name}
	if _, exists := t.topology.Queue(worker); !ok || !exists || worker == t.From {
		return QueueRef{}, "", false
	}
	return worker, "the worker that it failed in, as " + framework + " wrote it", true
}

// workerOf finds the worker that a message is for: the only one there is, or the one in which it died last.
func (t Target) workerOf(m *Message) (QueueRef, bool) {
	if len(t.Workers) == 1 {
		return t.Workers[0], true
	}
	for _, death := range m.Deaths {
		if ref := (QueueRef{t.From.VHost, death.Queue}); slices.Contains(t.Workers, ref) {
			return ref, true
		}
	}
	return QueueRef{}, false
}

// reachesOnly reports whether a message goes to exactly one queue, and that is one of these.
func (w Way) reachesOnly(workers ...QueueRef) bool {
	return w.Problem == "" && w.Exact && len(w.Reaches) == 1 && slices.Contains(workers, w.Reaches[0])
}

func (t Target) way(a Address, why string, m *Message) Way {
	route := t.topology.Route(t.From.VHost, a.Exchange, []string{a.RoutingKey}, m.replayHeaders())
	w := Way{Address: a, Reaches: route.Queues, Exact: route.Exact, Why: why}
	switch {
	case route.MissingExchange != "":
		w.Problem = fmt.Sprintf("the exchange %s does not exist", route.MissingExchange)
	case route.Internal:
		w.Problem = fmt.Sprintf("the exchange %s is internal: nobody can publish to it", a.Exchange)
	case route.Delays:
		w.Problem = fmt.Sprintf("the exchange %s delays (x-delayed-message): it says at once that no queue took the message and delivers it later, so nobody could tell whether it arrived", a.Exchange)
	case len(route.Queues) == 0 && !route.Exact:
		w.Problem = fmt.Sprintf("nobody can tell whom it would reach: %s", route.Why)
	case len(route.Queues) == 0:
		w.Problem = fmt.Sprintf("no queue is bound for key %s on %s", quoted(a.RoutingKey), ExchangeName(a.Exchange))
	}
	return w
}

// replayHeaders are the headers that a replay of m keeps: a headers exchange on the way looks at them.
func (m *Message) replayHeaders() Table {
	whole := true
	for key := range m.Headers {
		whole = whole && !isBrokerHeader(key)
	}
	if whole {
		return m.Headers
	}
	kept := make(Table, len(m.Headers))
	for key, v := range m.Headers {
		if !isBrokerHeader(key) {
			kept[key] = v
		}
	}
	return kept
}

// ExchangeName is an exchange's name for people: the default exchange has none.
func ExchangeName(name string) string {
	if name == "" {
		return "(default)"
	}
	return name
}

func quoted(s string) string {
	if s == "" {
		return `""`
	}
	return s
}
