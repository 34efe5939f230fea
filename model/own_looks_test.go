package model_test

import (
	"testing"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// What dlxtop holds is still in the queue, and dlxtop is none of its consumers.
func TestOwnLooksAreLeftOut(t *testing.T) {
	unacked := func(n int64) build.Setting { return func(q *model.Queue) { q.Unacked = model.Some(n) } }
	untold := func(q *model.Queue) { q.Consumers = model.Unknown[int64]() }
	before := build.Broker("3.10.8", build.Queue("w", build.Ready(10), unacked(2), build.Consumers(1)),
		build.Queue("failed", build.Ready(47)), build.Queue("other", build.Ready(1)), build.Queue("new", untold))
	after := build.Broker("3.10.8", build.Queue("w", build.Ready(4), unacked(7), build.Consumers(2)),
		build.Queue("failed", unacked(45), build.Consumers(1)), build.Queue("other", unacked(1), build.Consumers(1)),
		build.Queue("new", build.Ready(1)))
	after.LeaveOut(map[model.QueueRef]bool{
		build.Ref("w"): true, build.Ref("failed"): true, build.Ref("gone"): true, build.Ref("new"): true,
	}, before)
	for i, want := range []struct{ ready, unacked, consumers int64 }{{9, 2, 1}, {45, 0, 0}, {0, 1, 1}, {1, 0, 0}} {
		q := after.Queues[i]
		if q.Ready.Or(-1) != want.ready || q.Unacked.Or(-1) != want.unacked || q.Consumers.Or(-1) != want.consumers {
			t.Errorf("%s has %s ready, %s unacknowledged, %s consumers, want %v", q.Name, q.Ready, q.Unacked, q.Consumers, want)
		}
	}
	after.LeaveOut(map[model.QueueRef]bool{build.Ref("w"): true}, nil)
}
