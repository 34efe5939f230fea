package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// roles are the roles of queues, worked out first from structure (arguments, policies, bindings, consumers), then from
// names. Every role comes with the reason for it.
type roles struct {
	t      *Topology
	heard  map[QueueRef]spoken
	named  map[namesake][]QueueRef
	buffer map[QueueRef]string // the reason
	leads  *leads
	levels map[QueueRef]*levels // the levels that each buffer belongs to
	// queues whose consumers hold messages until they are due, each with its worker
	held     map[QueueRef]QueueRef
	sentBack map[QueueRef]map[QueueRef]bool // by worker: the buffers that its rejected messages pass
	rests    map[resting]bool
	rejected map[QueueRef]bool
	entrance map[QueueRef]string // by buffer: an exchange that is bound to it and named for retries
	common   map[deadLettering]*commonness
}

// resting is a queue in which messages rejected by other queues' consumers end, and the dead-letter exchange in front
// of it.
type resting struct {
	queue    QueueRef
	exchange string
}

// namesake is what queues of a vhost share whose names differ only in the words that name a role.
type namesake struct{ vhost, base string }

func findRoles(t *Topology) *roles {
	r := &roles{
		t:        t,
		heard:    make(map[QueueRef]spoken, len(t.Snapshot.Queues)),
		named:    make(map[namesake][]QueueRef, len(t.Snapshot.Queues)),
		buffer:   map[QueueRef]string{},
		sentBack: map[QueueRef]map[QueueRef]bool{},
	}

	for q := range t.EachQueue() {
		says := listen(q.Name)
		r.heard[q.QueueRef] = says
		r.named[namesake{q.VHost, says.base}] = append(r.named[namesake{q.VHost, says.base}], q.QueueRef)
	}

	r.held = r.findHeld()
	r.common = r.findCommon()
	r.rests = r.findResting()
	r.rejected = r.findRejected()
	for q := range t.EachQueue() {
		if _, held := r.held[q.QueueRef]; held {
			continue
		}
		if reason := r.bufferReason(q); reason != "" {
			r.buffer[q.QueueRef] = reason
		}
	}

	r.leads = newLeads(r)
	r.freeOthers()
	r.levels = r.findLevels()
	r.entrance = r.retryEntrances()
	return r
}

func (r *roles) isBuffer(ref QueueRef) bool {
	_, ok := r.buffer[ref]
	return ok
}

// bufferReason returns why a queue is a buffer, "" when it is not one.
func (r *roles) bufferReason(q *Queue) string {
	if waits, stated := r.statedWaits(q.QueueRef); stated {
		if as := r.t.stated[q.QueueRef]; waits {
			return as.describe()
		}
		return ""
	}

	s := r.t.settings.of(q.QueueRef)
	if !s.DLX.Set || s.keepsLatest() {
		return ""
	}
	all := r.narrowed(q.QueueRef, Expired)
	targets := Without(all, func(ref QueueRef) bool { return ref == q.QueueRef })
	if len(targets) == 0 && len(all) > 0 {
		return "" // what comes back to it is dropped: it waits for nothing
	}
	says := r.heard[q.QueueRef]
	consumed := q.Consumed()
	triesAgain := s.TTL.Set && r.comeBack(targets, q.QueueRef, Rejected)
	if r.isCommon(q) && !triesAgain {
		rests := (says.buffer() == "" || s.TTL.Set && !r.waitsFor(q.QueueRef, targets)) && r.isCommonTTL(q)
		if rests || says.failed != "" {
			return ""
		}
	}

	waits := "for their own TTL"
	if s.TTL.Set {
		waits = Sayf("%s (%s)", s.TTL.Value, s.TTL.Source)
	}

	why := ConsumerWords(q.Applications()) + "; messages wait " + waits
	if s.DropsHead() {
		why += ", unless its limit pushes them out before"
	}

	if hop, _ := r.t.Hop(q.QueueRef, Expired); len(targets) > 0 {
		why += ", then go to " + Names(targets)
	} else if !hop.Route.Exact {
		why += ", then go by their own keys: only they can show where"
	} else {
		why += ", reach no queue then"
	}

	name := fmt.Sprintf("; %q in its name", says.buffer())
	delays := s.TTL.Value > 0
	immediate := s.TTL.Set && !delays && says.plain()
	named := says.buffer() != "" && delays && r.waitsFor(q.QueueRef, targets)
	leadsOn := r.anyConsumed(targets) && !r.comeBack(targets, q.QueueRef, Expired)
	overflows := s.Full(q) || r.works(q)

	switch {
	case consumed && named:
		return why + name + " (but consumers bypass the delay)"
	case consumed && delays && r.delays(q, targets):
		return why + "; most have done so (but consumers bypass the delay)"
	case consumed:
		return ""
	case !named && !triesAgain && r.leadsToFailed(q.QueueRef, targets):
		// This is a worker without consumers at the moment, which dead-letters into its failed queue. A name like RetryQueue
		// alone does not make it a buffer: after a retry's wait comes another try, not the failed queue.
		return ""
	case r.works(q) && q.Acked.Or(0) > 0, r.wasConsumed(q), r.keepsFailures(q, s):
		return ""
	case says.buffer() == "" && (says.failed != "" || len(targets) > 0) && r.archives(q, targets):
		return "" // failures rest in it, until they expire into where they rest for good
	case says.buffer() == "" && r.rejected[q.QueueRef] && !s.TTL.Set:
		return "" // they rest: RabbitMQ takes a message's own TTL away when it dead-letters it (all versions)
	case immediate && !r.rejected[q.QueueRef] && !triesAgain:
		return "" // with a TTL of 0 messages are for consumers that are ready: without these, they go on at once
	case s.TTL.Set, leadsOn && !overflows:
		return why
	case says.buffer() != "" && says.failed == "":
		return why + name
	}

	return ""
}

