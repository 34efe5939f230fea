package ui

import (
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// A look reads a limited number of messages: that the queue holds more than that is not a change of the queue.
func TestTheLimitOfALookIsNoGrowth(t *testing.T) {
	c := newClock()
	a := newApp(t.Context(), frozen(&recorded{snapshot: recording()}))
	s := messages.NewScreen(a.env, ref("failed")).(messages.Screen)
	list := message.MessageList{{Position: 1}, {Position: 2}, {Position: 3}}
	rows := must.Get(shell.MessageRows(list, ref("failed"), false, func(int, *message.Message) {}))(t)
	s.Rows, s.Limit = rows, messages.PeekMost
	s.Peeked = peek.Peeked{Messages: list, Depth: model.Some[int64](300_000), TakenAt: c.now()}
	for _, step := range []struct {
		now     int64
		taken   int
		changed bool
	}{{300_000, 0, false}, {300_001, 0, true}, {299_999, 1, false}} {
		counted := recording(queue("failed", ready(step.now),
			func(q *model.Queue) { q.CountedAt = c.now().Add(time.Minute) }))
		s.Topology, s.Taken = model.NewTopology(counted), step.taken
		if now, changed := s.ReadyNow(); now != step.now || changed != step.changed {
			t.Errorf("%+v: now %d, changed %t", step, now, changed)
		}
	}
}
