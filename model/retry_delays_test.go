package model_test

import (
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// The delay grows by the minimum with each failure that counts, up to the maximum (4.3.6).
func TestDelaysOfRetries(t *testing.T) {
	topology := build.Described("4.3.6", `
		quorum grows x-delayed-retry-type=all x-delayed-retry-min=20000 x-delayed-retry-max=50000
		quorum stays x-delayed-retry-type=all x-delayed-retry-min=20000
	`)
	grows := topology.Settings(build.Ref("grows")).DelayedRetry
	for failed, want := range map[int64]time.Duration{
		0: 20 * time.Second, 1: 20 * time.Second, 2: 40 * time.Second, 3: 50 * time.Second, 1 << 62: 50 * time.Second,
	} {
		assert.Equal(t, grows.After(failed), want, "failed %d times", failed)
	}

	assert.Equal(t, grows.Words(), "1st 20s (argument), then 40s, at most 50s (argument)")
	assert.Equal(t, grows.Range(), "20s…50s")
	stays := topology.Settings(build.Ref("stays")).DelayedRetry
	assert.Equal(t, stays.Words(), "20s (argument) each time")
}

// The broker writes the times by its own clock, which is 10 s ahead here.
func TestHeldBack(t *testing.T) {
	at := func(d time.Duration) model.Opt[time.Time] { return model.Some(build.Noon.Add(d + 10*time.Second)) }
	s := build.Broker("4.3.6", build.Text("quorum w"))
	s.Overview.ClockSkew = model.Some(10 * time.Second)
	for _, c := range []struct {
		n          int64
		next, last model.Opt[time.Time]
		want       string
	}{
		{0, at(time.Second), at(time.Second), ""},
		{1, at(11500 * time.Millisecond), at(time.Minute), "1 held back, next in 12s"},
		{3, at(12 * time.Second), at(4 * time.Minute), "3 held back, next in 12s, last in 4m"},
		{3, at(-time.Second), model.Opt[time.Time]{}, "3 held back, next in 0s"},
	} {
		q := &s.Queues[0]
		q.Delayed, q.NextRetry, q.LastRetry = model.Some(c.n), c.next, c.last
		assert.Equal(t, model.NewTopology(s).HeldBack(q, build.Noon), c.want)
	}
}

// A message that a worker rejects is held back, and has not left the queue.
func TestHeldBackMessagesHaveNotLeft(t *testing.T) {
	before := build.Broker("4.3.6", build.Text("quorum w ready=2"))
	after := build.Broker("4.3.6", build.Text("quorum w ready=1"))
	for _, s := range []*model.Snapshot{before, after} {
		s.Queues[0].Published, s.Queues[0].Acked = model.Some[int64](2), model.Some[int64](0)
	}

	after.TakenAt = before.TakenAt.Add(5 * time.Second)
	after.Queues[0].Delayed = model.Some[int64](1)
	moves := model.MovesBetween(before, after)
	assert.Equal(t, moves[build.Ref("w")].Gone, model.Some[int64](0))
}
