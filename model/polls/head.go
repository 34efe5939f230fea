package polls

import (
	"cmp"
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/story"
	"github.com/dlxtop/dlxtop/model/watch"
)

// Seen is what was seen of buffers: by polls, by counts, and by looks that counts do not contradict.
type Seen struct {
	Topology *model.Topology
	History  *History
	Watch    *watch.Watch // of one flow; nil: it is not counted
	Looks    func(model.QueueRef) *story.Waits
}

// HeadState is the message that leaves a buffer next.
type HeadState struct {
	Waits   bool // something is in the buffer
	Due     story.DueTime
	Blocked story.Blocked // what waits behind it; By is nil when nothing does, or without a look
	Looked  bool          // known from a look
	Cut     bool          // RabbitMQ then drops it, as it returns without a rejection
}

// HeadKind is what is known of when that is.
type HeadKind int

const (
	HeadNone    HeadKind = iota // nothing waits
	HeadUnknown                 // it is unknown when it leaves
	HeadNever                   // a look showed that it does not expire
	HeadOlder                   // it waits under an earlier TTL than the queue's, until an unknown time
	HeadOverdue                 // it should have left, and has not, by more than counts lag
	HeadNow                     // it leaves now, or has just left: the next count shows
	HeadDue                     // it leaves at a known time, or at that time at the latest
)

func (h HeadState) Kind(now time.Time) HeadKind {
	switch {
	case !h.Waits:
		return HeadNone
	case h.Due.Kind == story.DueAtMost && now.Sub(h.Due.Time) > model.StatisticsLag:
		return HeadOverdue
	case h.Due.Kind == story.DueUnknown && h.Looked:
		return HeadNever
	case h.Due.Kind == story.DueEarlierTTL:
		return HeadOlder
	case h.Due.Kind == story.DueUnknown || h.Due.Kind == "":
		return HeadUnknown
	case h.Due.Time.Before(now):
		return HeadNow
	}

	return HeadDue
}

// Words returns when the head leaves: "3.2s", "≤ 30s", "overdue", "never", "?" when unknown, "-" when nothing waits.
func (h HeadState) Words(now time.Time) string {
	switch h.Kind(now) {
	case HeadNone:
		return "-"
	case HeadUnknown, HeadOlder:
		return "?"
	case HeadNever:
		return "never"
	case HeadOverdue:
		return "overdue"
	case HeadNow:
		return "now"
	}

	return h.Due.In(now)
}

// Head returns when the next message leaves a buffer: from what the broker and the counts know of its head, and from a
// look that still holds. A less precise source never makes it less exact.
func (m *Seen) Head(b *model.Buffer, now time.Time) HeadState {
	var h HeadState
	h.Waits = m.Topology.Waiting(b).Or(0) > 0
	if len(b.Levels) > 0 {
		h.Waits = len(m.Holding(b)) > 0
		h.Due = m.levelsDue(b, now)
		return h
	}

	q := m.Topology.Known(b.Queue)
	if !h.Waits || q.Ready.Or(0) == 0 || q.Consumers.Or(0) > 0 || b.InExchange != "" {
		return h
	}
	seen := m.Sight(b.Queue, q, now)
	head := message.Message{Position: 1}
	if at, ok := q.HeadTimestamp.Get(); ok && b.Role == model.DelayedBuffer {
		// In a retry buffer the publisher's timestamp is not the time of arrival: the message was somewhere else before.
		head.Properties.Timestamp = at
	}

	ttl, set := b.TTL.Get()
	h.Due = story.Due(&head, model.Setting[time.Duration]{Value: ttl, Set: set, Source: b.TTLSource}, seen)
	if w := m.Looks(b.Queue); w != nil {
		if head, ok := w.Head(now); ok {
			same := head.Position == 1 && !seen.Since.After(w.TakenAt) // nothing has left since the look
			leaves := head.Leaves
			if same {
				leaves = leaves.Narrowed(h.Due)
			}
			h.Due = leaves
			h.Looked = true
			h.Cut = head.Cut
			h.Blocked, _ = w.Blocked(now)
		}
	}

	return h
}

