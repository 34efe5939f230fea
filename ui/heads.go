package ui

import (
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/watch"
)

// arrival is between when and when the message at the head of a queue came, as far as counts say: after is zero when it
// was not seen to come. It is kept for as long as nothing leaves the queue: what says less does not make it less exact.
type arrival struct{ after, since time.Time }

// headArrived is what is known of the message that is at the head of a queue now.
func (h *history) headArrived(now time.Time, ref model.QueueRef) arrival {
	if known, ok := h.heads[ref]; ok {
		return known
	}
	return arrival{since: now}
}

// headAfter is what the newest of the samples makes of a head: for as long as nothing has left a queue that was not
// empty, its head is the same, and when it was empty just before, the head has come since. A poll that does not know
// what left ends it.
func (h *history) headAfter(ref model.QueueRef, samples []sample) arrival {
	newest := len(samples) - 1
	fresh := arrival{since: h.times[newest]}
	known, ok := h.heads[ref]
	switch {
	case samples[newest].left || newest == 0:
		return fresh
	case samples[newest-1].ready == 0:
		fresh.after = h.times[newest-1].Add(-model.StatisticsLag) // as old as that the count of nothing may be
		return fresh
	case ok:
		return known
	}
	return fresh
}

// saw takes in what counts know of a head, so that it is still known when they end.
func (h *history) saw(ref model.QueueRef, head watch.Head) {
	if known, ok := h.heads[ref]; ok {
		h.heads[ref] = known.with(head)
	}
}

// with is what polls and counts know together. Polls come late: a head that has left since is not the one that is
// counted.
func (a arrival) with(head watch.Head) arrival {
	counted := arrival{head.After, head.By}
	switch {
	case !head.Left.Before(a.since), head.After.After(a.since):
		return counted
	case a.after.After(head.By):
		return a
	}
	if a.after.After(counted.after) {
		counted.after = a.after
	}
	if a.since.Before(counted.since) {
		counted.since = a.since
	}
	return counted
}
