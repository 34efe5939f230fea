package model

import "testing"

// What dlxtop holds is still in the queue, and dlxtop is none of its consumers.
func TestOwnLooksAreLeftOut(t *testing.T) {
	unacked := func(n int64) setting { return func(q *Queue) { q.Unacked = Some(n) } }
	before := broker("3.10.8", queue("w", ready(10), unacked(2), consumers(1)), queue("failed", ready(47)), queue("other", ready(1)))
	after := broker("3.10.8", queue("w", ready(4), unacked(7), consumers(2)), queue("failed", unacked(45), consumers(1)), queue("other", unacked(1), consumers(1)))
	after.LeaveOut(map[QueueRef]bool{ref("w"): true, ref("failed"): true, ref("gone"): true}, before)
	for i, want := range []struct{ ready, unacked, consumers int64 }{{9, 2, 1}, {45, 0, 0}, {0, 1, 1}} {
		q := after.Queues[i]
		if q.Ready.Or(-1) != want.ready || q.Unacked.Or(-1) != want.unacked || q.Consumers.Or(-1) != want.consumers {
			t.Errorf("%s has %s ready, %s unacknowledged, %s consumers, want %v", q.Name, q.Ready, q.Unacked, q.Consumers, want)
		}
	}
	after.LeaveOut(map[QueueRef]bool{ref("w"): true}, nil)
}
