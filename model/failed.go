package model

import (
	"fmt"
	"slices"
)

// addFailed adds the queues that a worker's own dead letters reach and that are not buffers. A queue without consumers
// is a worker that is stopped where its dead letters end among the failed, or where workers share its dead lettering.
func (b *flowBuilder) addFailed() {
	sharing := map[QueueRef]int{}
	var passing []*Queue
	for q := range b.t.EachQueue() {
		if b.passesAway(q) {
			passing = append(passing, q)
		} else {
			b.addFailedOf(q, sharing, false)
		}
	}

	for _, q := range passing {
		b.addFailedOf(q, sharing, true)
	}

	for _, f := range b.flows {
		for m := range Each(f.Failed) {
			if n := sharing[m.Queue]; n > 1 {
				m.Reason += fmt.Sprintf("; %d workers share it", n)
			}
		}
	}
}

// passesAway reports whether a queue exists as long as a client does, and only a policy gives it a dead-letter
// exchange: one for answers, say, of which each client has its own.
func (b *flowBuilder) passesAway(q *Queue) bool {
	return (q.Exclusive || q.AutoDelete) && b.flows[q.QueueRef] == nil && b.t.settings.of(q.QueueRef).DLX.ByPolicy()
}

// addFailedOf adds the failed queues of one worker: passing, only those that no other worker has.
func (b *flowBuilder) addFailedOf(q *Queue, sharing map[QueueRef]int, passing bool) {
	targets := b.t.RejectedTargets(q.QueueRef)
	_, held := b.held[q.QueueRef]
	if held || len(targets) == 0 || b.isBuffer(q.QueueRef) || b.ends[q.QueueRef] || b.takesNoWork(q.QueueRef) {
		return
	}
	worker := b.flows[q.QueueRef] != nil || b.works(q) || b.wasConsumed(q)
	if !worker && !b.leadsToFailed(q.QueueRef, targets) && !b.isCommon(q) {
		return
	}

	why := "messages rejected by " + Printable(q.Name)
	if b.t.settings.of(q.QueueRef).TTL.Set {
		why = "messages that " + Printable(q.Name) + " rejects, or that expire there,"
	}

	hop, _ := b.t.Hop(q.QueueRef, Rejected)
	for _, ref := range b.narrowed(q.QueueRef, Rejected) {
		stated := b.isStated(ref, WorkerRole, IgnoredRole)
		if b.isBuffer(ref) || ref == q.QueueRef || stated || passing && sharing[ref] > 0 || b.worksItself(ref, hop) {
			continue
		}
		f := b.of(q.QueueRef, "dead-letters rejected messages to "+Printable(ref.Name))
		how := " end here"
		if b.t.Queues[ref].Consumed() {
			how = " come here, and applications take them"
		} else if ttl := b.t.settings.of(ref).TTL; ttl.Set {
			how = Sayf(" stay here until they expire, after %v (%s)", ttl.Value, ttl.Source)
			if to := b.t.ExpiredTargets(ref); len(to) > 0 {
				how += ", then go to " + Names(to)
			}
		}

		b.end(f, Member{Queue: ref, Reason: why + how})
		sharing[ref]++
		for _, last := range b.archivesOf(ref) {
			if f.Role(last) == "" {
				b.end(f, Member{Queue: last, Reason: "messages that leave " + Printable(ref.Name) + " by themselves end here"})
				sharing[last]++
			}
		}
	}
}

// archivesOf returns the queues in which messages rest that expire in a failed queue, or that its limit pushes out.
func (b *flowBuilder) archivesOf(failed QueueRef) []QueueRef {
	targets := b.narrowed(failed, Expired)
	s := b.t.settings.of(failed)
	if !s.TTL.Set && !s.DropsHead() || !b.archives(b.t.Queues[failed], targets) {
		return nil
	}
	return Without(targets, func(ref QueueRef) bool {
		return ref == failed || b.isBuffer(ref) || b.isStated(ref, WorkerRole, IgnoredRole)
	})
}

