package model

import (
	"slices"
	"time"
)

// QueueCounts are the counts of one queue, from a cheap look between two polls. A queue that did not answer has none.
type QueueCounts struct {
	Ready     Opt[int64]
	Unacked   Opt[int64] // unknown from a passive declare
	Consumers Opt[int64] // unknown from the management API's totals
	Held      bool       // dlxtop itself held messages of the queue meanwhile: Ready may lack them
}

// CountsByQueue are the counts of several queues.
type CountsByQueue = map[QueueRef]QueueCounts

// Counts are the counts of some queues at one moment.
type Counts struct {
	At     time.Time     // when the broker was asked
	Took   time.Duration // until it had answered: a count is as old as that, at most
	Queues CountsByQueue
}

// Countable reports how a queue may be counted between two polls. A passive declare is exact and costs one round trip,
// but it renews the lease of a classic queue with x-expires, is refused for a queue that is exclusive to another
// connection, and answers 0 for a stream (all versions) and for a quorum queue without a majority (3.10.8). The
// management API's totals have no counts of streams either: only polls have those.
func (t *Topology) Countable(ref QueueRef) (declare, totals bool) {
	q, ok := t.Queues[ref]
	switch {
	case !ok || q.Type == Stream || q.Outage() != NoOutage:
		return false, false
	case q.OwnedByAnother || q.Exclusive, q.Type == Classic && t.settings.of(ref).Expires.Set, q.Type != Classic &&
		q.Type != Quorum:
		return false, true
	}

	return true, false
}

// CountableOf splits queues into those that a passive declare counts and those that totals count.
func (t *Topology) CountableOf(queues []QueueRef) (declare, totals []QueueRef) {
	for _, ref := range queues {
		byDeclare, byTotals := t.Countable(ref)
		switch {
		case byDeclare:
			declare = append(declare, ref)
		case byTotals:
			totals = append(totals, ref)
		}
	}

	return declare, totals
}

// Counted returns the topology with the counts since its poll, newest last, as Queue and Waiting report them. Queues
// and the snapshot stay as polled. Messages that dlxtop held meanwhile count as still there, and a queue that was not
// counted in time keeps its count. Without counts it is t itself.
func (t *Topology) Counted(counts []Counts) *Topology {
	if len(counts) == 0 {
		return t
	}
	next := *t
	next.counted = map[QueueRef]*Queue{}
	for _, c := range slices.Backward(counts) {
		for ref, n := range c.Queues {
			polled, ok := t.Queues[ref]
			if _, newer := next.counted[ref]; newer || !ok || n.Held || !n.Ready.Known() {
				continue
			}
			q := *polled
			q.Ready, q.CountedAt = n.Ready, c.At
			if n.Consumers.Known() {
				q.Consumers = n.Consumers
			}
			if n.Unacked.Known() {
				q.Unacked = n.Unacked
			}

			next.counted[ref] = &q
		}
	}

	return &next
}

// Confirmed returns the topology with the consumers that a count found where the statistics reported none, or nothing
// yet: statistics lag by up to StatisticsLag and lack a worker that has just started. A queue that dlxtop peeked at
// meanwhile is left out, as its consumer may have been dlxtop. With ready it takes over the counted messages, too; do
// not use that where polls are compared with each other. It is t itself when nothing differs.
func (t *Topology) Confirmed(counts map[QueueRef]QueueCounts, ready bool) *Topology {
	var queues []Queue
	change := func(i int) *Queue {
		if queues == nil {
			queues = slices.Clone(t.Snapshot.Queues)
		}
		return &queues[i]
	}

	for i := range t.Snapshot.Queues {
		q := &t.Snapshot.Queues[i]
		count := counts[q.QueueRef]
		isNews := count.Consumers.Or(0) > 0 || !q.Consumers.Known() && count.Consumers.Known()
		if isNews && !q.Consumed() && !count.Held {
			change(i).Consumers = count.Consumers
		}

		if n := count.Ready; ready && n.Known() && n != q.Ready {
			change(i).Ready = n
		}
	}

	if queues == nil {
		return t
	}
	s := *t.Snapshot
	s.Queues = queues
	return t.Next(&s)
}
