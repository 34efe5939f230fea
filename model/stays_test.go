package model_test

import (
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// polls are a broker's worker w and its buffer q at some polls, in a file of cases.
type polls struct {
	Name  string
	Polls [][5]int64
	Want  time.Duration // in seconds; 0: unknown, or no change
}

func (p polls) topology() *model.Topology {
	var t *model.Topology
	at := build.Noon
	for _, poll := range p.Polls {
		after, ttl, ready, published, delivered := poll[0], poll[1], poll[2], poll[3], poll[4]
		definition := model.Table{}
		if ttl > 0 {
			definition["message-ttl"] = ttl
		}

		w := func(q *model.Queue) {
			q.Consumers, q.Published = build.Some(1), build.Some(0)
			q.Delivered, q.Acked = model.Some(delivered), model.Some(delivered)
		}

		q := func(q *model.Queue) { q.Published = model.Some(published) }
		s := build.Broker("4.0.5", build.Queue("w", w),
			build.Queue("q", build.DLX("", "w"), build.Policy("p", definition), build.Ready(ready), q))
		at = at.Add(time.Duration(after) * time.Second)
		s.TakenAt = at
		t = t.Next(s)
	}

	return t
}

// A head is older than its TTL only where nothing else explains that the counts stand still.
func TestOutlived(t *testing.T) {
	for _, c := range must.Cases[polls](t, "testdata/outlived.toml") {
		stayed, ok := c.topology().Outlived(build.Ref("q"))
		assert.Equal(t, ok, c.Want > 0, "%s: %v", c.Name, stayed)
		assert.That(t, !ok || stayed == c.Want*time.Second, "%s: %v, want %d s", c.Name, stayed, c.Want)
	}
}

// What came before a TTL changed may wait under the earlier one until that has ended, or the queue was empty.
func TestTTLChanged(t *testing.T) {
	for _, c := range must.Cases[polls](t, "testdata/ttl_changed.toml") {
		got := c.topology().TTLChanged(build.Ref("q"))

		want := time.Time{}
		if c.Want > 0 {
			want = build.Noon.Add(c.Want * time.Second)
		}
		assert.That(t, got.Equal(want), "%s: %v, want %v", c.Name, got, want)
	}
}