// delays reports whether most of what publishers sent to a queue expired there, and went to a queue that is consumed.
func (r *roles) delays(q *Queue, targets []QueueRef) bool {
	return slices.ContainsFunc(targets, func(ref QueueRef) bool {
		to := r.t.Queues[ref]
		return r.heard[ref].failed == "" && to.Consumed() && 2*undelivered(q, to) > q.Published.Or(0)
	})
}

// ConsumerTag is the prefix of the tags of dlxtop's own consumers.
const ConsumerTag = "dlxtop-"

// Unattended reports whether a queue's settings or name say that messages wait or end in it: no application is expected
// to consume it.
func (q *Queue) Unattended() bool {
	says := listen(q.Name)
	return says.failed != "" || says.buffer() != "" || q.sets("message-ttl") && q.sets("dead-letter-exchange")
}

// sets reports whether an argument or a policy of a queue has a setting, given by its name in policies.
func (q *Queue) sets(name string) bool {
	_, byArgument := q.Arguments["x-"+name]
	_, byPolicy := q.PolicyDefinition[name]
	return byArgument || byPolicy
}

// works reports whether applications consume a queue, or did so earlier.
func (r *roles) works(q *Queue) bool { return q.Consumed() || r.t.worked[q.QueueRef] }

// wasConsumed reports whether most of what publishers sent to a queue was acknowledged there, or anything where only
// others' dead letters come, which do not come back to them, and its name says neither that messages wait there nor
// that they failed: its worker is away. A replay of what waits acknowledges it, too, and publishes it to where it would
// have gone.
func (r *roles) wasConsumed(q *Queue) bool {
	sent, acked := q.Published.Or(0), q.Acked.Or(0)
	fed := sent > 0
	if r.t.settings.of(q.QueueRef).TTL.Set {
		targets := r.t.ExpiredTargets(q.QueueRef)
		fed = fed || r.rejected[q.QueueRef] && !r.comeBack(targets, q.QueueRef, Rejected)
		for _, ref := range targets {
			acked -= r.t.Queues[ref].Published.Or(0)
		}
	}

	return r.heard[q.QueueRef].plain() && fed && 2*acked > sent
}

// undelivered returns how many messages have gone from a queue to another one without being delivered, at least: they
// expired, or a limit pushed them out. Publishers are counted some seconds before consumers.
func undelivered(from, to *Queue) int64 {
	return min(-from.CameBack()-from.Ready.Or(0), to.DeadLettered().Or(0)-from.rejections())
}

