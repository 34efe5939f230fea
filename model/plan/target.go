package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// TargetMode is how the address of a replayed message is chosen.
type TargetMode string

// The modes, as --to names them.
const (
	// ToAuto is the narrowest address that keeps the routing key which the worker expects: the message's own origin
	// when that reaches only the worker; else the flow's own way back; else the worker by name through the default
	// exchange.
	ToAuto     TargetMode = "auto"
	ToOrigin   TargetMode = "origin"   // where the message was first published
	ToQueue    TargetMode = "queue"    // one queue, through the default exchange
	ToExchange TargetMode = "exchange" // a fixed exchange and key
)

// Target says where a replay goes. The topology that it was made of tells the way of each message.
type Target struct {
	Mode     TargetMode
	From     model.QueueRef
	Workers  []model.QueueRef  // the workers of the flows that From belongs to
	Fixed    model.Address     // of ToQueue and ToExchange
	WaysBack [][]model.Address // for each of Workers: the flow's own ways from a buffer back to it, narrowest first
	ByName   bool              // nothing but its name ties From to Workers
	Alike    []model.QueueRef  // workers whose names begin like that of From: offered when nothing else is known
	Inside   bool              // From is a worker or a buffer of its flows: its messages are for Workers
}

// Way is where one message goes and whom it reaches there.
type Way struct {
	model.Address
	Reaches []model.QueueRef // the queues that receive it, sorted
	Exact   bool             // false: an exchange type on the way makes Reaches the possible set only
	Why     string           // "its origin", "the flow's way back", …
	Clue    *Clue            // what tells the worker, of ToAuto; nil: the flow alone
	Against []Clue           // what tells otherwise, and weighs less
	Problem *Objection       // why it cannot be replayed there, nil when it can
}

// ParseTarget reads --to: auto, origin, queue:NAME or exchange:NAME/KEY (the key may hold further slashes).
func ParseTarget(to string) (TargetMode, model.Address, error) {
	kind, rest, _ := strings.Cut(to, ":")
	switch {
	case to == "" || to == string(ToAuto):
		return ToAuto, model.Address{}, nil
	case to == string(ToOrigin):
		return ToOrigin, model.Address{}, nil
	case kind == string(ToQueue) && rest != "":
		return ToQueue, model.Address{RoutingKey: rest}, nil
	case kind == string(ToExchange) && rest != "":
		name, key, _ := strings.Cut(rest, "/")
		return ToExchange, model.Address{Exchange: name, RoutingKey: key}, nil
	}
	return "", model.Address{}, fmt.Errorf("%s is not a target: use auto, origin, queue:NAME or exchange:NAME/KEY",
		message.Excerpt(to))
}

// To is where a replay or a move goes, as --to would name it; "auto" when that differs from message to message, "" when
// it is neither.
func (p *Plan) To() string {
	switch {
	case p.Operation != Replay && p.Operation != Move:
		return ""
	case p.Target.Mode != ToAuto || len(p.Ways) != 1:
		return named(p.Target.Fixed, p.Target.Mode)
	case p.Ways[0].Exchange == "":
		return named(p.Ways[0].Address, ToQueue)
	}
	return named(p.Ways[0].Address, ToExchange)
}

// Went is To for the journal: what went to queues that differ from message to message has these by name.
func (p *Plan) Went() string {
	to := p.To()
	if to != string(ToAuto) || len(p.Recipients) == 0 {
		return to
	}
	var names []string
	for i, r := range p.Recipients {
		if i == mostOffered {
			names = append(names, fmt.Sprintf("%d more", len(p.Recipients)-i))
			break
		}
		names = append(names, r.Queue.Name)
	}
	return string(ToQueue) + ":" + strings.Join(names, ", ")
}

func named(a model.Address, mode TargetMode) string {
	switch mode {
	case ToQueue:
		return fmt.Sprintf("%s:%s", mode, a.RoutingKey)
	case ToExchange:
		return fmt.Sprintf("%s:%s/%s", mode, a.Exchange, a.RoutingKey)
	}
	return string(mode)
}

// targetOf prepares where a replay from a queue goes. The mode and fixed address are those of ParseTarget.
func targetOf(t *model.Topology, from model.QueueRef, mode TargetMode, fixed model.Address) Target {
	target := Target{Mode: mode, From: from, Fixed: fixed}
	if mode == ToAuto {
		target.Alike = t.NamedLike(from)
	}
	flows := t.FlowsOf(from)
	target.ByName = len(flows) > 0
	for _, flow := range flows {
		worker := flow.Worker.Queue
		if role := flow.Role(from); role != model.FailedRole {
			target.Inside = true
		}
		if !slices.ContainsFunc(flow.Failed, func(m model.Member) bool { return m.Queue == from && m.ByName }) {
			target.ByName = false
		}
		target.Workers = append(target.Workers, worker)
		target.WaysBack = append(target.WaysBack, waysBack(t, flow))
	}
	return target
}

