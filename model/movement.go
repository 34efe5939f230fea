package model

import "time"

// Movement is what moved at one queue between two polls. The broker keeps no statistic of dead-letter hops, so it is
// worked out: what left a buffer is what publishers sent to it minus what its depth grew; what arrived in a worker is
// what its depth grew plus what consumers took.
type Movement struct {
	// Rates are per second, and made in model/watch: of what arrived; of what left (expired, taken, or dropped); of what
	// left without a consumer having taken it.
	In, Out, Dead Opt[float64]
	New           Opt[float64] // of what arrived, what publishers sent

	Came  Opt[int64] // messages that arrived between the polls
	Sent  Opt[int64] // of those, how many publishers sent
	Went  Opt[int64] // messages that left between the polls
	Gone  Opt[int64] // of those that left, how many no consumer has taken
	Depth int64      // change of ready + unacknowledged messages between the polls
}

// Moves are the movements of all queues between two polls.
type Moves map[QueueRef]Movement

// MovesBetween works out what moved between two polls of the same broker. Without an earlier poll there are no
// movements. A queue that was deleted and declared again between the polls (its totals fell, or are gone) has none
// either.
func MovesBetween(before, after *Snapshot) Moves {
	if before == nil || after == nil {
		return nil
	}
	earlier := make(map[QueueRef]*Queue, len(before.Queues))
	for i := range before.Queues {
		earlier[before.Queues[i].QueueRef] = &before.Queues[i]
	}
	moves := Moves{}
	for q := range Each(after.Queues) {
		if b, ok := earlier[q.QueueRef]; ok {
			if m, ok := movement(b, q, after.TakenAt.Sub(before.TakenAt)); ok {
				moves[q.QueueRef] = m
			}
		}
	}
	return moves
}

func movement(before, after *Queue, took time.Duration) (Movement, bool) {
	depthBefore, ok := before.Depth()
	if !ok || took <= 0 {
		return Movement{}, false
	}
	depthAfter, ok := after.Depth()
	if !ok {
		return Movement{}, false
	}
	published, restarted := grown(before.Published, after.Published)
	removed, restarted2 := grown(before.Removed(), after.Removed())
	if restarted || restarted2 {
		return Movement{}, false
	}
	m := Movement{Depth: depthAfter - depthBefore}
	// Two equations, came - went = depth. Publishers' messages and consumers' acknowledgements are both only a part:
	// the rest came or went through a dead-letter exchange. The smaller of the two explanations is what must have
	// happened.
	came := max(published, m.Depth+removed, 0)
	went := came - m.Depth
	gone := max(went-removed, 0)
	m.Came, m.Sent, m.Went, m.Gone = Some(came), Some(published), Some(went), Some(gone)
	return m, true
}

// Of are the rates of a buffer. What goes from level to level stays inside levels that delay as one: what comes into
// them is what publishers send, and what leaves them is that without what they grow by.
func (m Moves) Of(b *Buffer) Movement {
	if len(b.Levels) == 0 {
		return m[b.Queue]
	}
	var came, grown float64
	known := false
	for _, ref := range b.Levels {
		if level := m[ref]; level.In.Known() {
			came, grown, known = came+level.New.Or(0), grown+level.In.Or(0)-level.Out.Or(0), true
		}
	}
	if !known {
		return Movement{}
	}
	came = max(came, grown)
	return Movement{In: Some(came), Out: Some(max(came-grown, 0))}
}

// Depth is the number of messages in the queue: ready and unacknowledged.
func (q *Queue) Depth() (int64, bool) {
	ready, ok := q.Ready.Get()
	return ready + q.Unacked.Or(0), ok
}

// Removed is how many messages consumers took for good since the broker counts.
func (q *Queue) Removed() Opt[int64] {
	acked, ok := q.Acked.Get()
	if !ok {
		return q.DeliveredNoAck
	}
	return Some(acked + q.DeliveredNoAck.Or(0))
}

// grown is by how much a total grew. A total that appears started at nothing; one that fell, or is gone, belongs to
// another queue.
func grown(before, after Opt[int64]) (by int64, restarted bool) {
	n := after.Or(0) - before.Or(0)
	return max(n, 0), n < 0 || before.Known() && !after.Known()
}
