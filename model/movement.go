package model

import "time"

// Movement is what moved at one queue between two polls. The broker keeps no statistic of dead-letter hops, so they are
// derived: what left a buffer is what publishers sent to it minus the growth of its depth; what arrived in a worker is
// the growth of its depth plus what consumers took.
type Movement struct {
	// Rates per second, computed in model/watch: of messages that arrived; that left (expired, taken, or dropped); and
	// that left without being taken by a consumer.
	In, Out, Dead Opt[float64]
	New           Opt[float64] // of the messages that arrived, those that publishers sent

	Came  Opt[int64] // messages that arrived between the polls
	Sent  Opt[int64] // how many of those publishers sent
	Went  Opt[int64] // messages that left between the polls
	Gone  Opt[int64] // how many of those no consumer took
	Depth int64      // change of Queue.Depth between the polls

	GoneLate int64 // of those Gone in all polls that are remembered: what was seen late, computed in model/watch
}

// Moves are the movements of all queues between two polls.
type Moves map[QueueRef]Movement

// MovesBetween works out what moved between two polls of the same broker. Without an earlier poll there are no
// movements; neither are there for a queue that was deleted and declared again in between (its totals fell, or are
// gone).
func MovesBetween(before, after *Snapshot) Moves {
	if before == nil || after == nil {
		return nil
	}
	earlier := byRef(before.Queues)
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
	depthBefore, knownBefore := before.Depth()
	depthAfter, knownAfter := after.Depth()
	published, restarted := grown(before.Published, after.Published)
	removed, restarted2 := grown(before.Removed(), after.Removed())
	if !knownBefore || !knownAfter || restarted || restarted2 || took <= 0 {
		return Movement{}, false
	}
	m := Movement{Depth: depthAfter - depthBefore}
	// came - went = depth. Published and acknowledged messages are only parts of came and went: the rest moved through a
	// dead-letter exchange. The smallest numbers that satisfy both are what must have happened.
	came := max(published, m.Depth+removed, 0)
	went := came - m.Depth
	gone := max(went-removed, 0)
	m.Came, m.Sent, m.Went, m.Gone = Some(came), Some(published), Some(went), Some(gone)
	return m, true
}

// Of returns the rates of a buffer. Movement between levels that delay as one stays inside: what enters is what
// publishers send, and what leaves is that minus the growth of the levels.
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

// Depth returns the number of messages in the queue: ready, unacknowledged, and held back for a delayed retry.
func (q *Queue) Depth() (int64, bool) {
	ready, ok := q.Ready.Get()
	return ready + q.Unacked.Or(0) + q.Delayed.Or(0), ok
}

// Removed returns how many messages consumers took for good since the broker began to count.
func (q *Queue) Removed() Opt[int64] {
	acked, ok := q.Acked.Get()
	if !ok {
		return q.DeliveredNoAck
	}
	return Some(acked + q.DeliveredNoAck.Or(0))
}

// grown returns the growth of a total. A total that appears started at 0; one that fell or disappeared belongs to a new
// queue.
func grown(before, after Opt[int64]) (by int64, restarted bool) {
	n := after.Or(0) - before.Or(0)
	return max(n, 0), n < 0 || before.Known() && !after.Known()
}
