package findings

import (
	"fmt"
	"slices"

	"github.com/dlxtop/dlxtop/model"
)

// Findings about the queues that dead letters reach, and about ways that lead in circles.

func findDropHeadTargets(t *model.Topology, found func(Finding)) {
	seen := map[model.QueueRef]bool{}
	looked := map[*model.QueueRef]bool{} // queues with the same way out share one list of targets
	for i := range t.Snapshot.Queues {
		from := t.Snapshot.Queues[i].QueueRef
		targets := t.ExpiredTargets(from)
		if len(targets) == 0 || looked[&targets[0]] {
			continue
		}
		looked[&targets[0]] = true
		for _, ref := range targets {
			s := t.Settings(ref)
			q, _ := t.Queue(ref)
			if seen[ref] || ref == from || !s.Bounded() || s.Overflow.Value != model.DropHead || !q.NoDLX(s) {
				continue
			}
			seen[ref] = true
			found(Finding{
				Code: "target-drops-head", Level: LevelWarning, VHost: ref.VHost, Queue: ref.Name,
				Message: fmt.Sprintf("%s receives the dead letters of %s, and loses its oldest messages when it "+
					"is full", model.Printable(ref.Name), model.Printable(from.Name)),
				Evidence: fmt.Sprintf("%s ready; max-length %s, max-length-bytes %s, overflow %s", q.Ready, s.MaxLength,
					s.MaxBytes, s.Overflow),
				Remedy: "give it a dead-letter exchange of its own, a larger limit, or no limit",
			})
		}
	}
}

func findStuckDeadLetters(t *model.Topology, found func(Finding)) {
	for i := range t.Snapshot.Queues {
		q := &t.Snapshot.Queues[i]
		if n := q.DeadLettering.Or(0); n > 0 {
			found(Finding{
				Code: "dead-letters-held", Level: LevelWarning, VHost: q.VHost, Queue: q.Name,
				Message: fmt.Sprintf("%s holds %s that no queue has taken yet", model.Printable(q.Name),
					model.Plural(n, "dead letter")),
				Evidence: fmt.Sprintf("messages_dlx %d, dead-letter-exchange %s, key %s, reaches %s", n,
					t.Settings(q.QueueRef).DLX, t.Settings(q.QueueRef).Key, model.NamesOr(t.RejectedTargets(q.QueueRef), "no queue")),
				Remedy: "bind a queue that takes them, or make room in the queue that refuses them; RabbitMQ " +
					"keeps trying",
			})
		}
	}
}

