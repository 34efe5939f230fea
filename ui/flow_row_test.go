package ui

import (
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/shell"
)

func TestBufferWords(t *testing.T) {
	buffer := func(role model.Role, ttl time.Duration) *model.Buffer {
		b := &model.Buffer{Member: model.Member{Queue: ref("b")}, Role: role}
		if ttl >= 0 {
			b.TTL = model.Some(ttl)
		}
		return b
	}
	levels := &model.Buffer{
		Role: model.DelayedBuffer, Levels: []model.QueueRef{ref("level-0"), ref("level-1")},
		TTL: model.Some(time.Second), MaxTTL: model.Some(90 * time.Second),
	}
	const delayed, retry = model.DelayedBuffer, model.RetryBuffer
	for _, tc := range []struct {
		flow model.Flow
		want string
	}{
		{model.Flow{}, "-"},
		{model.Flow{Buffers: []*model.Buffer{buffer(retry, 30*time.Second)}}, "retry 30s"},
		{
			model.Flow{Buffers: []*model.Buffer{buffer(delayed, time.Minute), buffer(delayed, 10*time.Second)}},
			"delayed 10s 1m",
		},
		{model.Flow{Buffers: []*model.Buffer{buffer(delayed, -1)}}, "per message"},
		{model.Flow{Buffers: []*model.Buffer{buffer(retry, -1)}}, "retry per message"},
		{model.Flow{Buffers: []*model.Buffer{buffer(delayed, -1), buffer(retry, 5*time.Second)}}, "per message, retry 5s"},
		{model.Flow{Buffers: []*model.Buffer{
			buffer(retry, 1e9), buffer(retry, 2e9), buffer(retry, 4e9), buffer(retry, 8e9), buffer(retry, 16e9),
		}}, "retry 1s…16s"},
		{model.Flow{Buffers: []*model.Buffer{levels}}, "delayed to 1m30s"},
		{model.Flow{DelayedRetry: model.Setting[string]{Set: true, Value: "all"}}, "retry in itself"},
	} {
		assert.Equal(t, shell.BufferWords(&tc.flow), tc.want)
	}
}

// What is said of the next due message is an upper bound, or nothing.
func TestNextDue(t *testing.T) {
	start := newClock().now()
	for _, tc := range []struct {
		name   string
		traits []trait
		ttl    model.Opt[time.Duration]
		still  time.Duration // nothing has left for so long
		want   string
	}{
		{"nothing waits", nil, model.Some(30 * time.Second), 0, "-"},
		{"just seen", []trait{ready(3)}, model.Some(30 * time.Second), 0, "≤ 30s"},
		{"seen for a while", []trait{ready(3)}, model.Some(30 * time.Second), 12 * time.Second, "≤ 18s"},
		{"any moment", []trait{ready(3)}, model.Some(30 * time.Second), 32 * time.Second, "now"},
		{"should have left", []trait{ready(3)}, model.Some(30 * time.Second), 50 * time.Second, "overdue"},
		{"own TTLs", []trait{ready(3)}, model.Unknown[time.Duration](), 12 * time.Second, "?"},
		{"somebody consumes it", []trait{ready(3), consumers(1)}, model.Some(30 * time.Second), 0, "?"},
		{"hours", []trait{ready(3)}, model.Some(3 * time.Hour), 30 * time.Second, "≤ 3h"},
	} {
		snapshot := recording(queue("b", tc.traits...))
		buffers := []*model.Buffer{{Member: model.Member{Queue: ref("b")}, Role: model.RetryBuffer, TTL: tc.ttl}}
		flows := []model.Flow{{Worker: model.Member{Queue: ref("w")}, Buffers: buffers}}
		h, topology := shell.NewHistory(), model.NewTopology(snapshot)
		for at := time.Duration(0); at <= tc.still; at += 2 * time.Second {
			h.Record(start.Add(at), topology, flows, model.Moves{ref("b"): {Went: model.Some[int64](0)}})
		}
		msg := shell.TopologyMsg{Topology: topology, History: h}
		now := start.Add(tc.still)
		assert.Equal(t, msg.Soonest(&flows[0], now).Words(now), tc.want, "%s", tc.name)
	}
}
