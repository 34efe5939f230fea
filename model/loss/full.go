package loss

import (
	"cmp"
	"slices"

	"github.com/dlxtop/dlxtop/model"
)

// ByRefusal is what a queue that refuses publishes beyond its limit (overflow reject-publish, and reject-publish-dlx of
// classic queues) will refuse of the messages of a plan. Refused ones stay where they are; with reject-publish-dlx the
// dead-letter exchange takes a copy of each (3.10.8, 4.0.5, 4.3.6). That is exact for classic queues as long as nothing
// else publishes there and no consumer takes messages. A quorum queue takes one message more than its limit and what is
// under way meanwhile, and then refuses until it is clearly below it (3.10.8, 4.0.5, 4.3.6).
type ByRefusal struct {
	Queue     model.QueueRef
	Limit     model.Setting[int64]
	Bytes     bool // the limit is in bytes of bodies, not in messages
	Overflow  string
	Holds     model.Opt[int64] // ready messages in it now; unknown: what it refuses cannot be predicted
	Comes     int              // messages of the plan that arrive there, at most
	Refused   int              // of them; 0 if unknown
	Estimated bool             // Refused is a maximum, or derived from mean sizes
	Consumed  bool             // it has consumers, which may make room
	DLX       model.Opt[string]
	To        []model.QueueRef // where its dead-letter exchange sends copies of refused messages
}

// Copies reports whether each refused message leaves a copy.
func (r *ByRefusal) Copies() bool { return len(r.To) > 0 }

// Blocks reports whether it speaks against the plan: the queue has no room, or its refusals leave copies.
func (r *ByRefusal) Blocks() bool {
	if r.Copies() {
		return r.Refused > 0 || !r.Holds.Known()
	}
	return r.Refused > 0 && r.Refused == r.Comes
}

// RefusedCopies are the queues that get a copy of each message that a queue refuses.
func RefusedCopies(t *model.Topology, ref model.QueueRef) []model.QueueRef {
	if t.Settings(ref).Overflow.Value != "reject-publish-dlx" {
		return nil
	}
	if hop, dead := t.Hop(ref, model.MaxLen); dead {
		return hop.Route.Queues
	}
	return nil
}

// OfRefusal works out what a queue will refuse when messages arrive; nil for nothing. counts are newer than the
// topology.
func OfRefusal(
	t *model.Topology, ref model.QueueRef, a Arrivals, counts model.CountsByQueue,
) *ByRefusal {
	s := t.Settings(ref)
	q, exists := t.Queue(ref)
	if !exists || a.Messages == 0 || !s.Bounded() || s.Overflow.Value == model.DropHead {
		return nil
	}
	holds, consumers := newest(q, counts[ref])
	a = a.weighed(t, q)
	r := ByRefusal{
		Queue:     ref,
		Overflow:  s.Overflow.Value,
		Holds:     holds,
		Comes:     a.Messages,
		To:        RefusedCopies(t, ref),
		Estimated: a.AtMost || q.Type == model.Quorum,
		Consumed:  consumers.Or(1) > 0,
	}

	if s.DLX.Set {
		r.DLX = model.Some(s.DLX.Value)
	}

	r.count(q, &s, &a)
	if r.Refused == 0 && r.Holds.Known() {
		return nil
	}

	return &r
}

// newest are the ready messages and consumers of a queue, by the newer of two counts.
func newest(q *model.Queue, newer model.QueueCounts) (ready, consumers model.Opt[int64]) {
	ready = q.Ready
	if newer.Ready.Known() && !newer.Held {
		ready = newer.Ready
	}
	return ready, cmp.Or(newer.Consumers, q.Consumers)
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
	words := keepsAtMost(r.Queue, r.Limit, r.Bytes, r.Overflow)
	holds, known := r.Holds.Get()
	if !known {
		return words + ", and dlxtop does not know how full it is: it may refuse some of these " + model.Count(r.Comes) +
			r.where()
	}
	words += " and holds " + model.Count(holds) + ": "
	if r.Consumed {
		words += "unless consumers take messages before, "
	}

	comes := model.Count(r.Comes)
	switch {
	case r.Refused == r.Comes:
		words += "it refuses these " + comes
	case r.Estimated:
		words += model.Sayf("it refuses up to %s of these %s", model.Count(r.Refused), comes)
	default:
		words += model.Sayf("it refuses %s of these %s", model.Count(r.Refused), comes)
	}

	return words + r.where()
}

// where says what a refusal leaves.
func (r *ByRefusal) where() string {
	if !r.Copies() {
		return ""
	}
	return model.Sayf("; its dead-letter exchange %s takes a copy of each refused one to %s",
		model.ExchangeName(r.DLX.Or("")), model.NamesOr(r.To, "no queue"))
}

// Within reports whether it is no worse than one that was shown before.
func (r *ByRefusal) Within(told ByRefusal) bool {
	return r.Queue == told.Queue && r.Refused <= told.Refused && (r.Holds.Known() || !told.Holds.Known()) &&
		slices.Equal(r.To, told.To)
}
