package model

import (
	"slices"
	"time"
)

// QueueCounts are the counts of one queue as a cheap look between two polls tells them. A queue that did not answer has
// none.
type QueueCounts struct {
	Ready     Opt[int64]
	Unacked   Opt[int64] // a passive declare does not tell them
	Consumers Opt[int64] // totals of the management API do not tell them
	Held      bool       // dlxtop itself held messages of the queue meanwhile: Ready may miss them
}

// Counts are the counts of some queues at one moment.
type Counts struct {
	At     time.Time     // when the broker was asked
	Took   time.Duration // until it had answered: a count is as old as that, at most
	Queues map[QueueRef]QueueCounts
}

// Countable tells how a queue may be counted between two polls. A passive declare is exact and costs one round trip,
// but it renews the lease of a classic queue with x-expires, is refused where a queue is exclusive to another
// connection, and says 0 of a stream (all versions), and of a quorum queue without a majority (3.10.8). The management
// API's totals tell no counts of streams either: those are known from polls only.
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

// CountableOf are those of some queues that a passive declare counts, and those that totals count.
func (t *Topology) CountableOf(queues []QueueRef) (declare, totals []QueueRef) {
	for _, ref := range queues {
		switch byDeclare, byTotals := t.Countable(ref); {
		case byDeclare:
			declare = append(declare, ref)
		case byTotals:
			totals = append(totals, ref)
		}
	}
	return declare, totals
}

// Counted is the topology with what was counted since its poll, the newest counts last, as Queue and Waiting tell it.
// Queues and the snapshot stay as polled. What dlxtop held meanwhile is still there, and so is what a queue does not
// count in time. Without counts it is t itself.
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

// Confirmed is the topology with the consumers that a count found where the statistics told none: those are late by up
// to StatisticsLag, and a worker that has just started is in none of them. One that dlxtop looked at meanwhile may have
// had only that consumer. With ready it has the messages that were
// counted, too: not where polls are compared with each other. It is t itself when nothing differs.
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
		if n := count.Consumers; n.Or(0) > 0 && q.Consumers.Or(0) == 0 && !count.Held {
			change(i).Consumers = n
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