// addLastResorts adds the queue to which an application publishes what it gives up: it is bound, by a key or headers of
// its own, to an exchange that otherwise leads only to several buffers, or to one and takes the worker's dead letters,
// and to nothing else. Nobody consumes it, and it leads nowhere. Where they are not the buffers of one worker, it
// belongs to no flow.
func (b *flowBuilder) addLastResorts() {
	bound := map[ExchangeRef][]*Binding{}
	for binding := range Each(b.t.Snapshot.Bindings) {
		bound[binding.From()] = append(bound[binding.From()], binding)
	}

	for at, bindings := range bound {
		x, ok := b.t.Exchange(at)
		if !ok || x.Type != "direct" && x.Type != "headers" {
			continue
		}

		var buffers, others []QueueRef
		for _, binding := range bindings {
			ref := QueueRef{binding.VHost, binding.Destination}
			if !binding.ToExchange && b.isBuffer(ref) {
				buffers = append(buffers, ref)
			} else {
				others = append(others, ref)
			}
		}

		workers := b.workersOf(buffers)
		several := len(buffers) > 1 || len(workers) > 0 && b.t.settings.of(workers[0]).DLX.Value == at.Name
		if !several || len(others) != 1 || !b.restsUnbound(others[0]) {
			continue
		}
		why := "no consumers; " + Printable(at.Name) + " leads to it where it does not lead to a buffer"
		if len(workers) != 1 {
			b.alone = append(b.alone, Member{Queue: others[0], Reason: why})
			continue
		}
		f := b.of(workers[0], "leads to it through buffers")
		b.end(f, Member{Queue: others[0], Reason: why + " of " + Printable(workers[0].Name)})
	}
}

// restsUnbound reports whether messages rest in a queue that a single binding leads to, and that no flow has yet.
func (b *flowBuilder) restsUnbound(ref QueueRef) bool {
	q, ok := b.t.Queues[ref]
	_, stated := b.t.stated[ref]
	if !ok || stated || q.Applications() != Some[int64](0) || b.works(q) || b.t.settings.of(ref).DLX.Set ||
		len(b.t.bound[ref]) != 1 {
		return false
	}

	for _, f := range b.flows {
		if f.Role(ref) != "" {
			return false
		}
	}

	return true
}

// addFailedByName finds failed queues that an application fills by itself. Structure does not tie them to a worker, but
// they have no consumers, lead nowhere (findEnds), and are named like the worker or one of its buffers; or they are the
// framework's one queue for all workers (NServiceBus's error, EasyNetQ's), and there is only one. It returns the
// others, which belong to no flow.
func (b *flowBuilder) addFailedByName(served map[QueueRef]bool) (alone, parked []Member) {
	workers := map[namesake][]QueueRef{}
	idle := map[namesake][]QueueRef{}
	inFlow := map[QueueRef]bool{}
	all := map[string][]QueueRef{} // by vhost
	for _, f := range b.flows {
		for _, m := range slices.Concat(f.Failed, f.Parked) {
			inFlow[m.Queue] = true
		}
	}

	alone = b.alone
	for _, m := range alone {
		inFlow[m.Queue] = true
	}

	for q := range b.t.EachQueue() {
		says := b.heard[q.QueueRef]
		name := namesake{q.VHost, says.base}
		may := !b.isBuffer(q.QueueRef) && says.failed == "" && !b.takesNoWork(q.QueueRef)
		switch {
		case says.failed != "" && b.isStated(q.QueueRef, WorkerRole): // its name is not that of its failed queues
		case b.flows[q.QueueRef] != nil || may && b.works(q):
			workers[name] = append(workers[name], q.QueueRef)
			all[q.VHost] = append(all[q.VHost], q.QueueRef)
		case may && q.Type != Stream:
			idle[name] = append(idle[name], q.QueueRef)
		}
	}

	for q := range b.t.EachQueue() {
		says := b.heard[q.QueueRef]
		stated := b.isStated(q.QueueRef, FailedRole, ParkedRole)
		if inFlow[q.QueueRef] || b.flows[q.QueueRef] != nil || !stated && !b.restsByName(q) {
			continue
		}
		unconsumed := ConsumerWords(q.Applications())
		why := fmt.Sprintf("%s, %s, %q in its name", unconsumed, b.deadLetteringWords(q), says.failed)
		if stated {
			why = unconsumed + ", " + b.deadLetteringWords(q)
		}

		because := func(more string) Member { return Member{q.QueueRef, why + more, true} }
		tied := workers[namesake{q.VHost, says.whole}]
		if len(tied) == 0 {
			tied = workers[namesake{q.VHost, says.base}]
		}
		if same := idle[namesake{q.VHost, says.whole}]; len(tied) == 0 && len(same) == 1 {
			tied = same // orders belongs to orders_error, even while its worker is stopped
		}

		framework, shared := sharedFailed[q.Name]
		shared = shared || says.base == ""
		switch {
		case len(tied) > 0 && !shared:
			for _, worker := range tied {
				b.end(b.of(worker, "has a failed queue of the same name"), because("; named after "+Printable(worker.Name)))
			}
		case shared && len(all[q.VHost]) == 1:
			worker := all[q.VHost][0]
			f := b.of(worker, "is the only worker beside the failed queue "+Printable(q.Name))
			b.end(f, because("; "+Printable(worker.Name)+" is the only worker here"))
		case !stated && (says.weak || served[q.QueueRef] || b.t.worked[q.QueueRef]):
			// only its name suggests this: it may be an application's queue whose worker is stopped
		case framework != "":
			alone = append(alone, because("; by default, "+framework+
				" has one for all workers, and each message names its worker"))
		default:
			alone = append(alone, because("; only its messages can show which worker it belongs to"))
		}
	}

	var none Flow // takes those that belong to no flow
	for _, m := range alone {
		b.end(&none, m)
	}

	slices.SortFunc(none.Failed, compareMembers)
	slices.SortFunc(none.Parked, compareMembers)
	return none.Failed, none.Parked
}

