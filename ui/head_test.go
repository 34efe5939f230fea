package ui

import (
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/watch"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// A publisher's timestamp dates the entry of a message into a delayed buffer, but not into a retry buffer: it was
// elsewhere before.
func TestTheHeadsTimestampDatesOnlyDelayedBuffers(t *testing.T) {
	now := time.Date(2026, 3, 1, 3, 4, 5, 0, time.UTC)
	q := &model.Queue{
		QueueRef: ref("b"), Ready: model.Some[int64](1), Consumers: model.Some[int64](0), CountedAt: now,
		HeadTimestamp: model.Some(now.Add(-10 * time.Second)),
	}
	topology := model.NewTopology(recording(queue("b", func(to *model.Queue) { *to = *q })))
	msg := shell.TopologyMsg{Topology: topology}
	for role, want := range map[model.Role]string{model.DelayedBuffer: "21s", model.RetryBuffer: "≤ 30s"} {
		// A timestamp is cut off to whole seconds: it is 20 to 21 s.
		buffer := model.Buffer{Member: model.Member{Queue: q.QueueRef}, Role: role, TTL: model.Some(30 * time.Second)}
		assert.Equal(t, msg.Head(&buffer, now).Words(now), want, "%s", role)
	}
}

// A bound that is known stays known when a flow is opened, looked at, looked at again, and closed: each of them knows
// less of what was there before than the polls.
func TestABoundGetsNoWorse(t *testing.T) {
	c := newClock()
	s := countedAt(c, recording(
		queue("w", consumers(1), dlx(""), deadKey("w.retry")),
		queue("w.retry", ttl(60_000), dlx(""), deadKey("w"), ready(2)),
	))
	source, broker := &recorded{snapshot: s}, newRecordedBroker(c)
	broker.count = func([]model.QueueRef) (map[model.QueueRef]model.QueueCounts, error) {
		return map[model.QueueRef]model.QueueCounts{
			ref("w.retry"): {Ready: model.Some[int64](2), Consumers: model.Some[int64](0)},
		}, nil
	}
	broker.put("w.retry", message.Message{RoutingKey: "a"}, message.Message{RoutingKey: "b"})
	term := newTerminal(t, Options{Source: source, Broker: broker, Now: c.now, Interval: time.Hour}, 120, 36)
	again := func(after time.Duration) {
		c.advance(after)
		n := source.times()
		source.tell(countedAt(c, later(s, c.now().Sub(s.TakenAt), nil)))
		term.press(keyCtrlR)
		term.awaitThat("another poll", func(string) bool { return source.times() > n })
		term.settle()
	}
	term.await("≤ 1m")
	again(20 * time.Second)
	term.await("≤ 40s")
	term.press(keyEnter)
	term.await("live, 4 counts a second", "head due in ≤ 40s")
	again(time.Second)
	term.await("head due in ≤ 39s")
	term.press("j", keyEnter)
	term.await("≤ 39s", "≤ 1m") // the second one was not at the head
	c.advance(9 * time.Second)
	term.press(keyCtrlR)
	term.awaitThat("another look", func(string) bool { return broker.peeked() == 2 })
	term.settle()
	term.await("≤ 30s", "≤ 51s")
	term.press("q")
	term.await("head due in ≤ 30s")
	term.press("q")
	term.await("≤ 30s")
}

// What counts saw of a head is known for as long as nothing leaves: also when the polls know it only later, and when
// they remember no more of the time.
func TestWhatPollsAndCountsKnow(t *testing.T) {
	at := func(second int) time.Time { return newClock().now().Add(time.Duration(second) * time.Second) }
	var never time.Time
	arrival := func(after, since time.Time) shell.Arrival { return shell.Arrival{After: after, Since: since} }
	for _, test := range []struct {
		name  string
		polls shell.Arrival
		head  watch.Head
		want  shell.Arrival
	}{
		{"it is there longer than it is counted", arrival(never, at(0)), watch.Head{By: at(20)}, arrival(never, at(0))},
		{"it came while counted", arrival(at(5), at(12)), watch.Head{After: at(10), By: at(11)}, arrival(at(10), at(11))},
		{
			"one has left, and the polls do not know it yet",
			arrival(at(0), at(2)),
			watch.Head{After: at(10), By: at(11), Left: at(30)},
			arrival(at(10), at(11)),
		},
		{
			"one has left, and the polls have seen it",
			arrival(never, at(32)),
			watch.Head{After: at(10), By: at(11), Left: at(30)},
			arrival(at(10), at(11)),
		},
		{"the polls counted nothing since", arrival(at(30), at(37)), watch.Head{By: at(20)}, arrival(at(30), at(37))},
		{
			"the queue was empty, and the polls do not know it",
			arrival(never, at(31)),
			watch.Head{After: at(33), By: at(34), Left: at(30)},
			arrival(at(33), at(34)),
		},
	} {
		assert.Equal(t, test.polls.With(test.head), test.want, "%s", test.name)
	}
	h := shell.NewHistory()
	flows := []model.Flow{{Worker: model.Member{Queue: ref("q")}}}
	topology := model.NewTopology(recording(queue("q", ready(1))))
	for second := range 600 {
		h.Record(at(second), topology, flows, model.Moves{ref("q"): {Went: model.Some[int64](0)}})
	}
	got := h.HeadArrived(at(600), ref("q"))
	assert.That(t, got.Since == at(0), "after ten minutes it is there since %v", got.Since)
}
