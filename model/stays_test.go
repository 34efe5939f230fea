package model_test

import (
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// polled is a broker's worker w and its buffer q at some polls: each says how q changed since the one before.
type polled struct {
	after     time.Duration // since the poll before
	ttl       int64         // of the policy, in ms; 0: it sets none
	ready     int64
	published int64
	delivered int64 // from w, which acknowledged them
}

func pollsOf(polls ...polled) *model.Topology {
	var t *model.Topology
	at := build.Noon
	for _, p := range polls {
		definition := model.Table{}
		if p.ttl > 0 {
			definition["message-ttl"] = p.ttl
		}

		w := func(q *model.Queue) {
			q.Consumers, q.Published = build.Some(1), build.Some(0)
			q.Delivered, q.Acked = model.Some(p.delivered), model.Some(p.delivered)
		}

		q := func(q *model.Queue) { q.Published = model.Some(p.published) }
		s := build.Broker("4.0.5", build.Queue("w", w),
			build.Queue("q", build.DLX("", "w"), build.Policy("p", definition), build.Ready(p.ready), q))
		at = at.Add(p.after)
		s.TakenAt = at
		t = t.Next(s)
	}

	return t
}

// A head is older than its TTL only where nothing else explains that the counts stand still.
func TestOutlived(t *testing.T) {
	for _, c := range []struct {
		name  string
		polls []polled
		want  time.Duration // 0: unknown
	}{
		{"nothing moves", []polled{{0, 5000, 3, 3, 0}, {10e9, 5000, 3, 3, 0}, {10e9, 5000, 3, 3, 0}}, 20 * time.Second},
		{"not for long enough", []polled{{0, 5000, 3, 3, 0}, {16e9, 5000, 3, 3, 0}}, 0},
		{"more arrive", []polled{{0, 5000, 3, 3, 0}, {10e9, 5000, 4, 4, 0}, {10e9, 5000, 5, 5, 0}}, 20 * time.Second},
		{"as many leave as arrive", []polled{{0, 5000, 3, 3, 0}, {10e9, 5000, 3, 4, 1}, {10e9, 5000, 3, 5, 2}}, 0},
		{
			"dead letters come, which are not counted",
			[]polled{{0, 5000, 3, 3, 0}, {10e9, 5000, 3, 3, 1}, {10e9, 5000, 3, 3, 2}},
			0,
		},
		{"it was empty", []polled{{0, 5000, 0, 3, 0}, {10e9, 5000, 0, 3, 0}, {10e9, 5000, 3, 6, 0}}, 0},
		{"no TTL", []polled{{0, 0, 3, 3, 0}, {10e9, 0, 3, 3, 0}, {10e9, 0, 3, 3, 0}}, 0},
	} {
		stayed, ok := pollsOf(c.polls...).Outlived(build.Ref("q"))
		assert.Equal(t, ok, c.want > 0, "%s: %v %v, want %v", c.name, stayed, ok, c.want)
		assert.That(t, !ok || stayed == c.want, "%s: %v %v, want %v", c.name, stayed, ok, c.want)
	}
}

// What came before a TTL changed may wait under the earlier one until that has ended, or the queue was empty.
func TestTTLChanged(t *testing.T) {
	change := []polled{{0, 60_000, 2, 2, 0}, {2e9, 5000, 2, 2, 0}}
	for _, c := range []struct {
		name  string
		polls []polled
		want  time.Duration // after noon; 0: no change
	}{
		{"it was lowered", change, 2 * time.Second},
		{"and a poll later", append(change[:2:2], polled{2e9, 5000, 3, 3, 0}), 2 * time.Second},
		{"the earlier one has ended", append(change[:2:2], polled{71e9, 5000, 3, 5, 2}), 0},
		{"the queue was empty", append(change[:2:2], polled{12e9, 5000, 0, 2, 2}, polled{2e9, 5000, 1, 3, 2}), 0},
		{
			"it was set where none was",
			[]polled{{0, 0, 2, 2, 0}, {2e9, 5000, 2, 2, 0}, {3600e9, 5000, 2, 2, 0}},
			2 * time.Second,
		},
		{"the policy is gone", []polled{{0, 5000, 2, 2, 0}, {2e9, 0, 2, 2, 0}}, 2 * time.Second},
		{"and its TTL has ended", []polled{{0, 5000, 2, 2, 0}, {2e9, 0, 2, 2, 0}, {20e9, 0, 1, 3, 2}}, 0},

		{"nothing waited", []polled{{0, 60_000, 0, 2, 0}, {2e9, 5000, 0, 2, 0}, {12e9, 5000, 0, 2, 0}}, 0},
		{
			"what waited is counted later",
			[]polled{{0, 60_000, 0, 0, 0}, {2e9, 5000, 0, 0, 0}, {2e9, 5000, 1, 1, 0}},
			2 * time.Second,
		},
		{"it never changed", []polled{{0, 5000, 2, 2, 0}, {2e9, 5000, 2, 2, 0}}, 0},
	} {
		got := pollsOf(c.polls...).TTLChanged(build.Ref("q"))

		want := time.Time{}
		if c.want > 0 {
			want = build.Noon.Add(c.want)
		}
		assert.That(t, got.Equal(want), "%s: %v, want %v", c.name, got, want)
	}
}
