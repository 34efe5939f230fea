package model

import (
	"cmp"
	"fmt"
	"slices"
)

// Role is the part that a queue plays in a flow.
type Role string

const (
	DelayedBuffer Role = "delayed" // a buffer that publishers fill on purpose
	RetryBuffer   Role = "retry"   // a buffer that failures of a worker fill
	WorkerRole    Role = "worker"
	FailedRole    Role = "failed"
)

// Flow is one worker with its buffers, its failed queues and the exchanges between them. It is named after the worker.
type Flow struct {
	Name    string
	VHost   string
	Worker  Member
	Buffers []*Buffer // flows that have a buffer for the same reason share it
	Failed  []Member
	Parked  []Member // as stated by the user
	// what the worker itself holds back of its failures
	DelayedRetry RetryDelays
}

// Member is a queue's membership in a flow, with the reason for it.
type Member struct {
	Queue  QueueRef
	Reason string
	ByName bool // only its name ties it to the flow: what a message says outweighs that
}

// Queues returns all queues of the flow: buffers with their levels, worker, failed queues.
func (f *Flow) Queues() []QueueRef {
	var refs []QueueRef
	for _, b := range f.Buffers {
		refs = append(refs, b.Queues()...)
	}

	refs = append(refs, f.Worker.Queue)
	for _, m := range slices.Concat(f.Failed, f.Parked) {
		refs = append(refs, m.Queue)
	}

	return refs
}

// Retries reports whether failures of the worker wait in a buffer.
func (f *Flow) Retries() bool {
	return slices.ContainsFunc(f.Buffers, func(b *Buffer) bool { return b.Role == RetryBuffer })
}

// End returns the failed or parked queue of the flow.
func (f *Flow) End(ref QueueRef) (m Member, ok bool) {
	for _, m := range slices.Concat(f.Failed, f.Parked) {
		if m.Queue == ref {
			return m, true
		}
	}

	return Member{}, false
}

// IsEnd reports whether messages come to rest in queues of this role.
func (r Role) IsEnd() bool { return r == FailedRole || r == ParkedRole }

// Role returns the part that a queue plays in this flow, "" when it plays none.
func (f *Flow) Role(ref QueueRef) Role {
	if f.Worker.Queue == ref {
		return WorkerRole
	}
	for _, b := range f.Buffers {
		if b.Has(ref) {
			return b.Role
		}
	}

	is := func(m Member) bool { return m.Queue == ref }
	switch {
	case slices.ContainsFunc(f.Failed, is):
		return FailedRole
	case slices.ContainsFunc(f.Parked, is):
		return ParkedRole
	}

	return ""
}

// findFlows finds every worker that has buffers, failed queues or delayed retries of its own, and the failed queues
// and parked queues without a worker.
func findFlows(t *Topology) (flows []Flow, alone, parked []Member) {
	b := flowBuilder{roles: findRoles(t), flows: map[QueueRef]*Flow{}}
	b.addBuffers()
	b.addStated()
	b.addDelayingExchanges()
	b.addHeldBuffers()
	served := b.served()
	b.ends = b.findEnds(served)
	b.addFailed()
	b.addLastResorts()
	b.addDelayedRetries()
	alone, parked = b.addFailedByName(served)
	t.buffersAlone = b.buffersAlone()

	flows = make([]Flow, 0, len(b.flows))
	for _, f := range b.flows {
		f.Buffers, f.Failed = slices.Clone(f.Buffers), slices.Clone(f.Failed) // without spare capacity
		slices.SortFunc(f.Buffers, byTTL)
		slices.SortFunc(f.Failed, compareMembers)
		slices.SortFunc(f.Parked, compareMembers)
		flows = append(flows, *f)
	}

	slices.SortFunc(flows, func(a, b Flow) int {
		return cmp.Or(cmp.Compare(a.VHost, b.VHost), cmp.Compare(a.Name, b.Name))
	})
	return flows, alone, parked
}

func compareMembers(a, b Member) int { return compareRefs(a.Queue, b.Queue) }

// end adds a queue in which messages of a flow end, as a failed or a parked one; a role that is stated comes first in
// the reason.
func (b *flowBuilder) end(f *Flow, m Member) {
	s, stated := b.t.stated[m.Queue]
	if stated {
		m.Reason = s.describe() + "; " + m.Reason
	}

	if s.Role == ParkedRole {
		f.Parked = append(f.Parked, m)
	} else {
		f.Failed = append(f.Failed, m)
	}
}

// flowBuilder assembles flows, each under its worker.
type flowBuilder struct {
	*roles
	flows map[QueueRef]*Flow
	ends  map[QueueRef]bool // failed queues that have a dead-letter exchange
	alone []Member          // failed queues that belong to no flow
}

// of returns the flow of a worker. The first reason given for the worker stays.
func (b *flowBuilder) of(worker QueueRef, reason string) *Flow {
	f := b.flows[worker]
	if f == nil {
		f = &Flow{
			Name: worker.Name, VHost: worker.VHost,
			Worker: Member{Queue: worker, Reason: reason + b.consumersWords(worker)},
		}
		b.flows[worker] = f
	}

	return f
}

func (r *roles) consumersWords(ref QueueRef) string {
	consumers := r.t.Queues[ref].Applications()
	switch {
	case !consumers.Known():
		return ""
	case r.t.Queues[ref].Polled():
		return ", and is polled (basic.get)"
	}

	return ", and has " + ConsumerWords(consumers)
}

