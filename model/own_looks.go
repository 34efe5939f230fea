package model

// LeaveOut removes from a poll what dlxtop itself did to queues: messages that it holds count as unacknowledged, it
// counts as a consumer, and what it returns is redelivered. held are the queues whose messages it held when they may
// have been counted; before is the previous poll, nil when there was none. The poll must not be in use yet.
func (s *Snapshot) LeaveOut(held map[QueueRef]bool, before *Snapshot) {
	if len(held) == 0 || before == nil {
		return
	}
	earlier := byRef(before.Queues)
	for q := range Each(s.Queues) {
		if !held[q.QueueRef] {
			continue
		}
		q.RedeliverRate, q.PollRate = Unknown[float64](), Unknown[float64]()
		b := earlier[q.QueueRef]
		if b == nil {
			continue
		}
		q.ExclusiveHeld = b.ExclusiveHeld
		if b.Consumers.Known() { // otherwise it would stay unknown for as long as dlxtop looks
			q.Consumers = b.Consumers
		}

		depth, known := q.Depth()
		if known && q.Unacked.Known() {
			unacked := min(b.Unacked.Or(0), depth)
			q.Unacked, q.Ready = Some(unacked), Some(depth-unacked-q.Delayed.Or(0))
		}
	}
}
