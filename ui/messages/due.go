package messages

import (
	"fmt"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/story"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// dueLines tell when what waits here leaves, and what blocks it, by now.
func (s Screen) dueLines() []term.Span {
	if s.Topology == nil || s.waits == nil && !s.Topology.IsBuffer(s.Queue) {
		return nil
	}
	now := s.env.Shown
	var lines []term.Span
	looks := func(model.QueueRef) *story.Waits { return s.waits }
	buffer := model.Buffer{Member: model.Member{Queue: s.Queue}}
	h := story.HistogramOf(s.Topology, &buffer, looks, now)
	if words := h.Words(); words != "" {
		lines = append(lines, term.Span{Text: "due: " + words, Tone: term.ToneText})
	}
	if s.waits == nil {
		return lines
	}
	switch n := s.waits.Expired; {
	case n == 1:
		lines = append(lines, term.Span{
			Text: term.MarkInfo + " 1 more was overdue behind these: it expired meanwhile",
			Tone: term.ToneText,
		})
	case n > 1:
		lines = append(lines, term.Span{Text: fmt.Sprintf("%s %s more were overdue behind these: they expired "+
			"meanwhile", term.MarkInfo, model.Count(n)), Tone: term.ToneText})
	}
	if n, id, times := s.looks.Back(s.waits); n > 0 {
		words := fmt.Sprintf("%s a message has come back since it was seen here: id %s", term.MarkWarning,
			model.Printable(id))
		if n > 1 {
			words = fmt.Sprintf("%s %s messages have come back since they were seen here, most often id %s",
				term.MarkWarning, model.Count(int64(n)), model.Printable(id))
		}
		if times > 1 {
			words += ", " + model.Count(times) + " times"
		}
		lines = append(lines, term.Span{Text: words, Tone: term.ToneWarning})
	}
	if blocked, ok := s.waits.Blocked(now); ok {
		tone := term.ToneWarning
		mark := term.MarkWarning
		if blocked.By.Leaves.Kind == story.DueUnknown {
			tone, mark = term.ToneDanger, term.MarkError
		}
		lines = append(lines, term.Span{Text: mark + " " + blocked.Words(now), Tone: tone})
	}
	return lines
}

// story tells a message's way so far, by this machine's clock, and what comes next.
func (s Screen) story(m *message.Message) func() []story.Event {
	return func() []story.Event {
		events := story.Of(m, s.Queue)
		if s.Topology == nil {
			return events
		}
		clock, buffer := s.Topology.Snapshot.Overview.Clock(), s.Topology.IsBuffer(s.Queue)
		for i := range events {
			e := &events[i]
			if e.Kind == story.Failed && buffer {
				e.What = "last try failed"
			}
			if e.Kind != story.Replayed && !e.Time.IsZero() {
				e.Time = clock.Local(e.Time)
			}
		}
		return append(events, story.Ahead(s.Topology, m, s.Queue, shell.WaitOf(s.waits, m.Position), s.env.Shown)...)
	}
}

// byThisClock turns the broker's times of rows into this machine's.
func byThisClock(rows []*shell.MessageRow, broker model.Clock) {
	for _, r := range rows {
		if !r.Since.IsZero() {
			r.Since = broker.Local(r.Since)
		}
	}
}
