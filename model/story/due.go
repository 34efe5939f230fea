package story

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// DueKind is how well it is known when a waiting message leaves its buffer.
type DueKind string

// The kinds.
const (
	DueUnknown DueKind = "unknown"
	DueExact   DueKind = "exact"   // to exactWithin
	DueAtMost  DueKind = "at most" // at Time at the latest
)

// exactWithin is how far apart the earliest and the latest time may be that are still called exact: publishers'
// timestamps have whole seconds.
const exactWithin = time.Second

// DueTime is when the TTL of a waiting message runs out, by this machine's clock. A message with a TTL of its own
// leaves its buffer later than that while a longer one is before it: only the head expires (Waits).
type DueTime struct {
	Kind     DueKind
	Time     time.Time // the latest; zero when unknown
	Earliest time.Time // zero when nothing tells
}

// Sight is what is known of a message by having seen it in its queue. Its times are by this machine's clock.
type Sight struct {
	At    time.Time   // it was there
	Since time.Time   // it was there already; zero: nothing tells but At
	After time.Time   // it came after that; zero: nothing tells
	Clock model.Clock // the broker's
}

// arrival is between when and when the message came; from is zero when nothing tells.
func (s Sight) arrival() (from, to time.Time) {
	to = s.At
	if !s.Since.IsZero() {
		to = earliest(to, s.Since)
	}
	if s.After.Before(to) {
		from = s.After
	}
	return from, to
}

// Due tells when a message that waits in a buffer expires. ttl is the queue's effective message TTL, unknown when it
// has none.
//
// The broker keeps no time of enqueueing. It is the publisher's timestamp, or the broker's timestamp_in_ms, of a
// message that nobody dead-lettered or republished since; the time at which a worker sent it again, where its framework
// writes that down (Symfony); or the message was seen to arrive. A timestamp that
// contradicts what was seen is not believed. Where nothing tells, the message expires a whole TTL after it was seen, at
// most. The eta of a framework is used on the way through levels only (Waiting): it is when a worker runs the message.
func Due(m *message.Message, ttl model.Opt[time.Duration], seen Sight) DueTime {
	told := tellsOfDue(m)
	return told.due(m.Position > 1, ttl, seen)
}

// toldOfDue is what a message tells of when it is due: all that is kept of it until those around it were seen.
type toldOfDue struct {
	id        string
	same      message.Fingerprint
	own       time.Duration // its own TTL, when it has one
	has       bool
	came      time.Time     // into the queue, by the broker's clock, and at most within later; zero: it does not tell
	late      time.Duration // how much later at most
	once      bool          // should it come into the queue again, it will be another message by its fingerprint
	delivered bool          // from this queue before
	// its worker wrote down when it sent it here for another try: that is true of a retry buffer, too
	again bool
	cut   bool // RabbitMQ drops it when it expires
}

// tellsOfDue does not tell the id: it is part of more of the message, which would stay in memory.
func tellsOfDue(m *message.Message) toldOfDue {
	var told toldOfDue
	told.own, told.has = message.ParseExpiration(m.Properties.Expiration)
	// into the queue that it is in, when it has been in no other
	if _, _, republished := m.FirstKey(); !republished && !deadLettered(m) {
		if from, to, ok := m.PublishedWithin(); ok {
			told.came, told.late = from, to.Sub(from)
		}
	}
	// not when the broker dead-lettered it after that: then it is in another queue than it was in before
	diedAfter := func(at time.Time) bool {
		return slices.ContainsFunc(m.Deaths, func(d message.Death) bool { return d.Time.After(at) })
	}
	if from, to, ok := m.SentAgain(); ok && m.DeathsError == "" && !diedAfter(to) {
		told.came, told.late, told.again = from, to.Sub(from), true
	}
	// What was dead-lettered can be redelivered in a queue that it has just come into (4.0.5, 4.3.6).
	told.delivered = m.Redelivered && !deadLettered(m)
	// It was dead-lettered into the queue, and the broker counts that in x-death. What expires there and is published
	// again by a worker has another newest death, or none.
	told.once = len(m.Deaths) > 0 && m.Deaths[0].Reason != model.Expired
	return told
}

