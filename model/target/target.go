package target

import (
	"slices"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/loss"
	"github.com/dlxtop/dlxtop/model/message"
)

// Mode is how the address of a replayed message is chosen.
type Mode string

// The modes, as --to names them.
const (
	// ToAuto is the narrowest address that keeps the routing key which the worker expects: the message's own origin if
	// that reaches only the worker; otherwise the flow's own way back; otherwise the worker by name through the default
	// exchange.
	ToAuto     Mode = "auto"
	ToOrigin   Mode = "origin"   // where the message was first published
	ToQueue    Mode = "queue"    // one queue, through the default exchange
	ToExchange Mode = "exchange" // a fixed exchange and key
)

// Target is where a replay goes. The topology that it was made from gives the way of each message.
type Target struct {
	Mode     Mode
	From     model.QueueRef
	Workers  []model.QueueRef  // the workers of the flows that From belongs to
	Fixed    model.Address     // for ToQueue and ToExchange
	WaysBack [][]model.Address // for each of Workers: the flow's own ways from a buffer back to it, narrowest first
	ByName   bool              // only its name ties From to Workers
	Alike    []model.QueueRef  // workers whose names begin like From's: offered when nothing else is known
	Inside   bool              // From is a worker or a buffer of its flows: its messages are for Workers
}

// Way is where one message goes and which queues it reaches.
type Way struct {
	model.Address
	Reaches []model.QueueRef    // the queues that receive it, sorted
	Exact   bool                // false: an exchange type on the way makes Reaches only the possible set
	Why     string              // "its origin", "the flow's way back", …
	Clue    *Clue               // how ToAuto knows the worker; nil: from the flow alone
	Against []Clue              // weaker evidence for other workers
	Problem model.Objection     // why it cannot be sent there, nil when it can; a plan has no such way
	Again   *loss.SecondFailure // how it is lost if it fails again there; nil: it is not
}

// New prepares where a replay from a queue goes. The mode and fixed address are those of Parse.
func New(t *model.Topology, from model.QueueRef, mode Mode, fixed model.Address) Target {
	to := Target{Mode: mode, From: from, Fixed: fixed}
	if mode == ToAuto {
		to.Alike = t.NamedLike(from)
	}
	flows := t.FlowsOf(from)
	to.ByName = len(flows) > 0
	for _, flow := range flows {
		worker := flow.Worker.Queue
		if role := flow.Role(from); role != model.FailedRole {
			to.Inside = true
		}
		if !slices.ContainsFunc(flow.Failed, func(m model.Member) bool { return m.Queue == from && m.ByName }) {
			to.ByName = false
		}
		to.Workers = append(to.Workers, worker)
		to.WaysBack = append(to.WaysBack, waysBack(t, flow))
	}
	return to
}

// waysBack are the addresses at which the flow's buffers pass messages to the worker: retry buffers first, and among
// those the ones that reach no other queue.
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
					model.Address{Exchange: hop.Exchange, RoutingKey: hop.Keys[0]}, len(hop.Route.Queues),
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

// WayOf decides where one message goes; its envelope, if any, must be open.
func (t *Target) WayOf(r *model.Topology, m *message.Message, o message.Opened) Way {
	c := copied{r, m, o.Envelope, o.ReplayHeaders()}
	if t.Mode == ToQueue || t.Mode == ToExchange {
		return t.routeBy(c, t.Fixed, "chosen")
	}
	origin, _ := m.OriginBy(o.Envelope)
	if t.Mode == ToOrigin {
		return t.routeBy(c, origin, "its origin")
	}
	chosen := t.choose(r, m, o.Envelope)
	if chosen.problem != nil {
		return Way{Problem: chosen.problem}
	}
	workers := t.Workers
	if chosen.clue != nil {
		workers = []model.QueueRef{chosen.clue.Queue}
	}
	w := t.routeBy(c, origin, "its origin")
	if narrow := w.reachesOnly(workers...); !narrow || w.Loses() {
		other := t.wayTo(c, chosen.clue)
		if !narrow || other.Problem == nil && !other.Loses() {
			w = other
		}
	}
	w.Clue, w.Against = chosen.clue, chosen.against
	return w
}

// wayTo is the way for a message whose origin does not lead to the worker alone, or would lose it if it fails again:
// the first way that reaches only the worker and does not lose it. clue names the worker; nil: the flows do.
func (t *Target) wayTo(c copied, clue *Clue) Way {
	worker, why := model.QueueRef{}, "the worker by name"
	if clue != nil {
		worker, why = clue.Queue, clue.reason()
	} else {
		var ok bool
		if worker, ok = t.workerOf(c.message); !ok {
			return Way{Problem: model.Saidf("this queue belongs to %d flows (%s), and the message has no trace of its worker: "+
				"name a target, for example queue:NAME", len(t.Workers), t.Workers)}
		}
	}
	var lossy *Way
	for _, to := range t.addressesOf(c, worker) {
		w := t.routeBy(c, to.Address, to.why)
		switch {
		case !w.reachesOnly(worker):
		case !w.Loses():
			return w
		case lossy == nil:
			lossy = &w
		}
	}
	w := t.routeBy(c, model.Address{RoutingKey: worker.Name}, why)
	if w.Loses() && lossy != nil {
		return *lossy
	}
	return w
}

