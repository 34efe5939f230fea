package model

import (
	"fmt"
	"slices"
)

// Findings about the queues that dead letters reach, and about ways that lead in circles.

func findDropHeadTargets(t *Topology, found func(Finding)) {
	seen := map[QueueRef]bool{}
	looked := map[*QueueRef]bool{} // queues with the same way out share one list of targets
	for i := range t.Snapshot.Queues {
		from := t.Snapshot.Queues[i].QueueRef
		targets := t.expiredTargets(from)
		if len(targets) == 0 || looked[&targets[0]] {
			continue
		}
		looked[&targets[0]] = true
		for _, ref := range targets {
			s := t.settings[ref]
			if seen[ref] || ref == from || !s.Bounded() || s.Overflow.Value != dropHead || !t.queues[ref].noDLX(s) {
				continue
			}
			seen[ref] = true
			q := t.queues[ref]
			found(Finding{
				Code: "target-drops-head", Level: LevelWarning, VHost: ref.VHost, Queue: ref.Name,
				Message:  fmt.Sprintf("%s receives the dead letters of %s, and loses its oldest messages when it is full", Printable(ref.Name), Printable(from.Name)),
				Evidence: fmt.Sprintf("%s ready; max-length %s, max-length-bytes %s, overflow %s", q.Ready, s.MaxLength, s.MaxBytes, s.Overflow),
				Remedy:   "give it a dead-letter exchange of its own, a larger limit, or none",
			})
		}
	}
}

func findStuckDeadLetters(t *Topology, found func(Finding)) {
	for i := range t.Snapshot.Queues {
		q := &t.Snapshot.Queues[i]
		if n := q.DeadLettering.Or(0); n > 0 {
			found(Finding{
				Code: "dead-letters-held", Level: LevelWarning, VHost: q.VHost, Queue: q.Name,
				Message:  fmt.Sprintf("%s holds %s that no queue has taken yet", Printable(q.Name), Plural(n, "dead letter")),
				Evidence: fmt.Sprintf("messages_dlx %d, dead-letter-exchange %s, key %s, reaches %s", n, t.settings[q.QueueRef].DLX, t.settings[q.QueueRef].Key, listOr(t.rejectedTargets(q.QueueRef), "no queue")),
				Remedy:   "bind a queue that takes them, or make room in the one that refuses them; the broker goes on trying",
			})
		}
	}
}

func findForgetfulFailedQueues(t *Topology, found func(Finding)) {
	seen := map[QueueRef]bool{}
	for i := range t.flows {
		for _, m := range t.flows[i].Failed {
			q, s := t.queues[m.Queue], t.settings[m.Queue]
			if seen[m.Queue] || !q.noDLX(s) || q.Type == Stream {
				continue
			}
			seen[m.Queue] = true
			f := Finding{Code: "failed-queue-forgets", Level: LevelWarning, VHost: m.Queue.VHost, Queue: m.Queue.Name}
			name := Printable(m.Queue.Name)
			switch {
			case s.TTL.Set:
				f.Message = fmt.Sprintf("failed messages in %s are lost after %s", name, ShortDuration(s.TTL.Value))
				f.Evidence = "message-ttl " + s.TTL.String() + ", no dead-letter-exchange"
				f.Remedy = "take the TTL away, or replay and drop before it ends"
			case s.Bounded() && s.Overflow.Value == dropHead:
				f.Message = fmt.Sprintf("failed messages in %s are lost when it is full: the oldest go first", name)
				f.Evidence = fmt.Sprintf("max-length %s, max-length-bytes %s, overflow %s", s.MaxLength, s.MaxBytes, s.Overflow)
				f.Remedy = "take the limit away, or set overflow to reject-publish"
			case s.DeliveryLimit.Set && s.DeliveryLimit.Value >= 0:
				f.Message = fmt.Sprintf("failed messages in %s are lost when they were looked at %s", name, Plural(s.DeliveryLimit.Value, "time"))
				f.Evidence = "delivery-limit " + s.DeliveryLimit.String() + ", no dead-letter-exchange; each look that is returned counts"
				f.Remedy = "set delivery-limit -1 by policy (from 4.0), or use a classic queue for failed messages"
				if s.DeliveryLimit.Source.Kind == FromDefault {
					f.Level = LevelInfo
				}
				if !t.Behaviour.ReturnCountsAsDelivery {
					f.Message = fmt.Sprintf("failed messages in %s are lost when a consumer failed on them %s", name, Plural(s.DeliveryLimit.Value, "time"))
					f.Evidence = "delivery-limit " + s.DeliveryLimit.String() + ", no dead-letter-exchange"
				}
			default:
				continue
			}
			found(f)
		}
	}
}

