package story

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// dueSpans are the steps of a histogram: within a minute, ten minutes, an hour, a day, later.
var dueSpans = [...]struct {
	Within time.Duration // 0: no end
	Name   string
}{
	{time.Minute, "≤ 1m"}, {10 * time.Minute, "≤ 10m"}, {time.Hour, "≤ 1h"}, {24 * time.Hour, "≤ 1d"}, {0, "later"},
}

// DueHistogram is how many messages of a buffer leave when.
type DueHistogram struct {
	Within  [len(dueSpans)]int64 // each message in the first span that is long enough for it
	Blocked int64                // past their own time, but still behind another message: not in Within
	Cut     int64                // dropped when they expire, as they return without a rejection: not in Within
	Never   int64                // nothing expires them
	Older   int64                // they, or one ahead of them, wait under an earlier TTL: not in Within
	Unknown int64                // not peeked at, and each has its own TTL
	Bounds  int64                // of those in Within, how many leave at that time or earlier
	Longest time.Duration        // all of Within leaves within that time
}

// Total returns how many messages it counts.
func (h *DueHistogram) Total() int64 {
	n := h.Blocked + h.Cut + h.Never + h.Older + h.Unknown
	for _, w := range h.Within {
		n += w
	}
	return n
}

func (h *DueHistogram) add(n int64, due DueTime, now time.Time) {
	if n <= 0 {
		return
	}
	switch due.Kind {
	case DueUnknown:
		h.Never += n
		return
	case DueEarlierTTL:
		h.Older += n
		return
	}

	left := max(due.Time.Sub(now), 0)
	h.Longest = max(h.Longest, left)
	if due.Kind != DueExact {
		h.Bounds += n
	}

	for i, span := range dueSpans {
		if left <= span.Within || span.Within == 0 {
			h.Within[i] += n
			return
		}
	}
}

// HistogramOf works out when the messages of a buffer leave: exactly for those that a peek saw (looks returns one that
// still holds, by queue), for the others within the TTL of their queue, unless its head is older than that. In levels,
// that is the sum of the TTLs of a level and all below it.
func HistogramOf(
	t *model.Topology, b *model.Buffer, looks func(model.QueueRef) *Waits, head DueTime, now time.Time,
) DueHistogram {
	var h DueHistogram
	if b.InExchange != "" || b.Held {
		h.Unknown = t.Waiting(b).Or(0)
		return h
	}

	longest := time.Duration(0) // of this level and those below
	for _, ref := range b.Queues() {
		q, ok := t.Queue(ref)
		if !ok {
			continue
		}
		bound := model.Unknown[time.Duration]()
		if ttl := t.Settings(ref).TTL; ttl.Set {
			longest += min(ttl.Value, 1<<63-1-longest)
			bound = model.Some(longest)
		}

		ready := q.Ready.Or(0)
		older := head.Kind == DueEarlierTTL
		if w := looks(ref); w != nil && len(b.Levels) == 0 {
			ready = max(ready-h.look(w, now), 0)
			older = older || w.Messages[len(w.Messages)-1].Leaves.Kind == DueEarlierTTL
		}

		ttl, ok := bound.Get()
		switch { // those not peeked at
		case older:
			h.Older += ready
		case ok:
			h.add(ready, DueTime{Kind: DueAtMost, Time: now.Add(ttl)}, now)
		default:
			h.Unknown += ready
		}
	}

	return h
}

// look adds the peeked messages that are still there, and returns their number.
func (h *DueHistogram) look(w *Waits, now time.Time) int64 {
	left := w.left(now)
	for i := left; i < len(w.Messages); i++ {
		m := &w.Messages[i]
		switch {
		case m.HeldBack() && m.Due.Known() && m.Due.Time.Before(now):
			h.Blocked++
		case m.Cut && m.Leaves.Known():
			h.Cut++
		default:
			h.add(1, m.Leaves, now)
		}
	}

	return int64(len(w.Messages) - left)
}

// Add adds another buffer's histogram: the rungs of a ladder share one.
func (h *DueHistogram) Add(other DueHistogram) {
	for i, n := range other.Within {
		h.Within[i] += n
	}

	h.Blocked += other.Blocked
	h.Cut += other.Cut
	h.Never += other.Never
	h.Older += other.Older
	h.Unknown += other.Unknown
	h.Bounds += other.Bounds
	h.Longest = max(h.Longest, other.Longest)
}

// Words returns the histogram in one line: "≤ 1m 12 ≤ 10m 3 overdue 4, behind another not looked at 88,000". When
// everything leaves within one known time, that comes first: "all 1,204 within 30s".
func (h *DueHistogram) Words() string {
	total := h.Total()
	if total == 0 {
		return ""
	}
	var parts []string
	if total == h.Bounds {
		within := "within " + model.ShortDuration(roundedUp(h.Longest))
		if total > 1 {
			within = model.Sayf("all %v %s", total, within)
		}
		parts = append(parts, within)
		if slices.Contains(h.Within[:], total) {
			return parts[0] // one span says no more
		}
	}

	say := func(n int64, words string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf(words, model.Count(n)))
		}
	}

	for i, n := range h.Within {
		say(n, dueSpans[i].Name+" %s")
	}

	say(h.Blocked, "overdue %s, behind another")
	say(h.Cut, "dropped %s")
	say(h.Never, "never %s")
	say(h.Older, "unknown %s, under an earlier TTL")
	say(h.Unknown, "not looked at %s")
	return strings.Join(parts, "   ")
}