func findForgetfulFailedQueues(t *model.Topology, found func(Finding)) {
	seen := map[model.QueueRef]bool{}
	for i := range t.Flows() {
		for _, m := range t.Flows()[i].Failed {
			q, _ := t.Queue(m.Queue)
			s := t.Settings(m.Queue)
			if seen[m.Queue] || !q.NoDLX(s) || q.Type == model.Stream {
				continue
			}
			seen[m.Queue] = true
			f := Finding{Code: "failed-queue-forgets", Level: LevelWarning, VHost: m.Queue.VHost, Queue: m.Queue.Name}
			name := model.Printable(m.Queue.Name)
			switch {
			case s.TTL.Set:
				f.Message = fmt.Sprintf("failed messages in %s are lost after %s", name, model.ShortDuration(s.TTL.Value))
				f.Evidence = "message-ttl " + s.TTL.String() + ", no dead-letter-exchange"
				f.Remedy = "remove the TTL, or replay and drop before it ends"
			case s.Bounded() && s.Overflow.Value == model.DropHead:
				f.Message = fmt.Sprintf("failed messages in %s are lost when it is full: the oldest go first", name)
				f.Evidence = fmt.Sprintf("max-length %s, max-length-bytes %s, overflow %s", s.MaxLength, s.MaxBytes, s.Overflow)
				f.Remedy = "remove the limit, or set overflow to reject-publish"
			case s.DeliveryLimit.Set && s.DeliveryLimit.Value >= 0:
				f.Message = fmt.Sprintf("failed messages in %s are lost after they were looked at %s", name,
					model.Plural(s.DeliveryLimit.Value, "time"))
				f.Evidence = "delivery-limit " + s.DeliveryLimit.String() +
					", no dead-letter-exchange; each look that is returned counts"
				f.Remedy = "set delivery-limit -1 by policy (from 4.0), or use a classic queue for failed messages"
				if s.DeliveryLimit.Source.Kind == model.FromDefault {
					f.Level = LevelInfo
				}
				if !t.Behaviour.ReturnCountsAsDelivery {
					f.Message = fmt.Sprintf("failed messages in %s are lost after a consumer has failed on "+
						"them %s", name,
						model.Plural(s.DeliveryLimit.Value, "time"))
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
func isFailedQueue(t *model.Topology, ref model.QueueRef) bool {
	for _, f := range t.FlowsOf(ref) {
		if f.Role(ref) == model.FailedRole {
			return true
		}
	}
	return false
}

// findCutCycles finds circles that a message can go round without being rejected: the broker drops it when it would
// come into a queue for the second time (all versions), unless the queue that would send it there keeps its dead
// letters: then it stays in that one.
func findCutCycles(t *model.Topology, found func(Finding)) {
	walked := map[model.QueueRef]int{} // the walk that came by first
	for i := range t.Snapshot.Queues {
		start := t.Snapshot.Queues[i].QueueRef
		circle := expiryCircle(t, start, walked, i+1)
		if circle == nil {
			continue
		}
		first := slices.IndexFunc(circle, func(ref model.QueueRef) bool {
			before := circle[(slices.Index(circle, ref)+len(circle)-1)%len(circle)]
			return !t.Settings(before).KeepsDeadLetters()
		})
		if first < 0 {
			continue
		}
		circle = slices.Concat(circle[first:], circle[:first])
		at := circle[0]
		found(Finding{
			Code: "cycle-cut", Level: LevelError, VHost: at.VHost, Queue: at.Name,
			Message: fmt.Sprintf("messages that expire in %s are lost after one round: they return by expiry "+
				"alone, and RabbitMQ then drops them", model.Printable(at.Name)),
			Evidence: "expires through " + model.Names(circle) +
				" and back, each with a message-ttl, with no rejection in between",
			Remedy: "put a worker that rejects into the circle, or lead it out into a failed queue",
		})
	}
}

// expiryCircle follows what expires, from queue to queue, as long as there is only one way and nobody consumes. It
// returns the circle that this walk closed, if any: each queue is passed by one walk only.
func expiryCircle(t *model.Topology, start model.QueueRef, walked map[model.QueueRef]int, walk int) []model.QueueRef {
	var path []model.QueueRef
	for at := start; ; {
		if walked[at] == walk {
			return path[slices.Index(path, at):]
		}
		q, _ := t.Queue(at)
		if walked[at] != 0 || !t.Settings(at).TTL.Set || q.Consumers.Or(1) > 0 {
			return nil
		}
		walked[at] = walk
		path = append(path, at)
		targets := t.ExpiredTargets(at)
		if len(targets) != 1 || !t.Hops(at)[0].Route.Exact {
			return nil
		}
		at = targets[0]
	}
}

// findUncappedLoops finds retry loops that the broker never ends: a cycle with a rejection in it is never cut.
func findUncappedLoops(t *model.Topology, found func(Finding)) {
	for i := range t.Flows() {
		flow := &t.Flows()[i]
		worker := flow.Worker.Queue
		for _, b := range flow.Buffers {
			if !b.Rejected {
				continue
			}
			found(Finding{
				Code: "rejected-loop", Level: LevelInfo, VHost: worker.VHost, Queue: worker.Name,
				Message: fmt.Sprintf("messages that %s rejects come back through %s without end, unless its "+
					"consumer counts and gives up", model.Printable(worker.Name), model.Printable(b.Queue.Name)),
				Evidence: fmt.Sprintf("%s dead-letters to %s, which expires back; this loop never ends: "+
					"RabbitMQ only counts it in "+
					"x-death", model.Printable(worker.Name), model.Printable(b.Queue.Name)),
				Remedy: "when the count in x-death reaches a limit, let the consumer publish to a failed queue " +
					"and acknowledge",
			})
			break
		}
	}
}