// rejections returns how many of the messages that publishers sent to a queue its consumers rejected, about.
func (q *Queue) rejections() int64 {
	return max(q.Published.Or(0)+q.CameBack()-q.Taken().Or(0)-q.Unacked.Or(0), 0)
}

// keepsFailures reports whether a queue is named for failures alone, has no TTL, and nothing has left it by itself:
// people reject there what is to be tried again.
func (r *roles) keepsFailures(q *Queue, s *Settings) bool {
	says := r.heard[q.QueueRef]
	named := says.buffer() == "" && says.failed != "" && !says.weak
	depth, _ := q.Depth()
	rests := !s.TTL.Set && q.Published.Or(0) <= q.Taken().Or(0)+depth
	return named && rests
}

// findResting finds queues that have no consumers, lead nowhere or only back to themselves, and get messages rejected
// from a consumed queue: through a named exchange, beside a failed queue through an exchange that is named for
// failures, or as the only end of several queues' dead letters.
func (r *roles) findResting() map[resting]bool {
	rests := map[resting]bool{}
	looked := map[*QueueRef]bool{} // queues with the same hop share one list of targets
	for q := range r.t.EachQueue() {
		hop, ok := r.t.Hop(q.QueueRef, Rejected)
		if !ok || hop.Exchange == "" || len(hop.Route.Queues) == 0 || looked[&hop.Route.Queues[0]] {
			continue
		}
		if !q.Consumed() && !r.endsTogether(q, hop) && (listen(hop.Exchange).failed == "" ||
			!slices.ContainsFunc(hop.Route.Queues, func(ref QueueRef) bool { return r.heard[ref].failed != "" })) {
			continue
		}
		looked[&hop.Route.Queues[0]] = true
		for _, ref := range hop.Route.Queues {
			end := r.t.Queues[ref]
			leads := r.t.settings.of(ref).DLX.Set && !slices.Contains(r.t.RejectedTargets(ref), ref)
			away := end.Applications().Or(1) == 0 && !r.works(end)
			if away && !leads && end.PolicyDefinition != nil {
				rests[resting{ref, hop.Exchange}] = true
			}
		}
	}

	return rests
}

// endsTogether reports whether the dead letters of several queues end in one that nothing else is bound to. A TTL of
// their own would make them buffers, and one by a policy that the last queue has, too, says nothing.
func (r *roles) endsTogether(q *Queue, hop *Hop) bool {
	ttl := r.t.settings.of(q.QueueRef).TTL
	end := hop.Route.Queues[0]
	alike := !ttl.Set || ttl.ByPolicy() && ttl == r.t.settings.of(end).TTL
	c := r.common[r.deadLetteringOf(q.QueueRef)]
	if len(hop.Route.Queues) > 1 || !alike || c == nil || c.plain < 2 {
		return false
	}
	for b := range r.t.BindingsTo(end) {
		if b.Source != hop.Exchange {
			return false
		}
	}

	return true
}

// leadsToFailed reports whether everything that a queue dead-letters ends in queues that are named as failed queues,
// rest behind its dead-letter exchange, or keep what its consumers missed.
func (r *roles) leadsToFailed(from QueueRef, targets []QueueRef) bool {
	exchange := r.t.settings.of(from).DLX.Value
	return len(targets) > 0 && !slices.ContainsFunc(targets, func(ref QueueRef) bool {
		return r.heard[ref].failed == "" && !r.rests[resting{ref, exchange}] && !r.keepsMissed(ref, from)
	})
}

// keepsMissed reports whether a queue keeps what the consumers of another one missed, and is not its worker: nothing
// consumes it, it leads nowhere, and it gets what consumers of further queues reject, or fewer messages were
// acknowledged in it. Without counts, it is named after the other: reports.expired.
func (r *roles) keepsMissed(ref, of QueueRef) bool {
	q := r.t.Queues[ref]
	if q.Applications().Or(1) != 0 || r.works(q) || r.t.settings.of(ref).DLX.Set {
		return false
	}
	here, there := q.Acked.Or(0), max(r.t.Queues[of].Acked.Or(0)-q.Published.Or(0), 0)
	if here != there || r.rejected[ref] {
		return here < there || r.rejected[ref] // a replay acknowledges what failed, and publishes what waited
	}
	_, after := namedAfter(ref, of)
	return after
}

