package model

import (
	"iter"
	"slices"
)

// Topology is a snapshot with its settings, routing and flows worked out. It is immutable and safe for
// concurrent use.
type Topology struct {
	Snapshot  *Snapshot
	Behaviour Behaviour

	Queues    map[QueueRef]*Queue // as polled
	counted   map[QueueRef]*Queue // since
	exchanges map[ExchangeRef]*Exchange
	stays     map[QueueRef]stay
	again     map[QueueRef]again
	rounds    map[QueueRef]rounds
	structure
	partition
}

// structure is what follows from how queues, exchanges, bindings and policies are declared.
type structure struct {
	settings settingsOfAll
	routings map[string]*routing
	bound    map[QueueRef][]int    // indexes of a queue's bindings to exchanges
	into     map[ExchangeRef][]int // the same for exchanges as destinations
	hops     map[QueueRef][]Hop
	gone     map[QueueRef][]QueueRef
	carried  map[QueueRef]Carried
	stated   map[QueueRef]StatedRole
}

// partition is what follows from the structure and the consumers: which queues belong together.
type partition struct {
	flows       []Flow
	failedAlone []Member
	parkedAlone []Member

	buffersAlone []Member
	flowsOf      map[QueueRef][]*Flow
	failed       map[QueueRef]bool // parked queues, too
	// workers of flows (no guesses on unknown consumers), and queues that had consumers and were no buffers then
	worked          map[QueueRef]bool
	carriedFromWork map[QueueRef]Carried
}

// NewTopology derives a topology from a snapshot, which must not change afterwards.
func NewTopology(s *Snapshot) *Topology { return (*Topology)(nil).Next(s) }

// Next derives the topology of the next poll of the same broker. It reuses whatever depends only on unchanged parts:
// most polls change only counts. The snapshot must not change afterwards; t may be nil.
func (t *Topology) Next(s *Snapshot) *Topology {
	s = withoutTaps(s)
	same := t != nil && sameStructure(t.Snapshot, s)
	if same {
		s = sharing(t.Snapshot, s)
	}

	next := &Topology{
		Snapshot:  s,
		Behaviour: BehaviourOf(s.Overview.Version),
		Queues:    byRef(s.Queues),
		exchanges: make(map[ExchangeRef]*Exchange, len(s.Exchanges)),
	}

	for x := range Each(s.Exchanges) {
		next.exchanges[x.ExchangeRef] = x
	}

	if same {
		next.structure = t.structure
	} else {
		next.structure = structure{settings: findSettings(s, next.Behaviour), routings: newRoutings(s)}
		next.bound, next.into = indexBindings(s)
		next.hops = next.findHops()
		next.carried = next.findCarried(func(QueueRef) bool { return true })
		next.gone = t.goneIn(next)
		next.stated = next.findStated()
	}

	next.stays = t.staysIn(next)
	next.again = t.againIn(next)
	next.rounds = t.roundsIn(next)
	// Roles and their reasons depend on these.
	sameConsumers := func(x, y Queue) bool { return x.Consumers == y.Consumers && x.Carried == y.Carried }
	if same && slices.EqualFunc(t.Snapshot.Queues, s.Queues, sameConsumers) {
		next.partition = t.partition
		return next
	}

	next.partition = partition{worked: t.remembered(next.Queues)}
	next.flows, next.failedAlone, next.parkedAlone = findFlows(next)
	next.flowsOf = indexFlows(next.flows)
	next.failed = map[QueueRef]bool{}
	for _, ref := range slices.Concat(next.FailedQueues(), next.ParkedQueues()) {
		next.failed[ref] = true
	}

	for q := range Each(s.Queues) {
		if q.Consumed() && !next.IsBuffer(q.QueueRef) || q.Consumers.Known() && next.IsWorker(q.QueueRef) {
			next.worked[q.QueueRef] = true
		}
	}

	next.carriedFromWork = next.findCarried(func(ref QueueRef) bool {
		return !next.IsBuffer(ref) || next.Queues[ref].Consumers.Or(1) > 0
	})

	return next
}

// remembered returns the former workers that still exist: a flow does not vanish when its worker stops.
func (t *Topology) remembered(exist map[QueueRef]*Queue) map[QueueRef]bool {
	worked := map[QueueRef]bool{}
	if t == nil {
		return worked
	}
	for ref := range t.worked {
		if exist[ref] != nil {
			worked[ref] = true
		}
	}

	return worked
}

// goneIn returns the buffers with a lease that dead letters reached at this poll or an earlier one, by the queues whose
// dead letters go nowhere in the next one.
func (t *Topology) goneIn(next *Topology) map[QueueRef][]QueueRef {
	if t == nil {
		return nil
	}
	var gone map[QueueRef][]QueueRef
	for ref, hops := range next.hops {
		before := Without(t.RejectedTargets(ref), func(at QueueRef) bool {
			s := t.settings.of(at)
			return !s.Expires.Set || !s.TTL.Set || !s.DLX.Set
		})

		if before = UnionOf(before, t.gone[ref]); len(before) == 0 || len(hops[0].Route.Queues) > 0 || hops[0].Route.Unread {
			continue
		}
		Put(&gone, ref, before)
	}

	return gone
}

// Gone returns the buffers with a lease that a queue's dead letters reached at an earlier poll, when they go nowhere
// now.
func (t *Topology) Gone(ref QueueRef) []QueueRef { return t.gone[ref] }

func byRef(queues []Queue) map[QueueRef]*Queue {
	all := make(map[QueueRef]*Queue, len(queues))
	for q := range Each(queues) {
		all[q.QueueRef] = q
	}
	return all
}