// reasoned is an address with the reason to send a message there.
type reasoned struct {
	model.Address
	why string
}

// addressesOf are the addresses by which a worker expects its messages, best first: the key that the message was
// published with, through each exchange that routes it to the worker by that key; the flow's own ways back; the one key
// that the worker is bound with. The worker's own name is not among them.
func (t *Target) addressesOf(c copied, worker model.QueueRef) (found []reasoned) {
	var exchanges []string
	for b := range c.topology.BindingsTo(worker) {
		x, _ := c.topology.Handing(model.ExchangeRef{VHost: b.VHost, Name: b.Source})
		if (x.Kind == "direct" || x.Kind == "topic") && !slices.Contains(exchanges, b.Source) {
			exchanges = append(exchanges, b.Source)
		}
	}
	through := func(key, why string) {
		for _, x := range exchanges {
			found = append(found, reasoned{model.Address{Exchange: x, RoutingKey: key}, why})
		}
	}
	if key, told := PublishedKey(c.message, c.envelope); told {
		through(key, "the key that it was published with")
	}
	if i := slices.Index(t.Workers, worker); i >= 0 {
		for _, a := range t.WaysBack[i] {
			found = append(found, reasoned{a, "the flow's own way back"})
		}
	}
	if key, one := c.topology.OnlyKey(worker); one && key != worker.Name {
		through(key, "the key that the worker is bound by")
	}
	return found
}

// PublishedKey is the routing key with which a message was first published, if known.
func PublishedKey(m *message.Message, e *message.Envelope) (string, bool) {
	if key, _, told := m.FirstKey(); told {
		return key, true
	}
	if a, told := m.ToldOrigin(e); told {
		return a.RoutingKey, true
	}
	return "", false
}

// workerOf finds the worker that a message is for: the only one, or the one in which it died last.
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

// copied is what a way depends on: a message, and the headers that its copy will have. The headers are nil if no
// message was peeked at.
type copied struct {
	topology *model.Topology
	message  *message.Message
	envelope *message.Envelope
	headers  model.Table
}

// WayBy is the way of a message by an address; its copy will have these headers.
func (t *Target) WayBy(
	r *model.Topology, m *message.Message, e *message.Envelope, headers model.Table, a model.Address, why string,
) Way {
	return t.routeBy(copied{r, m, e, headers}, a, why)
}

func (t *Target) routeBy(c copied, a model.Address, why string) Way {
	route := c.topology.Route(t.From.VHost, a.Exchange, []string{a.RoutingKey}, c.headers)
	w := Way{Address: a, Reaches: route.Queues, Exact: route.Exact, Why: why}
	switch {
	case route.MissingExchange != "":
		w.Problem = model.Saidf("the exchange %s does not exist", route.MissingExchange)
	case route.Internal:
		w.Problem = model.Saidf("the exchange %s is internal: clients cannot publish to it", a.Exchange)
	case route.Delays:
		w.Problem = model.Saidf("the exchange %s delays (x-delayed-message): it reports at once that no queue took the "+
			"message, and delivers it later: dlxtop could not know whether it arrived", a.Exchange)
	case len(route.Queues) == 0 && !route.Exact:
		w.Problem = model.Saidf("it is unknown which queues it would reach: %s", route.Why)
	case len(route.Queues) == 0:
		w.Problem = model.Saidf("no queue is bound for key %s on %s", model.Quoted(a.RoutingKey),
			model.ExchangeName(a.Exchange))
	default:
		w.Again = c.secondFailure(&w)
	}
	return w
}

// secondFailure is how the copy is lost if it fails again in one of the queues that a way reaches.
func (c *copied) secondFailure(w *Way) (again *loss.SecondFailure) {
	for _, ref := range w.Reaches {
		own := func() [][]string { return loss.OwnKeysOf(c.topology, ref, c.message, c.envelope) }
		f := loss.OfSecondFailure(c.topology, ref, w.RoutingKey, c.headers, c.message.Headers, own)
		if f != nil && (again == nil || again.Same) {
			again = f
		}
	}
	return again
}

// Loses reports whether a copy that goes this way is lost at its second failure, unlike the application's messages.
func (w *Way) Loses() bool { return w.Again != nil && !w.Again.Same }
