package model

import (
	"fmt"
	"strings"
)

// roles are the parts that queues play, worked out in this order: structure (arguments, policies, bindings, consumers), then
// names. Every role comes with the reason for it.
type roles struct {
	t      *Topology
	heard  map[QueueRef]spoken
	buffer map[QueueRef]string // reason
}

func findRoles(t *Topology) *roles {
	r := &roles{t: t, heard: map[QueueRef]spoken{}, buffer: map[QueueRef]string{}}
	for i := range t.Snapshot.Queues {
		q := &t.Snapshot.Queues[i]
		r.heard[q.QueueRef] = listen(q.Name)
	}
	for i := range t.Snapshot.Queues {
		q := &t.Snapshot.Queues[i]
		if reason := r.bufferReason(q); reason != "" {
			r.buffer[q.QueueRef] = reason
		}
	}
	return r
}

// bufferReason tells why a queue is a buffer, "" when it is none.
func (r *roles) bufferReason(q *Queue) string {
	s := r.t.settings[q.QueueRef]
	targets := r.t.expiredTargets(q.QueueRef)
	if !s.DLX.Set {
		return ""
	}
	says := r.heard[q.QueueRef]
	consumed := q.Consumers.Or(0) > 0
	waits := "messages wait for their own TTL"
	if s.TTL.Set {
		waits = fmt.Sprintf("messages wait %s (%s)", ShortDuration(s.TTL.Value), s.TTL.Source)
	}
	switch {
	case consumed && s.TTL.Set && says.buffer() != "" && len(targets) > 0:
		return fmt.Sprintf("%s, then go to %s; its name says %q (but it has consumers: they bypass the delay)", waits, list(targets), says.buffer())
	case consumed:
		return ""
	case r.leadsToFailed(targets) && says.buffer() == "":
		return "" // a worker that is not consumed right now, and dead-letters into its failed queue
	case s.TTL.Set && len(targets) > 0:
		return fmt.Sprintf("nothing consumes it, %s, then go to %s", waits, list(targets))
	case s.TTL.Set:
		return fmt.Sprintf("nothing consumes it, and %s; they then reach no queue", waits)
	case r.anyConsumed(targets) && !r.returnsTo(targets, q.QueueRef):
		return fmt.Sprintf("nothing consumes it, and it dead-letters to %s: %s", list(targets), waits)
	case says.buffer() != "" && says.failed == "":
		return fmt.Sprintf("nothing consumes it, it dead-letters to %s, and its name says %q: %s", listOr(targets, "no queue"), says.buffer(), waits)
	}
	return ""
}

// leadsToFailed reports whether all that a queue dead-letters ends in queues that are named as failed queues.
func (r *roles) leadsToFailed(targets []QueueRef) bool {
	for _, ref := range targets {
		if r.heard[ref].failed == "" {
			return false
		}
	}
	return len(targets) > 0
}

func (r *roles) anyConsumed(targets []QueueRef) bool {
	for _, ref := range targets {
		if q, ok := r.t.queues[ref]; ok && q.Consumers.Or(0) > 0 {
			return true
		}
	}
	return false
}

// returnsTo reports whether one of the targets waits and then sends its messages back: then the queue in question is the
// worker of a retry loop, and the target its buffer.
func (r *roles) returnsTo(targets []QueueRef, ref QueueRef) bool {
	for _, target := range targets {
		if !r.t.settings[target].TTL.Set {
			continue
		}
		for _, back := range r.t.expiredTargets(target) {
			if back == ref {
				return true
			}
		}
	}
	return false
}

// bufferRole tells a retry buffer from a delayed one: failures of the worker get into it by the worker's own dead-letter
// exchange, or its name says so.
func (r *roles) bufferRole(buffer, worker QueueRef) (Role, string) {
	for _, hop := range r.t.hops[worker] {
		if hop.Reason != Rejected {
			continue
		}
		for _, ref := range hop.Route.Queues {
			if ref == buffer {
				return RetryBuffer, "what " + Printable(worker.Name) + " rejects goes here"
			}
		}
	}
	if word := r.heard[buffer].retry; word != "" {
		return RetryBuffer, fmt.Sprintf("its name says %q", word)
	}
	return DelayedBuffer, "publishers fill it"
}

func (t *Topology) expiredTargets(ref QueueRef) []QueueRef {
	for _, hop := range t.hops[ref] {
		if hop.Reason == Expired {
			return hop.Route.Queues
		}
	}
	return nil
}

// list names queues for a sentence, at most three of them.
func list(refs []QueueRef) string {
	const most = 3
	var names []string
	for i, ref := range refs {
		if i == most {
			names = append(names, fmt.Sprintf("%d more", len(refs)-most))
			break
		}
		names = append(names, Printable(ref.Name))
	}
	return strings.Join(names, ", ")
}

func listOr(refs []QueueRef, none string) string {
	if len(refs) == 0 {
		return none
	}
	return list(refs)
}
