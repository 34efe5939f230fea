package model

import (
	"maps"
	"slices"
)

// Seen are the ways of messages that were looked at, which no binding shows. Each list is sorted.
type Seen struct {
	To   map[QueueRef][]QueueRef // where they go from a queue without a dead-letter key, by their own keys
	From map[QueueRef][]QueueRef // from which queues their workers sent them into a queue
	// queues with messages in which the application counts tries by itself
	Counted map[QueueRef]bool
}

// Any reports whether something was seen.
func (s Seen) Any() bool { return len(s.To)+len(s.From)+len(s.Counted) > 0 }

// With is what was seen before and now; neither of both is changed.
func (s Seen) With(other Seen) Seen {
	both := Seen{To: joined(s.To, other.To), From: joined(s.From, other.From), Counted: s.Counted}
	if len(other.Counted) > 0 {
		both.Counted = map[QueueRef]bool{}
		maps.Copy(both.Counted, s.Counted)
		maps.Copy(both.Counted, other.Counted)
	}
	return both
}

func joined(a, b map[QueueRef][]QueueRef) map[QueueRef][]QueueRef {
	if len(b) == 0 {
		return a
	}
	all := maps.Clone(a)
	if all == nil {
		all = map[QueueRef][]QueueRef{}
	}
	for ref, refs := range b {
		all[ref] = UnionOf(all[ref], refs)
	}
	return all
}

// seenFrom reports whether messages that were looked at came into a buffer from a worker.
func (t *Topology) seenFrom(b *Buffer, worker QueueRef) bool {
	return slices.ContainsFunc(b.Queues(), func(ref QueueRef) bool {
		return slices.Contains(t.Snapshot.Seen.From[ref], worker)
	})
}