// isFailedQueue reports whether a queue is a failed queue of a flow: findForgetfulFailedQueues then speaks of it.
func (t *Topology) isFailedQueue(ref QueueRef) bool {
	for _, f := range t.flowsOf[ref] {
		if f.Role(ref) == FailedRole {
			return true
		}
	}
	return false
}

// findCutCycles finds circles that a message can go round without being rejected: the broker drops it when it would come into a
// queue for the second time (all versions).
func findCutCycles(t *Topology, found func(Finding)) {
	walked := map[QueueRef]int{} // the walk that came by first
	for i := range t.Snapshot.Queues {
		start := t.Snapshot.Queues[i].QueueRef
		circle := t.expiryCircle(start, walked, i+1)
		if circle == nil {
			continue
		}
		at := circle[0]
		found(Finding{
			Code: "cycle-cut", Level: LevelError, VHost: at.VHost, Queue: at.Name,
			Message:  fmt.Sprintf("messages that expire in %s are lost after one round: they come back to it by expiry alone, and the broker drops them then", Printable(at.Name)),
			Evidence: "expires through " + list(circle) + " and back, each with a message-ttl, with no rejection in between",
			Remedy:   "let the circle pass a worker that rejects, or lead it out into a failed queue",
		})
	}
}

// expiryCircle follows what expires, from queue to queue, as long as there is only one way and nobody consumes. It returns the
// circle that this walk closed, if any: each queue is passed by one walk only.
func (t *Topology) expiryCircle(start QueueRef, walked map[QueueRef]int, walk int) []QueueRef {
	var path []QueueRef
	for at := start; ; {
		if walked[at] == walk {
			return path[slices.Index(path, at):]
		}
		q := t.queues[at]
		if walked[at] != 0 || !t.settings[at].TTL.Set || q.Consumers.Or(1) > 0 {
			return nil
		}
		walked[at] = walk
		path = append(path, at)
		targets := t.expiredTargets(at)
		if len(targets) != 1 || !t.hops[at][0].Route.Exact {
			return nil
		}
		at = targets[0]
	}
}

// findUncappedLoops finds retry loops that the broker never ends: a cycle with a rejection in it is never cut.
func findUncappedLoops(t *Topology, found func(Finding)) {
	for i := range t.flows {
		flow := &t.flows[i]
		worker := flow.Worker.Queue
		for _, b := range flow.Buffers {
			if !t.rejectsReach(worker, b.Queue) {
				continue
			}
			found(Finding{
				Code: "rejected-loop", Level: LevelInfo, VHost: worker.VHost, Queue: worker.Name,
				Message:  fmt.Sprintf("what %s rejects comes back through %s without end, unless its consumer counts and gives up", Printable(worker.Name), Printable(b.Queue.Name)),
				Evidence: fmt.Sprintf("%s dead-letters to %s, which expires back; the broker counts in x-death, and ends such a loop never", Printable(worker.Name), Printable(b.Queue.Name)),
				Remedy:   "let the consumer publish to a failed queue, and acknowledge, when the count of x-death reaches its limit",
			})
			break
		}
	}
}