// worksItself reports whether a queue keeps more than what another queue's consumers reject: the limit of that one, or
// a TTL of 0, sends most of it on, or its consumers get others from publishers or an exchange, too.
func (r *roles) worksItself(ref QueueRef, hop *Hop) bool {
	q := r.t.Queues[ref]
	s := r.t.settings.of(hop.From)
	latest := s.keepsLatest()
	if r.heard[ref].failed != "" || !latest && !r.works(q) {
		return false
	}
	from := r.t.Queues[hop.From]
	spills := s.TTL.Value == 0 && (s.TTL.Set || s.DropsHead()) && undelivered(from, q) > from.rejections()
	if latest || spills || q.Published.Or(0) > 0 {
		return true
	}

	published := map[string]bool{}
	for b := range r.t.BindingsTo(hop.From) {
		published[b.Source] = true
	}
	for b := range r.t.BindingsTo(ref) {
		if published[b.Source] || !slices.Contains(hop.Route.Through, b.From()) {
			return true
		}
	}

	return false
}

// archives reports whether a queue that gets what workers reject leads to queues where messages only rest: none of them
// is such a worker, is consumed, or leads on.
func (r *roles) archives(q *Queue, targets []QueueRef) bool {
	return r.rejected[q.QueueRef] && !slices.ContainsFunc(targets, func(ref QueueRef) bool {
		end := r.t.Queues[ref]
		return end.Applications() != Some[int64](0) || r.works(end) || r.t.settings.of(ref).DLX.Set
	})
}

// findRejected finds the queues in which rejected messages end: those of workers, also of one that is away, which is
// neither named for waiting nor for failures, waits for nothing, and dead-letters into a queue that is named for them.
func (r *roles) findRejected() map[QueueRef]bool {
	rejected := map[QueueRef]bool{}
	merged := map[*QueueRef]bool{} // queues with the same hop share one list of targets
	for q := range r.t.EachQueue() {
		targets := r.narrowed(q.QueueRef, Rejected)
		if len(targets) == 0 || merged[&targets[0]] {
			continue
		}

		away := r.heard[q.QueueRef].plain() && !r.t.settings.of(q.QueueRef).TTL.Set
		if !r.works(q) && !(away && r.leadsToFailed(q.QueueRef, targets)) {
			continue
		}
		merged[&targets[0]] = true
		for _, ref := range targets {
			rejected[ref] = true
		}
	}

	return rejected
}

// waitsFor reports whether messages that leave a queue of this name go on to a worker: applications consume it, or did
// so earlier, or the queue is named after it. Otherwise waiting and retrying are an application's own business.
func (r *roles) waitsFor(ref QueueRef, targets []QueueRef) bool {
	return slices.ContainsFunc(targets, func(target QueueRef) bool {
		says := r.heard[target]
		return r.works(r.t.Queues[target]) || says.failed == "" && says.base == r.heard[ref].base
	})
}

func (r *roles) anyConsumed(targets []QueueRef) bool {
	return slices.ContainsFunc(targets, func(ref QueueRef) bool {
		return r.t.Queues[ref].Consumed()
	})
}

// comeBack reports whether one of the targets sends its messages back for a reason. When they expire there, the queue
// is the worker of a retry loop, and the target its buffer; when they are only rejected, it is the other way round.
func (r *roles) comeBack(targets []QueueRef, ref QueueRef, reason Reason) bool {
	return slices.ContainsFunc(targets, func(target QueueRef) bool {
		waits := r.t.settings.of(target).TTL.Set
		return waits == (reason == Expired) && slices.Contains(r.t.targets(target, reason), ref)
	})
}

// freeOthers finds what only looks like a buffer: the worker without consumers in a circle of buffers without a way
// out, the only one whose name does not say that messages wait; and what is named for failures and gets those of
// workers, but leads to none of these: its messages failed, and another application may get them later.
func (r *roles) freeOthers() {
	var freed []QueueRef
	for ref := range r.buffer {
		says := r.heard[ref]
		named := says.failed != "" && !says.weak && says.buffer() == ""
		_, stated := r.statedWaits(ref)
		if !named || stated || !r.rejected[ref] {
			continue
		}
		if !slices.ContainsFunc(r.leads.workers[ref], func(worker QueueRef) bool { return r.sentBackBy(worker)[ref] }) {
			freed = append(freed, ref)
		}
	}

	for _, circle := range r.leads.circles {
		plain := Without(circle, func(ref QueueRef) bool {
			_, stated := r.statedWaits(ref)
			return stated || !r.heard[ref].plain()
		})
		if len(plain) == 1 {
			freed = append(freed, plain...)
		}
	}

	if len(freed) > 0 {
		for _, ref := range freed {
			delete(r.buffer, ref)
		}
		r.leads = newLeads(r)
		clear(r.sentBack)
	}
}