// levelsDue returns when the next message leaves levels that delay as one: at the latest after the TTLs of its level
// and of all below it.
func (m *Seen) levelsDue(b *model.Buffer, now time.Time) story.DueTime {
	var soonest story.DueTime
	below := time.Duration(0)
	for _, ref := range b.Levels {
		ttl := m.Topology.Settings(ref).TTL
		q := m.Topology.Known(ref)
		if q.Ready.Or(0) > 0 {
			due := story.Due(&message.Message{Position: 1}, ttl, m.Sight(ref, q, now))
			if due.Known() {
				due = story.DueTime{Kind: story.DueAtMost, Time: due.Time.Add(below), Earliest: due.Earliest}
			}
			if soonest.Kind == "" || due.Known() && (!soonest.Known() || due.Time.Before(soonest.Time)) {
				soonest = due
			}
		}

		below += ttl.Value
	}

	return soonest
}

type held struct {
	Ref   model.QueueRef
	Ready int64
}

// Holding returns the levels of a buffer with ready messages, fullest first, and of two equal ones the lower first.
func (m *Seen) Holding(b *model.Buffer) []held {
	var some []held
	for _, ref := range b.Levels {
		if n := ReadyOf(m.Topology, ref).Or(0); n > 0 {
			some = append(some, held{ref, n})
		}
	}

	slices.SortStableFunc(some, func(a, b held) int { return cmp.Compare(b.Ready, a.Ready) })
	return some
}

// Sight returns what the polls and the counts saw of the message at the head of a queue.
func (m *Seen) Sight(ref model.QueueRef, q *model.Queue, now time.Time) story.Sight {
	seen := story.Sight{
		At: now, Lag: model.StatisticsLag, Changed: m.Topology.TTLChanged(ref),
		Clock: m.Topology.Snapshot.Overview.Clock(),
	}

	if !q.CountedAt.IsZero() && q.CountedAt.Before(now) {
		seen.At = q.CountedAt
	}

	known := Arrival{Since: now}
	if m.History != nil {
		known = m.History.HeadArrived(now, ref)
	}

	if m.Watch != nil {
		if head, ok := m.Watch.HeadArrived(ref); ok {
			seen.At = now // its count is newer than the poll
			known = known.With(head)
		}
	}

	seen.After, seen.Since = known.After, known.Since
	return seen
}

// Soonest returns the head that leaves first among all buffers of a flow, and what its worker holds back.
func (m *Seen) Soonest(f *model.Flow, now time.Time) HeadState {
	var soonest HeadState
	for _, b := range f.Buffers {
		h := m.Head(b, now)
		soonest.Waits = soonest.Waits || h.Waits
		if h.Blocked.Past > soonest.Blocked.Past {
			soonest.Blocked = h.Blocked
		}

		switch {
		case !h.Waits:
		case soonest.Due.Kind == "", !soonest.Due.Known() && h.Due.Kind != "",
			h.Due.Known() && h.Due.Time.Before(soonest.Due.Time):
			soonest.Due = h.Due
			soonest.Looked = h.Looked
			soonest.Cut = h.Cut
		}
	}

	q := m.Topology.Known(f.Worker.Queue)
	if q.Delayed.Or(0) > 0 && f.DelayedRetry.Type.Set {
		soonest.Waits = true
		next, known := m.Topology.NextRetry(q).Get()
		if known && (!soonest.Due.Known() || next.Before(soonest.Due.Time)) {
			soonest.Due = story.DueTime{Kind: story.DueExact, Time: next, Earliest: next}
		}
	}

	return soonest
}

// ReadyOf returns how many messages are ready in a queue.
func ReadyOf(t *model.Topology, ref model.QueueRef) model.Opt[int64] {
	return t.Known(ref).Ready
}

// ReadyIn adds up what is ready in queues, as far as known; if nothing is, it is unknown, and without any queues 0.
func ReadyIn(t *model.Topology, refs []model.QueueRef) model.Opt[int64] {
	if len(refs) == 0 {
		return model.Some[int64](0)
	}
	var sum model.Opt[int64]
	for _, ref := range refs {
		sum = Plus(sum, ReadyOf(t, ref))
	}

	return sum
}

// Plus adds known values.
func Plus[N int64 | float64](sum, n model.Opt[N]) model.Opt[N] {
	if !n.Known() {
		return sum
	}
	return model.Some(sum.Or(0) + n.Or(0))
}