// due is Due; others may have held the message back when it is behind them.
func (told *toldOfDue) due(behind bool, ttl model.Opt[time.Duration], seen Sight) DueTime {
	wait, ofQueue, ok := told.ttl(ttl)
	if !ok {
		return DueTime{Kind: DueUnknown}
	}
	from, to := seen.arrival()
	if !told.came.IsZero() {
		came := seen.Clock.Local(told.came)
		toldFrom, toldTo := came.Add(-seen.Clock.Within), came.Add(told.late+seen.Clock.Within)
		heldBack := !ofQueue && behind
		// nothing held it back, and still it is there
		late := !heldBack && toldTo.Add(wait+model.ClockTolerance).Before(seen.At)
		if !late && !toldFrom.After(to.Add(model.ClockTolerance)) && !toldTo.Before(from.Add(-model.ClockTolerance)) {
			from, to = latest(from, earliest(toldFrom, to)), latest(from, earliest(toldTo, to))
			if !heldBack {
				// It is still there, so it is not due before that.
				from, to = latest(from, seen.At.Add(-wait)), latest(to, seen.At.Add(-wait))
			}
		}
	}
	if from.IsZero() {
		return dueWithin(from, to.Add(wait))
	}
	return dueWithin(from.Add(wait), to.Add(wait))
}

// Narrowed is what two times of the same message say together. Where they contradict each other, the first one holds.
func (d DueTime) Narrowed(other DueTime) DueTime {
	if d.Kind != DueExact && d.Kind != DueAtMost || other.Kind != DueExact && other.Kind != DueAtMost {
		return d
	}
	from, to := latest(d.Earliest, other.Earliest), earliest(d.Time, other.Time)
	if from.After(to) {
		return d
	}
	return dueWithin(from, to)
}

// dueWithin is exact when the two times are near enough to each other; from is zero when nothing tells.
func dueWithin(from, to time.Time) DueTime {
	due := DueTime{Kind: DueAtMost, Time: to, Earliest: earliest(from, to)}
	if !from.IsZero() && to.Sub(from) <= exactWithin {
		due.Kind = DueExact
	}
	return due
}

// ttl is the TTL of the message in a queue: the lower one of its own and the queue's.
func (told *toldOfDue) ttl(queue model.Opt[time.Duration]) (ttl time.Duration, ofQueue, ok bool) {
	ttl, ok = queue.Get()
	ok = ok && ttl >= 0
	if told.has && (!ok || told.own < ttl) {
		return told.own, false, true
	}
	return ttl, ok, ok
}

// deadLettered reports whether the broker may have dead-lettered the message.
func deadLettered(m *message.Message) bool {
	_, ok := m.Headers["x-first-death-queue"]
	return ok || len(m.Deaths) > 0 || m.DeathsError != ""
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// In is the time left for people: "3.2s", "≤ 2s", "overdue", "unknown". Tenths of seconds are told of what is known to
// them.
func (d DueTime) In(now time.Time) string {
	left := d.Time.Sub(now)
	switch {
	case d.Kind != DueExact && d.Kind != DueAtMost:
		return "unknown"
	case left < 0:
		return "overdue"
	case d.Kind == DueAtMost:
		return "≤ " + model.ShortDuration(roundedUp(left))
	case left < 10*time.Second && d.Time.Sub(d.Earliest) <= 200*time.Millisecond:
		return fmt.Sprintf("%.1fs", left.Truncate(100*time.Millisecond).Seconds())
	}
	return model.ShortDuration(roundedUp(left))
}

// roundedUp leaves as many units as people read: seconds below an hour, minutes below a day, then hours.
func roundedUp(d time.Duration) time.Duration {
	unit := time.Second
	switch {
	case d >= 24*time.Hour:
		unit = time.Hour
	case d >= time.Hour:
		unit = time.Minute
	}
	if t := d.Truncate(unit); t < d && t <= math.MaxInt64-unit {
		return t + unit
	}
	return d
}
