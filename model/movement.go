package model

// Movement is what moves at one queue, per second, worked out from two polls. The broker keeps no statistic of
// dead-letter hops: what leaves a buffer is what entered it minus what its depth grew.
type Movement struct {
	In    Opt[float64] // messages that arrived
	Out   Opt[float64] // messages that left: expired, taken by a consumer, or dropped
	Depth int64        // change of ready + unacknowledged messages between the polls
}

// Moves are the movements of all queues between two polls.
type Moves map[QueueRef]Movement

// MovesBetween works out what moved between two polls of the same broker. The first poll (before is nil) has no movements.
func MovesBetween(before, after *Snapshot) Moves { return nil }