// waysBack are the addresses at which the flow's buffers hand their messages to the worker: retry buffers first, and of
// those the ones that reach nobody else.
func waysBack(t *model.Topology, flow *model.Flow) []model.Address {
	type candidate struct {
		model.Address
		reaches int
	}
	var found []candidate
	for _, b := range flow.Buffers {
		for _, hop := range t.Hops(b.Queue) {
			if hop.Reason != model.Expired || hop.Exchange == "" || len(hop.Keys) != 1 || !hop.Route.Exact {
				continue
			}
			if slices.Contains(hop.Route.Queues, flow.Worker.Queue) {
				found = append(found, candidate{
					model.Address{Exchange: hop.Exchange, RoutingKey: hop.Keys[0]},
					len(hop.Route.Queues),
				})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return a.reaches - b.reaches })
	var ways []model.Address
	for _, c := range found {
		if !slices.Contains(ways, c.Address) {
			ways = append(ways, c.Address)
		}
	}
	return ways
}

// wayOf decides where one message goes, whose envelope, if there is one, is open.
func (t *Target) wayOf(r *model.Topology, m *message.Message, o message.Opened) Way {
	if t.Mode == ToQueue || t.Mode == ToExchange {
		return t.way(r, t.Fixed, "chosen", o.Message)
	}
	origin, _ := m.OriginBy(o.Envelope)
	if t.Mode == ToOrigin {
		return t.way(r, origin, "its origin", o.Message)
	}
	c := t.choose(r, m, o.Envelope)
	if c.problem != nil {
		return Way{Problem: c.problem}
	}
	workers := t.Workers
	if c.clue != nil {
		workers = []model.QueueRef{c.clue.Queue}
	}
	w := t.way(r, origin, "its origin", o.Message)
	if !w.reachesOnly(workers...) {
		w = t.wayTo(r, c.clue, m, o.Message)
	}
	w.Clue, w.Against = c.clue, c.against
	return w
}

// wayTo is the way of a message, whose origin does not lead to the worker alone. clue tells the worker; nil: its flows.
func (t *Target) wayTo(r *model.Topology, clue *Clue, m, opened *message.Message) Way {
	worker, why := model.QueueRef{}, "the worker by name"
	if clue != nil {
		worker, why = clue.Queue, clue.why()
	} else {
		var ok bool
		if worker, ok = t.workerOf(m); !ok {
			return Way{Problem: &Objection{Kind: ManyFlows, Workers: t.Workers}}
		}
	}
	for _, address := range t.waysBackTo(worker) {
		if w := t.way(r, address, "the flow's own way back", opened); w.reachesOnly(worker) {
			return w
		}
	}
	return t.way(r, model.Address{RoutingKey: worker.Name}, why, opened)
}

// waysBackTo are the flow's own ways to a worker.
func (t *Target) waysBackTo(worker model.QueueRef) []model.Address {
	if i := slices.Index(t.Workers, worker); i >= 0 {
		return t.WaysBack[i]
	}
	return nil
}

// workerOf finds the worker that a message is for: the only one there is, or the one in which it died last.
func (t *Target) workerOf(m *message.Message) (model.QueueRef, bool) {
	if len(t.Workers) == 1 {
		return t.Workers[0], true
	}
	for _, death := range m.Deaths {
		if ref := (model.QueueRef{VHost: t.From.VHost, Name: death.Queue}); slices.Contains(t.Workers, ref) {
			return ref, true
		}
	}
	return model.QueueRef{}, false
}

// reachesOnly reports whether a message goes to exactly one queue, and that is one of these.
func (w Way) reachesOnly(workers ...model.QueueRef) bool {
	return w.Problem == nil && w.Exact && len(w.Reaches) == 1 && slices.Contains(workers, w.Reaches[0])
}

func (t *Target) way(r *model.Topology, a model.Address, why string, m *message.Message) Way {
	route := r.Route(t.From.VHost, a.Exchange, []string{a.RoutingKey}, m.ReplayHeaders())
	w := Way{Address: a, Reaches: route.Queues, Exact: route.Exact, Why: why}
	switch {
	case route.MissingExchange != "":
		w.Problem = &Objection{Kind: NoExchange, Exchange: route.MissingExchange}
	case route.Internal:
		w.Problem = &Objection{Kind: InternalOne, Exchange: a.Exchange}
	case route.Delays:
		w.Problem = &Objection{Kind: DelayingOne, Exchange: a.Exchange}
	case len(route.Queues) == 0 && !route.Exact:
		w.Problem = &Objection{Kind: UnknownReach, Why: route.Why}
	case len(route.Queues) == 0:
		w.Problem = &Objection{Kind: NoBinding, Exchange: a.Exchange, RoutingKey: a.RoutingKey}
	}
	return w
}
