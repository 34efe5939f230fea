package model

import (
	"math"
	"slices"
)

// mostPast bounds the limits that are followed one behind the other: where each of many queues leads to all others, it
// would take too long, at each poll, to find a way through all of them.
const mostPast = 8

// Carried is the delivery count with which messages may come into a queue: from 4.3 RabbitMQ keeps the count of a
// quorum queue in the messages that it dead-letters, through queues of any type. Another quorum queue continues that
// count, and drops or dead-letters a message above its own delivery limit at the first return, whatever returns it
// (4.3.6).
type Carried struct {
	From  QueueRef // the quorum queue that counted
	Count int64    // at most; math.MaxInt64 where it has no bound

	past []QueueRef // the quorum queues that counted
}

// Carried returns the highest count with which messages may come into a queue, through the hops of all queues.
func (t *Topology) Carried(ref QueueRef) (c Carried, ok bool) {
	c, ok = t.carried[ref]
	return c, ok
}

// CarriedFromWork is Carried, but for what only looks count, in buffers that nothing consumes.
func (t *Topology) CarriedFromWork(ref QueueRef) Carried { return t.carriedFromWork[ref] }

// findCarried follows the counts from these quorum queues until none rises any more.
func (t *Topology) findCarried(counts func(QueueRef) bool) map[QueueRef]Carried {
	if !t.Behaviour.CarriesDeliveryCount {
		return nil
	}
	carried := map[QueueRef]Carried{}
	var raised []QueueRef
	for ref := range t.hops {
		if t.Queues[ref].Type == Quorum {
			raised = append(raised, ref)
		}
	}

	slices.SortFunc(raised, func(a, b QueueRef) int { return compareRefs(b, a) }) // of equal counts the first is named
	for len(raised) > 0 {
		ref := raised[len(raised)-1]
		raised = raised[:len(raised)-1]
		for _, hop := range t.hops[ref] {
			c := carried[ref]
			if counts(ref) {
				c = t.carriedBy(ref, hop.Reason, c)
			}

			for _, to := range hop.Route.Queues {
				if c.Count > carried[to].Count {
					carried[to] = c
					raised = append(raised, to)
				}
			}
		}
	}

	return carried
}

// carriedBy returns the count with which messages leave a queue for a reason; came is the count with which they
// entered.
func (t *Topology) carriedBy(ref QueueRef, reason Reason, came Carried) Carried {
	own := Carried{From: ref, past: []QueueRef{ref}}
	if t.Queues[ref].Type == Quorum {
		own.Count = math.MaxInt64
		if limit := t.settings.of(ref).DeliveryLimit; limit.Set && limit.Value >= 0 {
			own.Count = limit.Value
			if reason == DeliveryLimit {
				own.Count++
			}
		}
	}

	bounded := came.Count < math.MaxInt64 && len(came.past) < mostPast
	switch {
	case slices.Contains(came.past, ref):
	case reason == DeliveryLimit && bounded && came.Count >= own.Count:
		return Carried{ref, came.Count + 1, append(slices.Clip(came.past), ref)} // its first return is one too many
	case came.Count > own.Count:
		return came
	}

	return own
}