// passes returns the buffers that messages pass which begin in the given ones.
func (r *roles) passes(buffers []QueueRef) map[QueueRef]bool {
	seen := make(map[QueueRef]bool, len(buffers))
	todo := slices.Clone(buffers)
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[at] {
			continue
		}
		seen[at] = true
		for _, next := range r.narrowed(at, Expired) {
			if r.isBuffer(next) && !seen[next] {
				todo = append(todo, next)
			}
		}
	}

	return seen
}

// workersOf returns the workers among some queues, and those behind the buffers among them.
func (r *roles) workersOf(targets []QueueRef) []QueueRef {
	var workers []QueueRef
	for _, ref := range targets {
		if r.isBuffer(ref) {
			workers = append(workers, r.leads.workers[ref]...)
		} else {
			workers = append(workers, ref)
		}
	}

	return r.withoutFailed(sorted(workers))
}

// withoutFailed removes what a user states to be no worker, and failed queues without consumers when there are other
// queues: NServiceBus binds its error queue wherever it binds endpoints.
func (r *roles) withoutFailed(workers []QueueRef) []QueueRef {
	workers = Without(workers, r.takesNoWork)
	kept := Without(workers, func(ref QueueRef) bool {
		return !r.isStated(ref, WorkerRole) && r.heard[ref].failed != "" && !r.t.Queues[ref].Consumed()
	})
	if len(kept) > 0 {
		return kept
	}

	return workers
}

// crowd is the number of possible queues from which names decide which of them are meant, where each message's own key
// decides the route.
const crowd = 12

// narrowed returns the queues that dead letters of this reason reach. A large set of merely possible queues is narrowed
// to those named like the queue, if there are any.
func (r *roles) narrowed(ref QueueRef, reason Reason) []QueueRef {
	hop, ok := r.t.Hop(ref, reason)
	if !ok {
		return nil
	}
	possible := hop.Route.Queues
	base := r.heard[ref].base
	if hop.Route.Exact || len(possible) <= crowd || base == "" {
		return possible
	}
	same := Without(r.named[namesake{ref.VHost, base}], func(other QueueRef) bool {
		_, reached := slices.BinarySearchFunc(possible, other, compareRefs)
		return !reached || other == ref
	})

	if len(same) > 0 {
		return sorted(same)
	}

	return possible
}

// bufferRole decides between a retry buffer and a delayed one: it is a retry buffer if the worker's own dead-letter
// exchange leads to it, directly or through other buffers, or if messages or names say so.
func (r *roles) bufferRole(b *Buffer, worker QueueRef) (Role, string) {
	says := r.heard[b.Queue]
	exchange := r.entrance[b.Queue]
	stated := r.t.stated[b.Queue]
	switch {
	case stated.Role != "":
		return stated.Role, "as stated"
	case b.Rejected && slices.ContainsFunc(b.Queues(), func(ref QueueRef) bool {
		return slices.Contains(r.t.RejectedTargets(worker), ref)
	}):
		return RetryBuffer, "messages rejected by " + Printable(worker.Name) + " go here"
	case b.Rejected:
		return RetryBuffer, "messages rejected by " + Printable(worker.Name) + " come here through other buffers"
	case r.t.seenFrom(b, worker):
		return RetryBuffer, "messages that were looked at came here from " + Printable(worker.Name)
	case says.retry != "":
		return RetryBuffer, fmt.Sprintf("%q in its name", says.retry)
	case exchange != "" && purposeWords[says.delay]:
		return DelayedBuffer, fmt.Sprintf("%q in its name", says.delay)
	case exchange != "":
		return RetryBuffer, Sayf("the exchange %v fills it, and is named for retries", exchange)
	case says.failed != "":
		return RetryBuffer, fmt.Sprintf("%q in its name", says.failed)
	}

	if r.rejected[b.Queue] {
		return DelayedBuffer, "other workers' rejected messages go here"
	}

	return DelayedBuffer, "publishers fill it"
}