// addBuffers ties every buffer to the workers that it leads to. Levels that delay as one count as one buffer.
func (b *flowBuilder) addBuffers() {
	for q := range b.t.EachQueue() {
		ref := q.QueueRef
		why, isBuffer := b.buffer[ref]
		if !isBuffer {
			continue
		}
		as := b.levels[ref]
		if as != nil && ref != as.highest() {
			continue // only the highest leads to all the others
		}
		buffer := b.bufferOf(ref, as)
		if as != nil {
			why = as.reason(b.roles)
		}

		receives := "receives messages that expire in "
		if hop, ok := b.t.Hop(buffer.Queue, Expired); ok && !hop.Route.Exact {
			receives = "can receive messages that expire in "
		}

		receives += Printable(buffer.Name())
		workers := b.withoutFailed(b.leads.workers[ref])
		b.add(buffer, why, receives, workers, func(own *Buffer, worker QueueRef) (Role, string) {
			sent := b.sentBackBy(worker)
			own.Rejected = slices.ContainsFunc(own.Queues(), func(ref QueueRef) bool { return sent[ref] })
			return b.bufferRole(own, worker)
		})
	}
}

// buffersAlone returns the buffers that lead to no queue that is known.
func (b *flowBuilder) buffersAlone() (alone []Member) {
	for ref, why := range b.buffer {
		if _, stated := b.t.stated[ref]; len(b.leads.workers[ref]) == 0 && !stated {
			alone = append(alone, Member{Queue: ref, Reason: why})
		}
	}

	slices.SortFunc(alone, compareMembers)
	return alone
}

// part is what a buffer does for a worker.
type part struct {
	rejected bool
	role     Role
	reason   string // why it has its role
}

// add ties a buffer to its workers. Why it is a buffer, and what a worker receives from it, is the same for all; role
// returns its role for one of them, and notes whether the buffer gets what that worker rejects.
func (b *flowBuilder) add(
	buffer Buffer, why, receives string, workers []QueueRef, role func(own *Buffer, worker QueueRef) (Role, string),
) {
	if len(workers) > 1 {
		why += fmt.Sprintf("; %d workers share it", len(workers))
	}

	made := map[part]*Buffer{}
	for _, worker := range workers {
		var p part
		p.role, p.reason = role(&buffer, worker)
		p.rejected = buffer.Rejected
		if made[p] == nil {
			own := buffer
			own.Role = p.role
			own.Reason = Sayf("%s; %s: %s", why, p.role, p.reason)
			made[p] = &own
		}

		f := b.of(worker, receives)
		f.Buffers = append(f.Buffers, made[p])
	}
}

// bufferOf returns a buffer as all of its flows share it.
func (b *flowBuilder) bufferOf(ref QueueRef, as *levels) Buffer {
	buffer := Buffer{TTLSource: Source{Kind: FromMessage}}
	if as != nil {
		ref = as.lowest()
		buffer.Levels, buffer.MaxTTL = as.queues, Some(as.most)
	}

	s := b.t.settings.of(ref)
	buffer.Queue, buffer.DLX, buffer.DLXSource, buffer.Targets = ref, s.DLX.Value, s.DLX.Source, b.t.ExpiredTargets(ref)
	if s.TTL.Set {
		buffer.TTL, buffer.TTLSource = Some(s.TTL.Value), s.TTL.Source
	}
	if s.Key.Set {
		buffer.Key = Some(s.Key.Value)
	}

	return buffer
}

// addDelayingExchanges makes a buffer of every exchange that delays (x-delayed-message plugin): each message waits in
// it for its own x-delay and then goes where it would have gone without delay.
func (b *flowBuilder) addDelayingExchanges() {
	for x := range Each(b.t.Snapshot.Exchanges) {
		routing := b.t.routings[x.VHost]
		if x.Name == "" || routing == nil || routing.exchanges[x.Name] == nil || !routing.exchanges[x.Name].delays {
			continue
		}
		buffer := Buffer{
			InExchange: x.Name, DLX: x.Name, TTLSource: Source{Kind: FromMessage},
			Targets: routing.route(x.Name, routed{}).Queues,
		}

		why := fmt.Sprintf("an exchange of type x-delayed-message: a message waits in it for its own x-delay, then "+
			"goes to %s", NamesOr(buffer.Targets, "no queue"))
		b.add(buffer, why, "receives messages that have waited in the exchange "+Printable(x.Name),
			b.workersOf(buffer.Targets), func(own *Buffer, worker QueueRef) (Role, string) {
				own.Rejected = b.rejectsPass(x.ExchangeRef, worker)
				return b.exchangeRole(own, worker)
			})
	}
}

// addDelayedRetries marks the workers that delay their own failures (quorum queues from 4.3): such a queue is a flow by
// itself.
func (b *flowBuilder) addDelayedRetries() {
	for q := range b.t.EachQueue() {
		ref := q.QueueRef
		retry := b.t.settings.of(ref).DelayedRetry
		if !retry.Type.Set || b.isBuffer(ref) || b.takesNoWork(ref) {
			continue
		}
		f := b.of(ref, fmt.Sprintf("holds back messages that come back to it before the next try (delayed "+
			"retry of %s)", retry.Type))
		f.DelayedRetry = retry
	}
}

func indexFlows(flows []Flow) map[QueueRef][]*Flow {
	index := map[QueueRef][]*Flow{}
	add := func(ref QueueRef, f *Flow) {
		if has := index[ref]; len(has) == 0 || has[len(has)-1] != f { // a flow's entries are consecutive
			index[ref] = append(has, f)
		}
	}

	for f := range Each(flows) {
		add(f.Worker.Queue, f)
	}

	for f := range Each(flows) {
		for _, b := range f.Buffers {
			for _, ref := range b.Queues() {
				add(ref, f)
			}
		}
	}

	for f := range Each(flows) {
		for _, m := range slices.Concat(f.Failed, f.Parked) {
			add(m.Queue, f)
		}
	}

	return index
}
