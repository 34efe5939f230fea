package ui

import (
	"fmt"
	"time"

	"dlxtop/model"
)

// waitOf is what a look told of when a message leaves; nil when it tells nothing of it.
func waitOf(waits *model.Waits, r *messageRow) *model.Wait {
	if i := int(r.position) - 1; waits != nil && i >= 0 && i < len(waits.Messages) {
		return &waits.Messages[i]
	}
	return nil
}

// waitColumn tells when each message leaves its buffer, by now. A mark says that its own time is over before that.
func waitColumn(e *env, waits *model.Waits) column[*messageRow] {
	s := e.styles
	return column[*messageRow]{
		title: "DUE", width: 10,
		cell: func(r *messageRow) field {
			w := waitOf(waits, r)
			if w == nil {
				return field{"", s.Muted}
			}
			return waitField(s, w, e.now())
		},
		compare: func(a, b *messageRow) int {
			x, y := waitOf(waits, a), waitOf(waits, b)
			switch {
			case x == nil || y == nil:
				return 0
			case x.Leaves.Kind == model.DueUnknown && y.Leaves.Kind != model.DueUnknown:
				return 1
			case y.Leaves.Kind == model.DueUnknown && x.Leaves.Kind != model.DueUnknown:
				return -1
			}
			return x.Leaves.Time.Compare(y.Leaves.Time)
		},
	}
}

func waitField(s *Styles, w *model.Wait, now time.Time) field {
	late := ""
	style := s.Text
	if w.HeldBack() && !w.Due.Time.IsZero() && w.Due.Time.Before(now) {
		late, style = " "+markWarning, s.Warning
	}
	switch {
	case w.Leaves.Kind == model.DueUnknown:
		return field{"never" + late, s.Danger}
	case w.Leaves.Time.Before(now):
		return field{"left", s.Muted}
	}
	return field{w.Leaves.In(now) + late, style}
}

// dueLines tell when what waits here leaves, and what blocks it, by now.
func (s messagesScreen) dueLines() []span {
	if s.topology == nil || s.waits == nil && !s.isBuffer() {
		return nil
	}
	now := s.env.now()
	var lines []span
	looks := func(model.QueueRef) *model.Waits { return s.waits }
	buffer := model.Buffer{Member: model.Member{Queue: s.queue}}
	h := s.topology.DueHistogram(&buffer, looks, now)
	if words := h.Words(); words != "" {
		lines = append(lines, span{"when they leave: " + words, toneText})
	}
	if s.waits == nil {
		return lines
	}
	switch n := s.waits.Expired; {
	case n == 1:
		lines = append(lines, span{markInfo + " 1 more was overdue behind these: it expired meanwhile", toneText})
	case n > 1:
		lines = append(lines, span{fmt.Sprintf("%s %s more were overdue behind these: they expired meanwhile", markInfo, model.Count(n)), toneText})
	}
	if n, id, times := s.looks.back(s.waits); n > 0 {
		words := fmt.Sprintf("%s a message has come back since it was seen here: id %s", markWarning, model.Printable(id))
		if n > 1 {
			words = fmt.Sprintf("%s %s messages have come back since they were seen here, most often id %s", markWarning, model.Count(int64(n)), model.Printable(id))
		}
		if times > 1 {
			words += fmt.Sprintf(", %d times", times)
		}
		lines = append(lines, span{words, toneWarning})
	}
	if blocked, ok := s.waits.Blocked(now); ok {
		tone := toneWarning
		mark := markWarning
		if blocked.By.Leaves.Kind == model.DueUnknown {
			tone, mark = toneDanger, markError
		}
		lines = append(lines, span{mark + " " + blocked.Words(now), tone})
	}
	return lines
}

// isBuffer reports whether the queue holds messages until they expire.
func (s messagesScreen) isBuffer() bool {
	for _, f := range s.topology.FlowsOf(s.queue) {
		if role := f.Role(s.queue); role == model.DelayedBuffer || role == model.RetryBuffer {
			return true
		}
	}
	return false
}

// story tells a message's way so far, by this machine's clock, and what comes next.
func (s messagesScreen) story(r *messageRow) func() []model.StoryEvent {
	return func() []model.StoryEvent {
		events := r.message().Story(s.queue)
		if s.topology == nil {
			return events
		}
		clock := s.topology.Snapshot.Overview.Clock()
		for i := range events {
			if e := &events[i]; e.Kind != model.StoryReplayed && !e.Time.IsZero() {
				e.Time = clock.Local(e.Time)
			}
		}
		return append(events, s.topology.StoryAhead(r.message(), s.queue, waitOf(s.waits, r), s.env.now())...)
	}
}

// byThisClock turns the broker's times of rows into this machine's.
func byThisClock(rows []*messageRow, broker model.Clock) {
	for _, r := range rows {
		if !r.since.IsZero() {
			r.since = broker.Local(r.since)
		}
	}
}
