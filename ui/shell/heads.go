package shell

import (
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/watch"
)

// Arrival is between when and when the message at the head of a queue came, as far as counts say: after is zero when it
// was not seen to come. It is kept for as long as nothing leaves the queue: what says less does not make it less exact.
type Arrival struct{ After, Since time.Time }

// HeadArrived is what is known of the message that is at the head of a queue now.
func (h *History) HeadArrived(now time.Time, ref model.QueueRef) Arrival {
	if known, ok := h.heads[ref]; ok {
		return known
	}
	return Arrival{Since: now}
}

// headAfter is what the newest of the samples makes of a head: for as long as nothing has left a queue that was not
// empty, its head is the same, and when it was empty just before, the head has come since. A poll that does not know
// what left ends it.
func (h *History) headAfter(ref model.QueueRef, samples []sample) Arrival {
	newest := len(samples) - 1
	fresh := Arrival{Since: h.times[newest]}
	known, ok := h.heads[ref]
	switch {
	case samples[newest].left || newest == 0:
		return fresh
	case samples[newest-1].ready == 0:
		fresh.After = h.times[newest-1].Add(-model.StatisticsLag) // as old as that the count of nothing may be
		return fresh
	case ok:
		return known
	}
	return fresh
}

// Saw takes in what counts know of a head, so that it is still known when they end.
func (h *History) Saw(ref model.QueueRef, head watch.Head) {
	if known, ok := h.heads[ref]; ok {
		h.heads[ref] = known.With(head)
	}
}

// With is what polls and counts know together. Polls come late: a head that has left since is not the one that is
// counted.
func (a Arrival) With(head watch.Head) Arrival {
	counted := Arrival{head.After, head.By}
	switch {
	case !head.Left.Before(a.Since), head.After.After(a.Since):
		return counted
	case a.After.After(head.By):
		return a
	}
	if a.After.After(counted.After) {
		counted.After = a.After
	}
	if a.Since.Before(counted.Since) {
		counted.Since = a.Since
	}
	return counted
}