// restsByName reports whether messages end in a queue that is named for failures, and that nothing consumes.
func (b *flowBuilder) restsByName(q *Queue) bool {
	named := b.heard[q.QueueRef].failed != "" && !b.isStated(q.QueueRef, WorkerRole)
	other := q.Type == Stream || b.isBuffer(q.QueueRef) || b.takesNoWork(q.QueueRef)
	rests := !q.Consumed() && (!b.t.settings.of(q.QueueRef).DLX.Set || b.ends[q.QueueRef])
	return named && !other && rests
}

// served returns queues that receive ordinary messages: from an exchange that also feeds queues not named for failures,
// is not itself named for failures, and receives no dead letters except from buffers.
func (b *flowBuilder) served() map[QueueRef]bool {
	dead := map[ExchangeRef]bool{}
	plain := map[ExchangeRef]bool{}
	for q := range b.t.EachQueue() {
		ref := q.QueueRef
		if s := b.t.settings.of(ref); s.DLX.Set && !b.isBuffer(ref) {
			dead[ExchangeRef{ref.VHost, s.DLX.Value}] = true
		}
	}

	for bound := range Each(b.t.Snapshot.Bindings) {
		if !bound.ToExchange {
			x := bound.From()
			plain[x] = plain[x] || b.heard[QueueRef{bound.VHost, bound.Destination}].plain()
		}
	}

	served := map[QueueRef]bool{}
	for bound := range Each(b.t.Snapshot.Bindings) {
		x := bound.From()
		if !bound.ToExchange && plain[x] && !dead[x] && !NamedForFailures(x.Name) {
			served[QueueRef{bound.VHost, bound.Destination}] = true
		}
	}

	return served
}

// FailedWithoutFlow returns the failed queues that neither structure nor names tie to a worker, sorted by vhost and
// name. Their messages may name it (Message.Worker).
func (t *Topology) FailedWithoutFlow() []Member { return t.failedAlone }

// BuffersWithoutFlow returns the buffers that lead to no queue that is known, by vhost and name: each message's own key
// decides, or they lose what expires.
func (t *Topology) BuffersWithoutFlow() []Member { return t.buffersAlone }

// IsFailed reports whether failed messages rest in a queue, in a flow or not: a parked queue is one of these, too.
func (t *Topology) IsFailed(ref QueueRef) bool { return t.failed[ref] }

// FailedQueues returns all failed queues, in flows or not, each once, sorted by vhost and name.
func (t *Topology) FailedQueues() []QueueRef {
	var refs []QueueRef
	for _, f := range t.Flows() {
		for _, m := range f.Failed {
			refs = append(refs, m.Queue)
		}
	}

	for _, m := range t.failedAlone {
		refs = append(refs, m.Queue)
	}

	return sorted(refs)
}

// FailedTogether returns the failed queues without consumers that each get a copy of what one queue rejects, as far as
// its keys are known; nil unless there are several.
func (t *Topology) FailedTogether(ref QueueRef) (queues []QueueRef) {
	hop, ok := t.Hop(ref, Rejected)
	if !ok {
		return nil
	}
	routes := []Route{hop.Route}
	if !hop.Route.Exact {
		for _, k := range t.ArrivalKeys(ref) {
			if k.Pattern == "" {
				routes = append(routes, t.DeadLetterWith(ref, k.Key))
			}
		}
	}

	for _, route := range routes {
		failed := Without(route.Queues, func(q QueueRef) bool {
			return !t.IsFailed(q) || t.Queues[q].Type == Stream || t.Queues[q].Consumed()
		})
		if route.Exact && len(failed) > 1 {
			queues = append(queues, failed...)
		}
	}

	return sorted(queues)
}
