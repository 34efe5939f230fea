// Package loss works out which messages published to a queue are lost: by its limit, or at their second failure, when
// their dead letter reaches no queue.
package loss

import (
	"cmp"
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// ByLimit is what a queue that drops its oldest messages (overflow drop-head) will drop when the messages of a plan
// arrive. Only ready messages count against a limit, and the oldest are dropped first (3.10.8, 4.0.5, 4.3.6, classic
// and quorum): those in the queue now, then the first arrivals; but those of the highest priority before all others, in
// classic queues with x-max-priority and, above 4, in quorum queues from 4.0. That is exact as long as nothing else
// publishes there and no consumer takes messages.
type ByLimit struct {
	AtLimit
	Old    int  // dropped from those that it holds
	Ours   int  // dropped from those that arrive
	Urgent bool // some that arrive have a priority: they may be dropped in place of what it holds
	DLX    model.Opt[string]
}

// AtLimit is a queue with a limit that messages of a plan reach.
type AtLimit struct {
	Queue     model.QueueRef
	Limit     model.Setting[int64]
	Bytes     bool // the limit is in bytes of bodies, not in messages
	Overflow  string
	Holds     model.Opt[int64] // ready messages in it now; unknown: what it loses or refuses cannot be predicted
	Comes     int              // messages of the plan that arrive there, at most
	Estimated bool             // the numbers are maxima, or derived from mean sizes
	Consumed  bool             // it has consumers, which may take some first
	To        []model.QueueRef // where its dead-letter exchange sends what it drops, or copies of what it refuses
}

// atLimit also weighs the arrivals. The queue is nil where it drops or refuses nothing.
func atLimit(t *model.Topology, ref model.QueueRef, a *Arrivals, counts model.CountsByQueue) (AtLimit, *model.Queue) {
	s := t.Settings(ref)
	q := t.Known(ref)
	if a.Messages == 0 || !s.Bounded() {
		return AtLimit{}, nil
	}
	holds, newer := q.Ready, counts[ref]
	if newer.Ready.Known() && !newer.Held {
		holds = newer.Ready
	}

	*a = a.weighed(t, q)
	return AtLimit{
		Queue: ref, Overflow: s.Overflow.Value, Holds: holds, Comes: a.Messages, Estimated: a.AtMost,
		Consumed: cmp.Or(newer.Consumers, q.Consumers).Or(1) > 0, To: t.OverflowTargets(ref),
	}, q
}

// words returns the limit and what the queue holds, as far as that is known.
func (l *AtLimit) words() (words string, known bool) {
	keeps := model.Plural(l.Limit.Value, "message")
	if l.Bytes {
		keeps = message.Size(l.Limit.Value) + "B"
	}

	words = model.Sayf("%s keeps at most %s (%s, overflow %s)", l.Queue, keeps, l.Limit.Source, l.Overflow)
	holds, known := l.Holds.Get()
	if !known {
		return words + ", and dlxtop does not know how full it is: ", false
	}
	words += model.Sayf(" and holds %v: ", holds)
	if l.Consumed {
		words += "unless consumers take messages before, "
	}

	return words, true
}

// Lost returns how many messages the limit drops; at least one if unknown.
func (l *ByLimit) Lost() int {
	if !l.Holds.Known() {
		return max(l.Old+l.Ours, 1)
	}
	return l.Old + l.Ours
}

// Words describe the loss in one sentence: the limit, what is there, what would be dropped, and where that goes.
func (l *ByLimit) Words() string {
	words, known := l.words()
	comes := model.Count(l.Comes)
	if !known {
		return words + "some of it, or of these " + comes + ", may be dropped" + l.where()
	}
	if l.Estimated {
		words += "up to "
	}

	words += model.Sayf("%v message(s) would be dropped", l.Old+l.Ours)
	if l.Urgent {
		return words + ", of the highest priority first, and these " + comes + " have one" + l.where()
	}

	var parts []string
	old, holds := int64(l.Old), l.Holds.Or(0)
	switch {
	case old == 0:
	case old == holds:
		parts = append(parts, model.Sayf("the %v that it holds", old))
	default:
		parts = append(parts, model.Sayf("%v of the %v that it holds", old, holds))
	}

	if l.Ours > 0 {
		parts = append(parts, model.Sayf("%v of these %s", l.Ours, comes))
	}

	return words + ": " + strings.Join(parts, " and ") + l.where()
}

// where says what happens to dropped messages.
func (l *ByLimit) where() string {
	exchange, dead := l.DLX.Get()
	if !dead {
		return ""
	}
	return model.Sayf("; its dead-letter exchange %s takes them to %s", model.ExchangeName(exchange),
		model.NamesOr(l.To, "no queue"))
}

// Arrivals are messages that will be published to a queue.
type Arrivals struct {
	Messages int
	Sizes    []int64          // of the bodies of the first of them, in bytes
	Mean     model.Opt[int64] // of the rest
	AtMost   bool             // there may be fewer messages
	Highest  uint8            // priority
	Leave    model.QueueRef   // they are dead letters of this queue; empty: they are published
}

// size returns the body size of the message at an index, if known.
func (a *Arrivals) size(i int) (size int64, known bool) {
	if i < len(a.Sizes) {
		return a.Sizes[i], true
	}
	return a.Mean.Get()
}

// weighed returns the arrivals as a queue weighs them against a limit in bytes. From 4.3 a quorum queue counts
// properties and headers, too: what a message weighs there is known only as a mean, if it comes from such a queue.
func (a Arrivals) weighed(t *model.Topology, q *model.Queue) Arrivals {
	if q.Type != model.Quorum || !t.Behaviour.WeighsHeaders || !t.Settings(q.QueueRef).MaxBytes.Set {
		return a
	}
	sizes := slices.Clone(a.Sizes)
	for i := range sizes {
		sizes[i] = max(sizes[i], a.Mean.Or(0))
	}

	a.Sizes, a.AtMost = sizes, true
	return a
}

// Limited returns the queues with a limit, also behind these: what they drop or refuse depends on their depth, which
// statistics report some seconds late. A passive declare counts them exactly.
func Limited(t *model.Topology, refs []model.QueueRef) []model.QueueRef {
	var limited []model.QueueRef
	refs = slices.Clone(refs)
	for i := 0; i < len(refs); i++ {
		if declare, _ := t.Countable(refs[i]); declare && t.Settings(refs[i]).Bounded() {
			limited = append(limited, refs[i])
		}

		for _, next := range slices.Concat(Behind(t, refs[i]), t.OverflowTargets(refs[i])) {
			if !slices.Contains(refs, next) {
				refs = append(refs, next)
			}
		}
	}

	return limited
}

// Behind returns the workers that get what expires in a queue whose messages wait for that, unless it keeps what they
// refuse.
func Behind(t *model.Topology, ref model.QueueRef) []model.QueueRef {
	s := t.Settings(ref)
	if !s.TTL.Set || s.KeepsDeadLetters() || t.Works(ref) {
		return nil
	}
	idle := func(to model.QueueRef) bool { return !t.Works(to) }
	return model.Without(t.ExpiredTargets(ref), idle)
}

// OfLimit works out what a queue's limits will drop when messages arrive; nil for nothing. counts are newer than the
// topology.
func OfLimit(t *model.Topology, ref model.QueueRef, a Arrivals, counts model.CountsByQueue) *ByLimit {
	at, q := atLimit(t, ref, &a, counts)
	s := t.Settings(ref)
	if q == nil || !s.DropsHead() {
		return nil
	}
	l := ByLimit{AtLimit: at, Urgent: a.Highest > 4 && q.Type == model.Quorum && t.Behaviour.Prioritizes}
	if _, set := q.Arguments["x-max-priority"]; set && q.Type == model.Classic {
		l.Urgent = a.Highest > 0
	}

	if s.DLX.Set {
		l.DLX = model.Some(s.DLX.Value)
	}

	var worst *ByLimit
	if s.MaxLength.Set {
		one := l
		one.Limit = s.MaxLength
		worst = worse(worst, one.countMessages())
	}

	if s.MaxBytes.Set {
		one := l
		one.Limit, one.Bytes = s.MaxBytes, true
		worst = worse(worst, one.countBytes(q, &a))
	}

	return worst
}

func worse(a, b *ByLimit) *ByLimit {
	if a == nil || b != nil && b.Lost() > a.Lost() {
		return b
	}
	return a
}

func (l *ByLimit) countMessages() *ByLimit {
	limit := max(l.Limit.Value, 0)
	holds, known := l.Holds.Get()
	if !known {
		l.Ours = int(max(int64(l.Comes)-limit, 0))
		return l
	}

	over := holds + int64(l.Comes) - limit
	if over <= 0 {
		return nil
	}
	l.Old = int(min(over, holds))
	l.Ours = int(over) - l.Old
	return l
}

// countBytes simulates the arrivals in order. For the messages in the queue only the mean size is known.
func (l *ByLimit) countBytes(q *model.Queue, a *Arrivals) *ByLimit {
	held, known := heldBytes(q, l.Holds)
	var coming int64
	for i := range a.Messages {
		size, ok := a.size(i)
		known = known && ok
		coming += size
	}

	if !known {
		l.Holds = model.Unknown[int64]()
		return l
	}

	l.Estimated = l.Estimated || len(a.Sizes) < a.Messages
	over := held + coming - max(l.Limit.Value, 0)
	holds := l.Holds.Or(0)
	switch {
	case over <= 0:
		return nil
	case over < held:
		mean := max(held/max(holds, 1), 1)
		l.Old = int(min((over+mean-1)/mean, holds))
		l.Estimated = true
		return l
	}

	l.Old = int(holds)
	for over -= held; over > 0 && l.Ours < a.Messages; l.Ours++ {
		size, _ := a.size(l.Ours)
		over -= size
	}

	return l
}

// heldBytes returns the bytes of a queue's ready messages, from the statistics scaled to a newer count.
func heldBytes(q *model.Queue, holds model.Opt[int64]) (held int64, known bool) {
	n, counted := holds.Get()
	bytes, told := q.ReadyBytes.Get()
	ready, _ := q.Ready.Get()
	switch {
	case counted && n == 0:
		return 0, true
	case !counted || !told || ready <= 0 || bytes <= 0 && n != ready:
		return 0, false
	}

	return bytes * n / ready, true
}

// MeanSize returns the mean size of the bodies in a queue, in bytes.
func MeanSize(t *model.Topology, ref model.QueueRef) model.Opt[int64] {
	q := t.Known(ref)
	if bytes, ready := q.ReadyBytes.Or(0), q.Ready.Or(0); bytes > 0 && ready > 0 {
		return model.Some((bytes + ready - 1) / ready)
	}

	return model.Unknown[int64]()
}

// Within reports whether a loss is no worse than one that was shown before.
func (l *ByLimit) Within(told ByLimit) bool {
	return l.Queue == told.Queue && l.Ours <= told.Ours && l.Lost() <= told.Lost() &&
		l.DLX == told.DLX && slices.Equal(l.To, told.To)
}
