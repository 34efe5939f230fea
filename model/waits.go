package model

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Wait is how long one message of a buffer waits.
type Wait struct {
	Position int                // from the head, at the time of the look
	ID       string             // message id; "" when it has none
	TTL      Opt[time.Duration] // the lower one of its own and the queue's; unknown: it never expires by itself
	Due      DueTime            // when its TTL runs out
	Leaves   DueTime            // when it leaves: not before those ahead of it, for only the head expires
	Behind   int                // the position of the one that it waits for; its own when nothing holds it back
}

// HeldBack reports whether the message waits for one before it longer than for its own TTL.
func (w *Wait) HeldBack() bool { return w.Behind != w.Position }

// Waits tells when the messages of a look leave their buffer: worked out once, and true for as long as nothing but expiry takes
// messages out of it.
type Waits struct {
	Queue    QueueRef
	TakenAt  time.Time
	Messages []Wait     // from the head on
	Depth    Opt[int64] // messages that were in the queue then, without Expired
	Expired  int64      // messages that expired while those before them were held: overdue ones behind a head that was not due
	TTL      Opt[time.Duration]
}

// WaitsIn works out when the messages of a look leave; nil for a queue from which messages do not leave by expiry alone: one with
// consumers, without a TTL anywhere, or without messages. messages are those at the head, in their order. head is what else is known of
// the first one.
func (t *Topology) WaitsIn(ref QueueRef, peeked Peeked, head Sight) *Waits {
	q, ok := t.queues[ref]
	if !ok || q.Type == Stream || q.Consumers.Or(0) > 0 || peeked.Messages.Len() == 0 {
		return nil
	}
	w := &Waits{Queue: ref, TakenAt: peeked.TakenAt, Depth: peeked.Depth}
	if s := t.settings[ref].TTL; s.Set {
		w.TTL = Some(s.Value)
	}
	// Held messages do not count: the next one is at the head then, and expires when it is overdue (3.10.8, 4.0.5 and 4.3.6, classic and quorum).
	if depth, known := peeked.Depth.Get(); known && peeked.Stopped == "" {
		w.Expired = max(min(depth, int64(peeked.Plan.Limit))-int64(peeked.Messages.Len()), 0)
		w.Depth = Some(depth - w.Expired)
	}
	// Most queues have no TTL anywhere: a first pass tells, and then nothing more is worked out.
	_, byPriority := q.Arguments.Integer("x-max-priority")
	fifo, expires := !byPriority, w.TTL.Known()
	err := each(peeked.Messages, headOnly, func(m *Message) {
		fifo = fifo && m.Properties.Priority == 0 // by priorities they do not stand in the order in which they came
		_, _, own := m.ttlIn(w.TTL)
		expires = expires || own
	})
	if err != nil || !expires {
		return nil
	}
	w.Messages = make([]Wait, peeked.Messages.Len())
	if w.find(peeked.Messages, t.refilled(ref), fifo, head, Sight{At: peeked.TakenAt, Clock: t.Snapshot.Overview.Clock()}) != nil ||
		!slices.ContainsFunc(w.Messages, func(x Wait) bool { return x.TTL.Known() }) {
		return nil
	}
	return w
}

// headOnly reads next to nothing of bodies.
const headOnly = 1

func (w *Waits) find(messages Messages, refilled, fifo bool, head, seen Sight) error {
	var after time.Time // no message from here on came before that
	i := 0
	err := each(messages, headOnly, func(m *Message) {
		this := &w.Messages[i]
		*this = Wait{Position: i + 1, ID: strings.Clone(m.Properties.MessageID), Behind: i + 1}
		sight := seen
		if i == 0 {
			sight.Since, sight.After = head.Since, head.After
		}
		i++
		sight.After = latest(sight.After, after)
		this.Due = Due(m.withoutTime(refilled), w.TTL, sight)
		if ttl, _, ok := m.ttlIn(w.TTL); ok {
			this.TTL = Some(ttl)
			if fifo && !this.Due.Earliest.IsZero() {
				after = latest(after, this.Due.Earliest.Add(-ttl))
			}
		}
	})
	if err != nil {
		return err
	}
	since := seen.At // no message up to here came after that
	for i := len(w.Messages) - 1; i >= 0 && fifo; i-- {
		this := &w.Messages[i]
		if ttl, ok := this.TTL.Get(); ok {
			since = earliest(since, this.Due.Time.Add(-ttl))
			this.Due = dueWithin(this.Due.Earliest, since.Add(ttl))
		}
	}
	for i := range w.Messages {
		this := &w.Messages[i]
		this.Leaves = this.Due
		if i > 0 {
			w.hold(i)
		}
	}
	return nil
}

