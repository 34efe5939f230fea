package model

import (
	"maps"
	"slices"
)

// Seen is where peeked messages came from and go to, which no binding shows. Each list is sorted.
type Seen struct {
	To   map[QueueRef][]QueueRef // from a queue without a dead-letter key: where messages go by their own keys
	From map[QueueRef][]QueueRef // into a queue: the queues whose workers sent messages there
	// queues with messages in which the application itself counts tries
	Counted QueueSet
}

// Any reports whether Seen has anything.
func (s Seen) Any() bool { return len(s.To)+len(s.From)+len(s.Counted) > 0 }

// With merges both, and changes neither.
func (s Seen) With(other Seen) Seen {
	both := Seen{To: joined(s.To, other.To), From: joined(s.From, other.From), Counted: QueueSet{}}
	maps.Copy(both.Counted, s.Counted)
	maps.Copy(both.Counted, other.Counted)
	return both
}

func joined(a, b map[QueueRef][]QueueRef) map[QueueRef][]QueueRef {
	if len(b) == 0 {
		return a
	}
	all := map[QueueRef][]QueueRef{}
	maps.Copy(all, a)
	for ref, refs := range b {
		all[ref] = UnionOf(all[ref], refs)
	}

	return all
}

// seenFrom reports whether peeked messages in a buffer came from a worker.
func (t *Topology) seenFrom(b *Buffer, worker QueueRef) bool {
	return slices.ContainsFunc(b.Queues(), func(ref QueueRef) bool {
		return slices.Contains(t.Snapshot.Seen.From[ref], worker)
	})
}
