package shell

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/story"
	"github.com/dlxtop/dlxtop/ui/picture"
	"github.com/dlxtop/dlxtop/ui/term"
)

// Head returns when the next message leaves a buffer: from what the broker and the counts know of its head, and from a
// look that still holds. A less precise source never makes it less exact.
func (m *TopologyMsg) Head(b *model.Buffer, now time.Time) picture.HeadState {
	var h picture.HeadState
	h.Waits = m.Topology.Waiting(b).Or(0) > 0
	if len(b.Levels) > 0 {
		h.Waits = len(m.Holding(b)) > 0
		h.Due = m.levelsDue(b, now)
		return h
	}

	q, ok := m.Topology.Queue(b.Queue)
	if !h.Waits || !ok || q.Ready.Or(0) == 0 || q.Consumers.Or(0) > 0 || b.InExchange != "" {
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
	if w := m.Looks.in(m.Topology)(b.Queue); w != nil {
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
func (m *TopologyMsg) levelsDue(b *model.Buffer, now time.Time) story.DueTime {
	var soonest story.DueTime
	below := time.Duration(0)
	for _, ref := range b.Levels {
		ttl := m.Topology.Settings(ref).TTL
		q, ok := m.Topology.Queue(ref)
		if ok && q.Ready.Or(0) > 0 {
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
	ready int64
}

// Holding returns the levels of a buffer with ready messages, fullest first, and of two equal ones the lower first.
func (m *TopologyMsg) Holding(b *model.Buffer) []held {
	var some []held
	for _, ref := range b.Levels {
		if n := ReadyOf(m.Topology, ref).Or(0); n > 0 {
			some = append(some, held{ref, n})
		}
	}

	slices.SortStableFunc(some, func(a, b held) int { return cmp.Compare(b.ready, a.ready) })
	return some
}

// holdingWords list the levels with messages: "5 in celery_delayed_3, 1 in celery_delayed_1; enter opens
// celery_delayed_3". They are "" without any.
func (m *TopologyMsg) holdingWords(b *model.Buffer, messagesKey string) string {
	const most = 4
	levels := m.Holding(b)
	if len(levels) == 0 {
		return ""
	}
	var words []string
	for _, level := range levels[:min(len(levels), most)] {
		words = append(words, model.Count(level.ready)+" in "+model.Printable(level.Ref.Name))
	}
	if more := len(levels) - most; more > 0 {
		words = append(words, "some in "+model.Plural(more, "more level"))
	}

	return strings.Join(words, ", ") + "; " + messagesKey + " opens " + model.Printable(levels[0].Ref.Name)
}

// Sight returns what the polls and the counts saw of the message at the head of a queue.
func (m *TopologyMsg) Sight(ref model.QueueRef, q *model.Queue, now time.Time) story.Sight {
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
func (m *TopologyMsg) Soonest(f *model.Flow, now time.Time) picture.HeadState {
	var soonest picture.HeadState
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

	q, ok := m.Topology.Queue(f.Worker.Queue)
	if ok && q.Delayed.Or(0) > 0 && f.DelayedRetry.Type.Set {
		soonest.Waits = true
		next, known := m.Topology.NextRetry(q).Get()
		if known && (!soonest.Due.Known() || next.Before(soonest.Due.Time)) {
			soonest.Due = story.DueTime{Kind: story.DueExact, Time: next, Earliest: next}
		}
	}

	return soonest
}

// DueField returns when the next message leaves a flow's buffers, or how many are held back beyond their time.
func DueField(s *term.Styles, h picture.HeadState, now time.Time) term.Field {
	if h.Blocked.Past > 0 {
		return s.Warning.Field("blocked " + model.Count(h.Blocked.Past))
	}
	kind, words := h.Kind(now), h.Words(now)
	switch {
	case kind == picture.HeadOverdue || kind == picture.HeadNever:
		return s.Warning.Field(words + "!")
	case kind == picture.HeadOlder:
		return s.Warning.Field(words)
	case kind == picture.HeadUnknown || kind == picture.HeadNone:
		return s.Muted.Field(words)
	case h.Cut:
		return s.Danger.Field(words + " " + term.MarkError)
	default:
		return s.Text.Field(words)
	}
}

// BufferLines say what leaves a queue's buffer when and what blocks it, or how to find out.
func (m *TopologyMsg) BufferLines(b *model.Buffer, messagesKey string, now time.Time) []term.Span {
	histogram := story.HistogramOf(m.Topology, b, m.Looks.in(m.Topology), m.Head(b, now).Due, now)
	total := histogram.Total()
	switch {
	case total == 0, histogram.Unknown == total && b.Queue.Name == "":
		return nil
	case histogram.Unknown == total:
		return []term.Span{term.ToneMuted.Span("due: each message has a TTL of its own, " + messagesKey +
			" looks at them; overdue messages expire when read")}
	}

	lines := []term.Span{term.ToneText.Span("due: " + histogram.Words())}
	if words := m.holdingWords(b, messagesKey); words != "" {
		lines = append(lines, term.ToneText.Span(words))
	}

	if histogram.Cut > 0 {
		lines = append(lines, term.ToneDanger.Span(term.MarkError+" "+model.Plural(histogram.Cut, "message")+
			" will be dropped on expiry: RabbitMQ drops what returns without a rejection"))
	}

	if h := m.Head(b, now); h.Blocked.By != nil {
		lines = append(lines, BlockedSpan(&h.Blocked, h.Due.Kind, now))
	}

	return lines
}

// BlockedSpan says what the head of a buffer blocks, that leaves it in this way.
func BlockedSpan(blocked *story.Blocked, leaves story.DueKind, now time.Time) term.Span {
	mark, tone := term.MarkWarning, term.ToneWarning
	if leaves == story.DueUnknown {
		mark, tone = term.MarkError, term.ToneDanger
	}
	return tone.Span(mark + " " + blocked.Words(now))
}

// ComingLines say when the messages in all buffers of a flow reach its worker, where a ladder of retries counts as one
// delay, and what the worker itself holds back.
func (m *TopologyMsg) ComingLines(f *model.Flow, now time.Time) (lines []term.Span) {
	if own := &f.DelayedRetry; own.Type.Set {
		words := "holds back: " + own.Words()
		if q, ok := m.Topology.Queue(f.Worker.Queue); ok && q.Delayed.Or(0) > 0 {
			words += "; " + m.Topology.HeldBack(q, now)
		}
		lines = append(lines, term.ToneText.Span(words))
	}

	var all story.DueHistogram
	for _, b := range f.Buffers {
		all.Add(story.HistogramOf(m.Topology, b, m.Looks.in(m.Topology), m.Head(b, now).Due, now))
	}
	if words := all.Words(); words != "" && all.Unknown < all.Total() {
		lines = append(lines, term.ToneText.Span("due: "+words))
	}

	return lines
}