// exchangeRole is bufferRole for an exchange that delays.
func (r *roles) exchangeRole(b *Buffer, worker QueueRef) (Role, string) {
	if b.Rejected {
		return RetryBuffer, "messages rejected by " + Printable(worker.Name) + " go here"
	}
	if word := listen(b.InExchange).retry; word != "" {
		return RetryBuffer, fmt.Sprintf("%q in its name", word)
	}
	return DelayedBuffer, "publishers fill it"
}

// rejectsPass reports whether messages rejected by a worker pass an exchange.
func (r *roles) rejectsPass(exchange ExchangeRef, worker QueueRef) bool {
	hop, ok := r.t.Hop(worker, Rejected)
	return ok && slices.Contains(hop.Route.Through, exchange)
}

// sentBackBy returns the buffers that messages rejected by a worker pass.
func (r *roles) sentBackBy(worker QueueRef) map[QueueRef]bool {
	sent, ok := r.sentBack[worker]
	if ok {
		return sent
	}
	first := Without(r.narrowed(worker, Rejected), func(ref QueueRef) bool { return !r.isBuffer(ref) })
	if len(first) > 0 {
		sent = r.passes(first)
	}

	r.sentBack[worker] = sent
	return sent
}

// retryEntrances finds exchanges that are bound to buffers and named for retries: the application publishes to them.
func (r *roles) retryEntrances() map[QueueRef]string {
	entrances := map[QueueRef]string{}
	heard := map[string]bool{}
	for b := range Each(r.t.Snapshot.Bindings) {
		ref := QueueRef{b.VHost, b.Destination}
		if b.ToExchange || entrances[ref] != "" || !r.isBuffer(ref) {
			continue
		}
		retries, known := heard[b.Source]
		if !known {
			retries = NamedForRetries(b.Source)
			heard[b.Source] = retries
		}

		if retries {
			entrances[ref] = b.Source
		}
	}

	return entrances
}

// Hop returns the hop of a queue for a reason.
func (t *Topology) Hop(ref QueueRef, reason Reason) (*Hop, bool) {
	for hop := range Each(t.hops[ref]) {
		if hop.Reason == reason {
			return hop, true
		}
	}

	return nil, false
}

// ExpiredTargets returns the queues that get messages which expire in a queue; nil where its TTL or its DLX leads
// nowhere.
func (t *Topology) ExpiredTargets(ref QueueRef) []QueueRef { return t.targets(ref, Expired) }

// RejectedTargets returns the queues that get messages rejected from a queue; nil where its DLX leads nowhere.
func (t *Topology) RejectedTargets(ref QueueRef) []QueueRef { return t.targets(ref, Rejected) }

// OverflowTargets returns the queues that get what the limit of a queue drops, and copies of what it refuses; nil for
// none.
func (t *Topology) OverflowTargets(ref QueueRef) []QueueRef { return t.targets(ref, MaxLen) }

func (t *Topology) targets(ref QueueRef, reason Reason) []QueueRef {
	if hop, ok := t.Hop(ref, reason); ok {
		return hop.Route.Queues
	}
	return nil
}

func compareRefs(a, b QueueRef) int {
	return cmp.Or(cmp.Compare(a.VHost, b.VHost), cmp.Compare(a.Name, b.Name))
}

// sorted sorts queues, in place, and leaves each there once.
func sorted(refs []QueueRef) []QueueRef {
	slices.SortFunc(refs, compareRefs)
	return slices.Compact(refs)
}

// Names lists queues for a sentence, at most three of them.
func Names(refs []QueueRef) string {
	const most = 3
	var names []string
	for i, ref := range refs {
		if i == most {
			names = append(names, Count(len(refs)-most)+" more")
			break
		}
		names = append(names, Printable(ref.Name))
	}

	return strings.Join(names, ", ")
}

// NamesOr is Names, or none where there are no queues.
func NamesOr(refs []QueueRef, none string) string {
	if len(refs) == 0 {
		return none
	}
	return Names(refs)
}
