package ui

import (
	"time"

	"dlxtop/model"
)

// statisticsLag is how old a count of the management API may be: queues tell their statistics every 5 s, and they are collected every
// 5 s. As late may a message look that was taken out in time.
const statisticsLag = 10 * time.Second

// headState is what is known of the head of a buffer.
type headState struct {
	waits   bool // something is in the buffer
	due     model.DueTime
	blocked model.Blocked // what waits behind it; By is nil when nothing does, or nobody has looked
	looked  bool          // a look told it
}

// head tells when the next message leaves a buffer: by a look that still holds, else by what the broker and the history tell of its
// head, else within the TTL of the queue.
func (m *topologyMsg) head(b *model.Buffer, now time.Time) headState {
	var h headState
	h.waits = m.topology.Waiting(b).Or(0) > 0
	count, counted := m.counts[b.Queue]
	if counted && !b.Held && len(b.Levels) == 0 {
		h.waits = count.Ready.Or(0) > 0
	}
	if h.waits && len(b.Levels) > 0 {
		// In a level a message waits at most for the TTLs of this level and of all below it.
		histogram := m.topology.DueHistogram(b, m.looks.in(m.topology), now)
		if soonest, ok := histogram.Soonest.Get(); ok {
			h.due = model.DueTime{Kind: model.DueAtMost, Time: now.Add(soonest)}
		}
		return h
	}
	q, ok := m.topology.Queue(b.Queue)
	if !h.waits || !ok || q.Ready.Or(0) == 0 && !counted || q.Consumers.Or(0) > 0 || b.InExchange != "" {
		return h
	}
	if w := m.looks.in(m.topology)(b.Queue); w != nil {
		if head, ok := w.Head(now); ok {
			h.due, h.looked = head.Leaves, true
			h.blocked, _ = w.Blocked(now)
			return h
		}
	}
	seen := m.sight(b.Queue, q, now)
	head := model.Message{Position: 1}
	if at, ok := q.HeadTimestamp.Get(); ok && b.Role == model.DelayedBuffer {
		// In a retry buffer the publisher's timestamp is not when the message came in: it was somewhere else before.
		head.Properties.Timestamp = at
	}
	h.due = model.Due(&head, b.TTL, seen)
	return h
}

// sight is what the polls saw of the message at the head of a queue.
func (m *topologyMsg) sight(ref model.QueueRef, q *model.Queue, now time.Time) model.Sight {
	seen := model.Sight{At: now, Clock: m.topology.Snapshot.Overview.Clock()}
	if !q.CountedAt.IsZero() && q.CountedAt.Before(now) {
		seen.At = q.CountedAt
	}
	if m.watch != nil {
		if after, by, ok := m.watch.HeadArrived(ref); ok {
			seen.At = now // its count is newer than the poll
			seen.After, seen.Since = after, by
			return seen
		}
	}
	if m.history != nil {
		seen.After, seen.Since = m.history.headArrived(now, ref)
	}
	return seen
}

// soonest is the head that leaves first of all buffers of a flow.
func (m *topologyMsg) soonest(f *model.Flow, now time.Time) headState {
	var soonest headState
	for i := range f.Buffers {
		h := m.head(&f.Buffers[i], now)
		soonest.waits = soonest.waits || h.waits
		if h.blocked.Past > soonest.blocked.Past {
			soonest.blocked = h.blocked
		}
		switch {
		case !h.waits:
		case soonest.due.Kind == "", soonest.due.Kind == model.DueUnknown && h.due.Kind != "",
			h.due.Kind != "" && h.due.Kind != model.DueUnknown && h.due.Time.Before(soonest.due.Time):
			soonest.due, soonest.looked = h.due, h.looked
		}
	}
	return soonest
}

// overdue reports whether the head should have left and has not, beyond what counts lag.
func (h headState) overdue(now time.Time) bool {
	return h.due.Kind == model.DueAtMost && now.Sub(h.due.Time) > statisticsLag
}

// words are when the head leaves: "3.2s", "≤ 30s", "overdue", "never", "?" when nobody told, "-" when nothing waits.
func (h headState) words(now time.Time) string {
	switch {
	case !h.waits:
		return "-"
	case h.overdue(now):
		return "overdue"
	case h.due.Kind == model.DueUnknown && h.looked:
		return "never"
	case h.due.Kind == model.DueUnknown || h.due.Kind == "":
		return "?"
	}
	if h.due.Time.Before(now) {
		return "now" // or it has just left: the next count tells
	}
	return h.due.In(now)
}

// dueField is when the next message leaves a flow's buffers, or how many are held back beyond their time.
func dueField(s *Styles, h headState, now time.Time) field {
	switch words := h.words(now); {
	case h.blocked.Past > 0:
		return field{"blocked " + model.Count(int64(h.blocked.Past)), s.Warning}
	case words == "overdue", words == "never":
		return field{words + "!", s.Warning}
	case words == "?", words == "-":
		return field{words, s.Muted}
	default:
		return field{words, s.Text}
	}
}

// bufferLines tell of the buffer of a queue what leaves it when and what blocks it, or how to find out.
func (m *topologyMsg) bufferLines(b *model.Buffer, messagesKey string, now time.Time) []span {
	histogram := m.topology.DueHistogram(b, m.looks.in(m.topology), now)
	total := histogram.Total()
	switch {
	case total == 0:
		return nil
	case histogram.Unknown == total && b.Queue.Name == "":
		return nil
	case histogram.Unknown == total:
		return []span{{"when they leave: each message has a TTL of its own, " + messagesKey + " looks at them; what is overdue expires by it", toneMuted}}
	}
	lines := []span{{"when they leave: " + histogram.Words(), toneText}}
	if h := m.head(b, now); h.blocked.By != nil {
		line := span{markWarning + " " + h.blocked.Words(now), toneWarning}
		if h.due.Kind == model.DueUnknown {
			line = span{markError + " " + h.blocked.Words(now), toneDanger}
		}
		lines = append(lines, line)
	}
	return lines
}

// comingLines tell in a line when what waits in all buffers of a flow comes to its worker; a ladder of retries is one delay for it.
func (m *topologyMsg) comingLines(f *model.Flow, now time.Time) []span {
	var all model.DueHistogram
	for i := range f.Buffers {
		all.Add(m.topology.DueHistogram(&f.Buffers[i], m.looks.in(m.topology), now))
	}
	if words := all.Words(); words != "" && all.Unknown < all.Total() {
		return []span{{"when it comes: " + words, toneText}}
	}
	return nil
}
