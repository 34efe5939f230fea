package model

import (
	"fmt"
	"slices"
)

// addFailed adds the queues that a worker's own dead letters reach and that are not buffers.
func (b *flowBuilder) addFailed() {
	sharing := map[QueueRef]int{}
	for q := range Each(b.t.Snapshot.Queues) {
		targets := b.t.RejectedTargets(q.QueueRef)
		if _, held := b.held[q.QueueRef]; held || len(targets) == 0 || b.isBuffer(q.QueueRef) {
			continue
		}
		if b.flows[q.QueueRef] == nil && !b.works(q) && !b.leadsToFailed(q.QueueRef, targets) {
			continue
		}
		why := "messages rejected by " + Printable(q.Name) + " end here"
		for _, ref := range b.narrowed(q.QueueRef, Rejected) {
			if b.isBuffer(ref) || ref == q.QueueRef {
				continue
			}
			f := b.of(q.QueueRef, "dead-letters rejected messages to "+Printable(ref.Name))
			f.Failed = append(f.Failed, Member{Queue: ref, Reason: why})
			sharing[ref]++
		}
	}
	for _, f := range b.flows {
		shared := map[int]string{} // by how many workers share it: the reason is the same for all that it rejects
		for m := range Each(f.Failed) {
			if n := sharing[m.Queue]; n > 1 {
				if shared[n] == "" {
					shared[n] = m.Reason + fmt.Sprintf("; %d workers share it", n)
				}
				m.Reason = shared[n]
			}
		}
	}
}

// addFailedByName finds failed queues that an application fills by itself. Structure does not tie them to a worker, but
// they have no consumers, lead nowhere, and are named like the worker or one of its buffers; or they are the
// framework's one queue for all workers (NServiceBus's error, EasyNetQ's), and there is only one. It returns the
// others, which belong to no flow.
func (b *flowBuilder) addFailedByName() (alone []Member) {
	workers, idle := map[namesake][]QueueRef{}, map[namesake][]QueueRef{}
	inFlow := map[QueueRef]bool{}
	all := map[string][]QueueRef{} // by vhost
	for _, f := range b.flows {
		for _, m := range f.Failed {
			inFlow[m.Queue] = true
		}
	}
	for q := range Each(b.t.Snapshot.Queues) {
		says := b.heard[q.QueueRef]
		name := namesake{q.VHost, says.base}
		may := !b.isBuffer(q.QueueRef) && says.failed == ""
		switch {
		case b.flows[q.QueueRef] != nil || may && b.works(q):
			workers[name] = append(workers[name], q.QueueRef)
			all[q.VHost] = append(all[q.VHost], q.QueueRef)
		case may && q.Type != Stream:
			idle[name] = append(idle[name], q.QueueRef)
		}
	}
	served := b.served()
	for q := range Each(b.t.Snapshot.Queues) {
		says := b.heard[q.QueueRef]
		if says.failed == "" || inFlow[q.QueueRef] || b.flows[q.QueueRef] != nil || b.isBuffer(q.QueueRef) ||
			q.Consumers.Or(0) > 0 || b.t.settings.of(q.QueueRef).DLX.Set || q.Type == Stream {
			continue
		}
		why := fmt.Sprintf("%s, no dead-letter exchange, %q in its name", q.unconsumed(), says.failed)
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
				f := b.of(worker, "has a failed queue of the same name")
				f.Failed = append(f.Failed, because("; named after "+Printable(worker.Name)))
			}
		case shared && len(all[q.VHost]) == 1:
			worker := all[q.VHost][0]
			f := b.of(worker, "is the only worker beside the failed queue "+Printable(q.Name))
			f.Failed = append(f.Failed, because("; "+Printable(worker.Name)+" is the only worker here"))
		case says.weak || served[q.QueueRef] || b.t.worked[q.QueueRef]:
			// only its name suggests this: it may be an application's queue whose worker is stopped
		case framework != "":
			alone = append(alone, because("; by default, "+framework+
				" has one for all workers, and each message names its worker"))
		default:
			alone = append(alone, because("; only its messages can show which worker it belongs to"))
		}
	}
	slices.SortFunc(alone, func(a, b Member) int { return compareRefs(a.Queue, b.Queue) })
	return alone
}

// served are queues that receive ordinary messages: from an exchange that also feeds queues not named for failures, is
// not itself named for failures, and receives no dead letters except from buffers.
func (b *flowBuilder) served() map[QueueRef]bool {
	dead, plain := map[ExchangeRef]bool{}, map[ExchangeRef]bool{}
	for q := range Each(b.t.Snapshot.Queues) {
		ref := q.QueueRef
		if s := b.t.settings.of(ref); s.DLX.Set && !b.isBuffer(ref) {
			dead[ExchangeRef{ref.VHost, s.DLX.Value}] = true
		}
	}
	for bound := range Each(b.t.Snapshot.Bindings) {
		if !bound.ToExchange {
			says := b.heard[QueueRef{bound.VHost, bound.Destination}]
			x := ExchangeRef{bound.VHost, bound.Source}
			plain[x] = plain[x] || says.failed == "" && says.buffer() == ""
		}
	}
	served := map[QueueRef]bool{}
	for bound := range Each(b.t.Snapshot.Bindings) {
		x := ExchangeRef{bound.VHost, bound.Source}
		if !bound.ToExchange && plain[x] && !dead[x] && !NamedForFailures(x.Name) {
			served[QueueRef{bound.VHost, bound.Destination}] = true
		}
	}
	return served
}

// FailedWithoutFlow are the failed queues that neither structure nor names tie to a worker, sorted by vhost and name.
// Their messages may name it (Message.Worker).
func (t *Topology) FailedWithoutFlow() []Member { return t.failedAlone }

// IsFailed reports whether a queue is a failed queue, in a flow or not.
func (t *Topology) IsFailed(ref QueueRef) bool { return t.failed[ref] }

// FailedQueues are all failed queues, in flows or not, each once, sorted by vhost and name.
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
	slices.SortFunc(refs, compareRefs)
	return slices.Compact(refs)
}

// FailedTogether are the failed queues without consumers that each get a copy of what one queue rejects, as far as its
// keys are known; nil unless there are several.
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
		failed := slices.DeleteFunc(slices.Clone(route.Queues), func(q QueueRef) bool {
			return !t.IsFailed(q) || t.Queues[q].Type == Stream || t.Queues[q].Consumers.Or(0) > 0
		})
		if route.Exact && len(failed) > 1 {
			queues = append(queues, failed...)
		}
	}
	slices.SortFunc(queues, compareRefs)
	return slices.Compact(queues)
}
