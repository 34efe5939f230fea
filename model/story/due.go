package story

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// DueKind is how precisely it is known when a waiting message leaves its buffer.
type DueKind string

const (
	DueUnknown DueKind = "unknown"
	DueExact   DueKind = "exact"   // within exactWithin
	DueAtMost  DueKind = "at most" // at Time or earlier
)

// exactWithin is how far apart the earliest and the latest time may be to count as exact: publishers' timestamps have
// whole seconds.
const exactWithin = time.Second

// DueTime is when the TTL of a waiting message runs out, by this machine's clock. A message with its own TTL leaves its
// buffer later while a longer one is ahead of it: only the head expires (Waits).
type DueTime struct {
	Kind     DueKind
	Time     time.Time // the latest; zero when unknown
	Earliest time.Time // zero when unknown
}

// Sight is what is known of a message because it was seen in its queue. Its times are by this machine's clock.
type Sight struct {
	At    time.Time   // it was there
	Since time.Time   // it was already there; zero: only At is known
	After time.Time   // it came after that; zero: unknown
	Clock model.Clock // the broker's
}

// arrival is the time range in which the message came; from is zero when unknown.
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

// Due is when a message that waits in a buffer expires. ttl is the queue's effective message TTL, unknown when it has
// none.
//
// The broker does not record the time of enqueueing. It is taken from the publisher's timestamp, or the broker's
// timestamp_in_ms, if the message was neither dead-lettered nor republished since; from the time at which a worker
// resent it, if its framework records that (Symfony); or the message was seen to arrive. A timestamp that contradicts
// what was seen is ignored. Without any of them, the message expires at most a whole TTL after it was seen. A
// framework's eta only counts on the way through levels (Waiting): it is when a worker runs the message.
func Due(m *message.Message, ttl model.Opt[time.Duration], seen Sight) DueTime {
	told := tellsOfDue(m)
	return told.due(m.Position > 1, ttl, seen)
}

// toldOfDue is what a message says about when it is due: this is kept until the messages around it were seen.
type toldOfDue struct {
	id        string
	same      message.Fingerprint
	own       time.Duration // its own TTL, if it has one
	has       bool
	came      time.Time     // arrival in the queue by the broker's clock, or up to late after that; zero: unknown
	late      time.Duration // maximum delay after came
	once      bool          // if it enters the queue again, it will have a different fingerprint
	delivered bool          // delivered from this queue before
	// its worker recorded when it sent it here for another try: that holds for a retry buffer, too
	again bool
	cut   bool // RabbitMQ drops it when it expires
}

// tellsOfDue does not keep the id: it would keep more of the message in memory.
func tellsOfDue(m *message.Message) toldOfDue {
	var told toldOfDue
	told.own, told.has = message.ParseExpiration(m.Properties.Expiration)
	// into the current queue, if it has not been in another one
	if _, _, republished := m.FirstKey(); !republished && !deadLettered(m) {
		if from, to, ok := m.PublishedWithin(); ok {
			told.came, told.late = from, to.Sub(from)
		}
	}
	// not when the broker dead-lettered it after that: then it was in another queue at the time
	diedAfter := func(at time.Time) bool {
		return slices.ContainsFunc(m.Deaths, func(d message.Death) bool { return d.Time.After(at) })
	}
	if from, to, ok := m.SentAgain(); ok && m.DeathsError == "" && !diedAfter(to) {
		told.came, told.late, told.again = from, to.Sub(from), true
	}
	// A dead letter can be marked as redelivered in a queue that it has just entered (4.0.5, 4.3.6).
	told.delivered = m.Redelivered && !deadLettered(m)
	// It was dead-lettered into the queue, and the broker records that in x-death. When it expires there and a worker
	// republishes it, it has another newest death, or none.
	told.once = len(m.Deaths) > 0 && m.Deaths[0].Reason != model.Expired
	return told
}

// due is Due; behind: other messages may have held it back.
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
		// nothing held it back, and yet it is still there
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

// Narrowed combines two due times of the same message. If they contradict each other, the receiver stands.
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

// dueWithin is exact when the two times are near enough; from is zero when unknown.
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

// In is the remaining time, for people: "3.2s", "≤ 2s", "overdue", "unknown". Tenths of seconds are shown only if they
// are known.
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

// roundedUp keeps the units that people read: seconds below an hour, minutes below a day, then hours.
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
