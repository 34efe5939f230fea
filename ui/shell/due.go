package shell

import (
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/polls"
	"github.com/dlxtop/dlxtop/model/story"
	"github.com/dlxtop/dlxtop/ui/term"
)

// Seen is what polls, counts and looks have seen of buffers.
func (m *TopologyMsg) Seen() *polls.Seen {
	return &polls.Seen{Topology: m.Topology, History: m.History, Watch: m.Watch, Looks: m.Looks.in(m.Topology)}
}

// Head returns when the next message leaves a buffer.
func (m *TopologyMsg) Head(b *model.Buffer, now time.Time) polls.HeadState {
	return m.Seen().Head(b, now)
}

// holdingWords list the levels with messages: "5 in celery_delayed_3, 1 in celery_delayed_1; enter opens
// celery_delayed_3". They are "" without any.
func (m *TopologyMsg) holdingWords(b *model.Buffer, messagesKey string) string {
	const most = 4
	levels := m.Seen().Holding(b)
	if len(levels) == 0 {
		return ""
	}
	var words []string
	for _, level := range levels[:min(len(levels), most)] {
		words = append(words, model.Count(level.Ready)+" in "+model.Printable(level.Ref.Name))
	}
	if more := len(levels) - most; more > 0 {
		words = append(words, model.Sayf("some in %v more level(s)", more))
	}

	return strings.Join(words, ", ") + "; " + messagesKey + " opens " + model.Printable(levels[0].Ref.Name)
}

// DueField returns when the next message leaves a flow's buffers, or how many are held back beyond their time.
func DueField(h polls.HeadState, now time.Time) term.Span {
	if h.Blocked.Past > 0 {
		return term.Warning.Span("blocked " + model.Count(h.Blocked.Past))
	}
	kind, words := h.Kind(now), h.Words(now)
	switch {
	case kind == polls.HeadOverdue || kind == polls.HeadNever:
		return term.Warning.Span(words + "!")
	case kind == polls.HeadOlder:
		return term.Warning.Span(words)
	case kind == polls.HeadUnknown || kind == polls.HeadNone:
		return term.Muted.Span(words)
	case h.Cut:
		return term.Danger.Span(words + " " + term.MarkError)
	default:
		return term.Text.Span(words)
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
		return []term.Span{term.Muted.Span("due: each message has a TTL of its own, " + messagesKey +
			" looks at them; overdue messages expire when read")}
	}

	lines := []term.Span{term.Text.Span("due: " + histogram.Words())}
	if words := m.holdingWords(b, messagesKey); words != "" {
		lines = append(lines, term.Text.Span(words))
	}

	if histogram.Cut > 0 {
		lines = append(lines, term.Danger.Span(model.Sayf("%s %v message(s) will be dropped on expiry: RabbitMQ drops "+
			"what returns without a rejection", term.MarkError, histogram.Cut)))
	}

	if h := m.Head(b, now); h.Blocked.By != nil {
		lines = append(lines, BlockedSpan(&h.Blocked, h.Due.Kind, now))
	}

	return lines
}

// BlockedSpan says what the head of a buffer blocks, that leaves it in this way.
func BlockedSpan(blocked *story.Blocked, leaves story.DueKind, now time.Time) term.Span {
	mark, tone := term.MarkWarning, term.Warning
	if leaves == story.DueUnknown {
		mark, tone = term.MarkError, term.Danger
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
		lines = append(lines, term.Text.Span(words))
	}

	var all story.DueHistogram
	for _, b := range f.Buffers {
		all.Add(story.HistogramOf(m.Topology, b, m.Looks.in(m.Topology), m.Head(b, now).Due, now))
	}
	if words := all.Words(); words != "" && all.Unknown < all.Total() {
		lines = append(lines, term.Text.Span("due: "+words))
	}

	return lines
}
