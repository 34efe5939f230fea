package loss

import (
	"slices"

	"github.com/dlxtop/dlxtop/model"
)

// ByRefusal is what a queue that refuses publishes beyond its limit (overflow reject-publish, and reject-publish-dlx of
// classic queues) will refuse of the messages of a plan. Refused ones stay where they are; with reject-publish-dlx the
// dead-letter exchange takes a copy of each (3.10.8, 4.0.5, 4.3.6). That is exact for classic queues as long as nothing
// else publishes there and no consumer takes messages. A quorum queue takes one message more than its limit and what is
// under way meanwhile, and then refuses until it is clearly below it (3.10.8, 4.0.5, 4.3.6).
type ByRefusal struct {
	AtLimit
	Refused int              // of the messages that come; 0 if unknown
	Beside  []model.QueueRef // what the same publishes reach: they keep what it refuses
	Leave   model.QueueRef   // what arrives are dead letters of this queue: those that it refuses are lost
}

// Copies reports whether each refused message leaves a copy.
func (r *ByRefusal) Copies() bool { return len(r.To)+len(r.Beside) > 0 }

// Loses reports whether what it refuses is lost.
func (r *ByRefusal) Loses() bool { return r.Leave.Name != "" }

// Blocks reports whether it speaks against the plan: the queue has no room, or its refusals leave copies.
func (r *ByRefusal) Blocks() bool {
	if r.Copies() {
		return r.Refused > 0 || !r.Holds.Known()
	}
	return r.Refused > 0 && r.Refused == r.Comes
}

// OfRefusal works out what a queue will refuse when messages arrive; nil for nothing. counts are newer than the
// topology.
func OfRefusal(
	t *model.Topology, ref model.QueueRef, a Arrivals, counts model.CountsByQueue,
) *ByRefusal {
	at, q := atLimit(t, ref, &a, counts)
	taken := q != nil && q.Type == model.Quorum && a.Leave.Name != "" // dead letters, beyond its limit
	if q == nil || at.Overflow == model.DropHead || taken {
		return nil
	}
	s := t.Settings(ref)
	r := ByRefusal{AtLimit: at, Leave: a.Leave}
	r.Estimated = r.Estimated || q.Type == model.Quorum
	r.count(q, &s, &a)
	if r.Refused == 0 && r.Holds.Known() {
		return nil
	}

	return &r
}

// count simulates the arrivals in order.
func (r *ByRefusal) count(q *model.Queue, s *model.Settings, a *Arrivals) {
	holds, known := r.Holds.Get()
	bytes, weighed := heldBytes(q, r.Holds)
	for i := range a.Messages {
		_, sized := a.size(i)
		weighed = weighed && sized
	}

	r.Limit, r.Bytes = s.MaxLength, !s.MaxLength.Set
	if !known || s.MaxBytes.Set && !weighed {
		if s.MaxBytes.Set && known {
			r.Limit, r.Bytes = s.MaxBytes, true
		}
		r.Holds = model.Unknown[int64]()
		return
	}

	r.Estimated = r.Estimated || s.MaxBytes.Set && len(a.Sizes) < a.Messages
	soft := q.Type == model.Quorum // what crosses the limit is taken
	for i := range a.Messages {
		size, _ := a.size(i)
		after, heavier := holds+1, bytes+size
		if soft {
			after, heavier = holds, bytes
		}

		long := s.MaxLength.Set && after > s.MaxLength.Value
		heavy := s.MaxBytes.Set && heavier > s.MaxBytes.Value
		if !long && !heavy {
			holds, bytes = holds+1, bytes+size
			continue
		}

		if r.Refused++; r.Refused == 1 && !long {
			r.Limit, r.Bytes = s.MaxBytes, true
		}
	}
}

// Words describe in one sentence what is refused: the limit, what is there, and what a refusal leaves.
func (r *ByRefusal) Words() string {
	words, known := r.words()
	if !known {
		return words + "it may refuse some of these " + model.Count(r.Comes) + r.where()
	}

	words += "it refuses "
	if r.Refused < r.Comes {
		if r.Estimated {
			words += "up to "
		}
		words += model.Count(r.Refused) + " of "
	}

	return words + "these " + model.Count(r.Comes) + r.where()
}

// where says what a refusal leaves.
func (r *ByRefusal) where() (words string) {
	if len(r.To) > 0 {
		words = model.Sayf("; its dead-letter exchange takes a copy of each refused one to %s", r.To)
	}
	if len(r.Beside) > 0 {
		words += model.Sayf("; a copy of each refused one stays in %s, which they reach, too", r.Beside)
	}
	if r.Loses() && len(r.To) == 0 {
		words += model.Sayf("; what it refuses of what leaves %s is lost", r.Leave)
	}

	return words
}

// Within reports whether it is no worse than one that was shown before.
func (r *ByRefusal) Within(told ByRefusal) bool {
	return r.Queue == told.Queue && r.Refused <= told.Refused && (r.Holds.Known() || !told.Holds.Known()) &&
		slices.Equal(r.To, told.To)
}