// EachQueue iterates over the queues with the counts of the snapshot.
func (t *Topology) EachQueue() iter.Seq[*Queue] { return Each(t.Snapshot.Queues) }

// Queue returns a queue with its newest counts.
func (t *Topology) Queue(ref QueueRef) (*Queue, bool) {
	if q, ok := t.counted[ref]; ok {
		return q, true
	}
	q, ok := t.Queues[ref]
	return q, ok
}

// Known returns what is known of a queue; nothing when it is not in the snapshot.
func (t *Topology) Known(ref QueueRef) *Queue {
	if q, ok := t.Queue(ref); ok {
		return q
	}
	return &Queue{QueueRef: ref}
}

// Exchange finds an exchange.
func (t *Topology) Exchange(ref ExchangeRef) (*Exchange, bool) {
	x, ok := t.exchanges[ref]
	return x, ok
}

// Settings returns the effective settings of a queue; for an unknown queue nothing is set.
func (t *Topology) Settings(ref QueueRef) Settings { return *t.settings.of(ref) }

// Route returns the queues that a message reaches which is published to an exchange ("" is the default exchange) with
// these keys (the routing key first, then CC and BCC) and headers. A client's publish to an internal exchange is
// refused: Route.Internal.
func (t *Topology) Route(vhost, exchange string, keys []string, headers Table) Route {
	r := t.routings[vhost]
	if r == nil {
		r = &routing{vhost: vhost}
	}
	return r.route(exchange, routed{keys: keys, keysKnown: true, headers: headers, headersKnown: true})
}

// Handing is how an exchange routes messages to its bindings.
type Handing struct {
	Kind      string // the type whose rule applies: x-delayed-message follows its x-delayed-type
	Chooses   bool   // it chooses among its bindings by a rule of its own (consistent hash, random)
	Alternate string // its alternate exchange, "" for none
}

// Handing returns how an exchange routes messages; false when there is no exchange of that name.
func (t *Topology) Handing(ref ExchangeRef) (Handing, bool) {
	r := t.routings[ref.VHost]
	if r == nil || r.exchanges[ref.Name] == nil {
		return Handing{}, false
	}
	x := r.exchanges[ref.Name]
	return Handing{Kind: x.kind, Chooses: x.chooses, Alternate: x.alternate}, true
}

// LeadsToQueue reports whether any message that passes a binding can reach a queue.
func (t *Topology) LeadsToQueue(b *Binding) bool {
	if b.ToExchange {
		return len(t.routings[b.VHost].route(b.Destination, routed{}).Queues) > 0
	}
	_, exists := t.Queues[QueueRef{b.VHost, b.Destination}]
	return exists
}

// Hops returns the hops of a queue: none when it has no dead-letter exchange.
func (t *Topology) Hops(ref QueueRef) []Hop { return t.hops[ref] }

// DeadLetter returns the queues that a dead letter from ref is routed to, with its own keys (the routing key first,
// then CC and BCC) and headers. Without a dead-letter exchange there are none.
func (t *Topology) DeadLetter(ref QueueRef, keys []string, headers Table) Route {
	s := t.settings.of(ref)
	if !s.DLX.Set {
		return Route{Exact: true}
	}
	if s.Key.Set {
		keys = []string{s.Key.Value}
	}

	return t.deadLetterRoute(ref.VHost, s.DLX.Value, routed{
		keys: keys, keysKnown: true,
		headers: headers, headersKnown: true,
	})
}

// Flows returns all flows, sorted by vhost and name.
func (t *Topology) Flows() []Flow { return t.flows }

// FlowsOf returns the flows that a queue belongs to: first those whose worker it is, then as a buffer, then as a failed
// queue.
func (t *Topology) FlowsOf(ref QueueRef) []*Flow { return t.flowsOf[ref] }

// WorkersOf returns the names of the workers whose failures end in a queue.
func (t *Topology) WorkersOf(failed QueueRef) (names []string) {
	for _, f := range t.flowsOf[failed] {
		for _, m := range f.Failed {
			if m.Queue == failed && !slices.Contains(names, f.Worker.Queue.Name) {
				names = append(names, f.Worker.Queue.Name)
			}
		}
	}

	return names
}

// FailedAt returns the workers in which messages failed that say that they left a queue last: the queue itself, or
// those of its flows where it is a buffer or a failed queue. They are unknown for a buffer that is gone.
func (t *Topology) FailedAt(left QueueRef) (names []string) {
	if _, exists := t.Queues[left]; !exists && listen(left.Name).buffer() != "" {
		return nil
	}
	for _, f := range t.flowsOf[left] {
		if f.Role(left) != WorkerRole && !t.IsWorker(left) {
			names = append(names, f.Worker.Queue.Name)
		}
	}

	if names == nil {
		names = []string{left.Name}
	}

	return names
}

// FlowOf returns the first of the flows that a queue belongs to.
func (t *Topology) FlowOf(ref QueueRef) (*Flow, bool) {
	if flows := t.flowsOf[ref]; len(flows) > 0 {
		return flows[0], true
	}
	return nil, false
}

// WaitsByMessage reports whether a queue is a buffer in which each message has its own TTL.
func (t *Topology) WaitsByMessage(ref QueueRef) bool {
	return slices.ContainsFunc(t.flowsOf[ref], func(f *Flow) bool {
		return slices.ContainsFunc(f.Buffers, func(b *Buffer) bool { return b.Queue == ref && !b.TTL.Known() && !b.Held })
	})
}
