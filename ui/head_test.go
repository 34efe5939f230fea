package ui

import (
	"testing"
	"time"

	"dlxtop/model"
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
	msg := topologyMsg{topology: topology}
	for role, want := range map[model.Role]string{model.DelayedBuffer: "21s", model.RetryBuffer: "≤ 30s"} {
		// A timestamp is cut off to whole seconds: it is 20 to 21 s.
		buffer := model.Buffer{Member: model.Member{Queue: q.QueueRef}, Role: role, TTL: model.Some(30 * time.Second)}
		if got := msg.head(&buffer, now).Words(now); got != want {
			t.Errorf("%s: %q, want %q", role, got, want)
		}
	}
}
