package polls

import (
	"cmp"
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/watch"
)

const (
	HistorySpan    = 5 * time.Minute
	historySamples = 300 // at most: with the shortest interval in use, 1 s, that is the span
)

// History remembers the depth of the flows' queues, and what left them, for the last five minutes, and since when their
// heads are there. The root adds to it, and so does the flow that is counted (Saw).
type History struct {
	times  []time.Time
	queues map[model.QueueRef][]sample // as long as times; newest last
	heads  map[model.QueueRef]Arrival  // for each queue with messages
}

type sample struct {
	ready float32 // messages; negative: unknown
	left  bool    // something has left the queue since the previous poll, or may have
}

func NewHistory() *History {
	return &History{queues: map[model.QueueRef][]sample{}, heads: map[model.QueueRef]Arrival{}}
}

// Record adds one poll. Queues that are no longer in a flow are forgotten.
func (h *History) Record(at time.Time, t *model.Topology, flows []model.Flow, moves model.Moves) {
	old := 0
	for old < len(h.times) && (at.Sub(h.times[old]) > HistorySpan || len(h.times)-old >= historySamples) {
		old++
	}

	h.times = append(h.times[old:], at)
	kept := make(map[model.QueueRef][]sample, len(h.queues))
	heads := make(map[model.QueueRef]Arrival, len(h.heads))
	for i := range flows {
		for _, ref := range flows[i].Queues() {
			if _, done := kept[ref]; done {
				continue
			}
			s := sample{-1, true}
			if q, ok := t.Queue(ref); ok {
				s.ready = float32(q.Ready.Or(-1))
				s.left = len(h.times) == 1 || moves[ref].Went.Or(-1) != 0
			}

			samples := h.queues[ref]
			if samples == nil {
				samples = slices.Repeat([]sample{{-1, true}}, len(h.times)-1)
			} else {
				samples = samples[old:]
			}

			kept[ref] = append(samples, s)
			if s.ready > 0 {
				heads[ref] = h.headAfter(ref, kept[ref])
			}
		}
	}

	h.queues, h.heads = kept, heads
}

// Ready returns the sum of waiting messages in queues over the span that ends now, in this number of steps: the mean of
// each step, negative where unknown.
func (h *History) Ready(now time.Time, steps int, queues ...model.QueueRef) []float64 {
	sums := make([]float64, steps)
	counts := make([]int, steps)
	start := now.Add(-HistorySpan)
	for i, at := range h.times {
		step := min(int(at.Sub(start)*time.Duration(steps)/HistorySpan), steps-1)
		if step < 0 {
			continue
		}
		var sum float64
		known := false
		for _, ref := range queues {
			if samples := h.queues[ref]; i < len(samples) && samples[i].ready >= 0 {
				sum += float64(samples[i].ready)
				known = true
			}
		}

		if known {
			sums[step] += sum
			counts[step]++
		}
	}

	for i := range sums {
		if counts[i] == 0 {
			sums[i] = -1
		} else {
			sums[i] /= float64(counts[i])
		}
	}

	return sums
}

// Arrival is the time range in which the message at the head of a queue came, by counts: after is zero when it was not
// seen arriving. It is kept for as long as nothing leaves the queue: less precise counts do not replace it.
type Arrival struct{ After, Since time.Time }

// HeadArrived returns the arrival of the message that is at the head of a queue now.
func (h *History) HeadArrived(now time.Time, ref model.QueueRef) Arrival {
	return cmp.Or(h.heads[ref], Arrival{Since: now})
}

// headAfter derives a head's arrival from the newest samples: while nothing has left a non-empty queue, its head is the
// same, and if it was empty just before, the head has come since. A poll that does not know what left ends the search.
func (h *History) headAfter(ref model.QueueRef, samples []sample) Arrival {
	newest := len(samples) - 1
	fresh := Arrival{Since: h.times[newest]}
	known, ok := h.heads[ref]
	switch {
	case samples[newest].left || newest == 0:
	case samples[newest-1].ready == 0:
		fresh.After = h.times[newest-1].Add(-model.StatisticsLag) // the count of 0 may be as old as that
	case ok:
		return known
	}

	return fresh
}

// Saw remembers what counts know of a head, so that it stays known when they end.
func (h *History) Saw(ref model.QueueRef, head watch.Head) {
	if known, ok := h.heads[ref]; ok {
		h.heads[ref] = known.With(head)
	}
}

// With combines what polls and counts know. Polls are late: a head that has left since is not the counted one.
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