// hold lets a message leave no earlier than the one before it.
func (w *Waits) hold(i int) {
	this, before := &w.Messages[i], &w.Messages[i-1]
	switch {
	case before.Leaves.Kind == DueUnknown:
		this.Leaves, this.Behind = before.Leaves, before.Behind
		return
	case this.Due.Kind == DueUnknown:
		return // it never leaves by itself
	}
	this.Leaves = dueWithin(latest(this.Due.Earliest, before.Leaves.Earliest), latest(this.Due.Time, before.Leaves.Time))
	if this.Due.Time.Before(before.Leaves.Time) {
		this.Behind = before.Behind
	}
}

// refilled reports whether messages come into a queue more than once in their life, as into a retry buffer: their timestamps do not
// tell when.
func (t *Topology) refilled(ref QueueRef) bool {
	return slices.ContainsFunc(t.flowsOf[ref], func(f *Flow) bool { return f.Role(ref) == RetryBuffer })
}

// withoutTime is a message whose timestamp does not count, when it is not to.
func (m *Message) withoutTime(dont bool) *Message {
	if !dont {
		return m
	}
	return &Message{Position: m.Position, Properties: Properties{Expiration: m.Properties.Expiration}}
}

// left is how many messages must have left by now.
func (w *Waits) left(now time.Time) int {
	for i := range w.Messages {
		if l := w.Messages[i].Leaves; l.Kind == DueUnknown || !l.Time.Before(now) {
			return i
		}
	}
	return len(w.Messages)
}

// Head is the message that leaves next; ok is false when all that were seen must have left.
func (w *Waits) Head(now time.Time) (head *Wait, ok bool) {
	if i := w.left(now); i < len(w.Messages) {
		return &w.Messages[i], true
	}
	return nil, false
}

// Holds reports whether the waits can still be true by a newer count of the queue: a message that was to wait longer has not been
// taken out by somebody. A count is as old as told by lag, at most.
func (w *Waits) Holds(q *Queue, lag time.Duration) bool {
	ready, known := q.Ready.Get()
	if !known || q.CountedAt.Before(w.TakenAt.Add(lag)) {
		return true
	}
	if q.Consumers.Or(0) > 0 {
		return false
	}
	for i := range w.Messages {
		if l := w.Messages[i].Leaves; l.Kind == DueUnknown || l.Earliest.After(q.CountedAt) {
			return ready >= int64(len(w.Messages)-i) // those must still be there
		}
	}
	return true
}

// Blocked is what waits behind a message that leaves later than they are due.
type Blocked struct {
	By      *Wait // the message that holds the others back
	Past    int   // how many are past their own time now: certainly so
	Waiting int   // how many wait for it longer than for their own TTL, those that are past it too
	Seen    int   // how many messages were looked at that are still there
	Of      int64 // how many messages were there in all, as far as is known
}

// Blocked tells of the first message that holds others back now; false when none does.
func (w *Waits) Blocked(now time.Time) (Blocked, bool) {
	first := w.left(now)
	b := Blocked{Seen: len(w.Messages) - first}
	b.Of = max(w.Depth.Or(0)-int64(first), int64(b.Seen))
	by := 0
	for i := first; i < len(w.Messages); i++ {
		m := &w.Messages[i]
		if !m.HeldBack() {
			continue
		}
		if by == 0 {
			by = m.Behind
		}
		if m.Behind != by {
			break
		}
		b.Waiting++
		if m.Due.Kind != DueUnknown && m.Due.Time.Before(now) {
			b.Past++
		}
	}
	if by == 0 {
		return Blocked{}, false
	}
	b.By = &w.Messages[by-1]
	return b, true
}

// Words tell of it in a sentence: "message 1 (TTL 5s) blocks 4 messages; it leaves in 3.2s; 2 are overdue".
func (b Blocked) Words(now time.Time) string {
	words := fmt.Sprintf("message %s (%s) blocks %s; it %s", Count(int64(b.By.Position)), b.By.TTLWords(), Plural(b.Waiting, "message"), leaves(b.By.Leaves, now))
	switch b.Past {
	case 0:
		return words
	case 1:
		return words + "; 1 is overdue"
	}
	return words + "; " + Count(int64(b.Past)) + " are overdue"
}

// TTLWords is "TTL 5s", or "no TTL".
func (w *Wait) TTLWords() string {
	if ttl, ok := w.TTL.Get(); ok {
		return "TTL " + ShortDuration(ttl)
	}
	return "no TTL"
}

func leaves(d DueTime, now time.Time) string {
	switch {
	case d.Kind == DueUnknown:
		return "never leaves"
	case d.Time.Before(now):
		return "leaves now"
	case d.Kind == DueAtMost:
		return "leaves within " + ShortDuration(roundedUp(d.Time.Sub(now)))
	}
	return "leaves in " + d.In(now)
}
