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
	// it is older than the queue's TTL, and still there: a TTL by policy holds for what arrives later, and it waits under
	// an earlier one, which RabbitMQ shows nowhere (3.10.8, 4.0.5, 4.3.6)
	DueEarlierTTL DueKind = "earlier TTL"
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

// Known reports whether there is a latest time.
func (d DueTime) Known() bool { return d.Kind == DueExact || d.Kind == DueAtMost }

// Sight is what is known of a message because it was seen in its queue. Its times are by this machine's clock.
type Sight struct {
	At      time.Time     // it was there
	Since   time.Time     // it was already there; zero: only At is known
	After   time.Time     // it came after that; zero: unknown
	Lag     time.Duration // how long before At it may have been there for the last time: statistics lag, peeks do not
	Changed time.Time     // the queue had another TTL until then; zero: no change was seen
	Clock   model.Clock   // the broker's
}

// arrival returns the time range in which the message came; from is zero when unknown.
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

// Due returns when a message that waits in a buffer expires. ttl is the queue's effective message TTL.
//
// The broker does not record the time of enqueueing. It is taken from the publisher's timestamp, or the broker's
// timestamp_in_ms, if the message was neither dead-lettered nor republished since; from the time at which a worker
// resent it, if its framework records that (Symfony); or the message was seen to arrive. A timestamp that contradicts
// what was seen is ignored; one that is older than a TTL by policy says that an earlier TTL holds. Without any of them,
// the message expires at most a whole TTL after it was seen. A
// framework's eta only counts on the way through levels (Waiting): it is when a worker runs the message.
func Due(m *message.Message, ttl model.Setting[time.Duration], seen Sight) DueTime {
	told := tellsOfDue(m)
	return told.due(m.Position > 1, ttl, seen)
}

// toldOfDue is what a message says about when it is due: this is kept until the messages around it were seen.
type toldOfDue struct {
	id   string
	same message.Fingerprint
	own  time.Duration // its own TTL, if it has one
	has  bool
	came time.Time     // arrival in the queue by the broker's clock, or up to late after that; zero: unknown
	late time.Duration // maximum delay after came
	// came is by the clock of a publisher, or of a worker, not the broker's
	byPublisher bool
	died        time.Time // when it was dead-lettered into the queue, by the broker's clock; zero: unknown
	once        bool      // if it enters the queue again, it will have a different fingerprint
	dated       bool      // it has the time of a death
	delivered   bool      // delivered from this queue before
	// its worker recorded when it sent it here for another try: that holds for a retry buffer, too
	again bool
	cut   bool // RabbitMQ drops it when it expires
}

// tellsOfDue does not keep the id: it would keep more of the message in memory.
func tellsOfDue(m *message.Message) toldOfDue {
	var told toldOfDue
	told.own, told.has = message.ParseExpiration(m.Properties.Expiration)

	// into the current queue, if it has not been in another one
	if from, to, ok := m.PublishedWithin(); ok && !m.WentRound() {
		told.came, told.late, told.byPublisher = from, to.Sub(from), m.TimedByPublisher()
	}

	// not when the broker dead-lettered it after that: then it was in another queue at the time
	diedAfter := func(at time.Time) bool {
		return slices.ContainsFunc(m.Deaths, func(d message.Death) bool { return d.Time.After(at) })
	}
	if from, to, ok := m.SentAgain(); ok && m.DeathsError == "" && !diedAfter(to) {
		told.came, told.late, told.again, told.byPublisher = from, to.Sub(from), true, true
	}

	// A dead letter can be marked as redelivered in a queue that it has just entered (4.0.5, 4.3.6).
	told.delivered = m.Redelivered && !deadLettered(m)
	// It was dead-lettered into the queue, and the broker records that in x-death. When it expires there and a worker
	// republishes it, it has another newest death, or none.
	if len(m.Deaths) > 0 {
		told.once = m.Deaths[0].Reason != model.Expired
		told.dated = !m.Deaths[0].Time.IsZero()
	}

	return told
}

// due is Due; behind: other messages may have held it back.
func (told *toldOfDue) due(behind bool, ttl model.Setting[time.Duration], seen Sight) DueTime {
	wait, ofQueue, ok := told.ttl(ttl)
	from, to := seen.arrival()
	toldFrom, toldTo := told.arrival(seen.Clock)
	agrees := !toldTo.IsZero() && !toldFrom.After(to.Add(model.ClockTolerance)) &&
		!toldTo.Before(from.Add(-model.ClockTolerance))
	if told.outlives(ttl, seen, agrees) {
		return DueTime{Kind: DueEarlierTTL}
	}
	if !ok {
		return DueTime{Kind: DueUnknown}
	}

	heldBack := !ofQueue && behind
	if agrees && (heldBack || !seen.past(toldTo, wait, 0)) {
		from, to = latest(from, earliest(toldFrom, to)), latest(from, earliest(toldTo, to))
		if !heldBack {
			// It is still there, so it is not due before that.
			from, to = latest(from, seen.At.Add(-wait)), latest(to, seen.At.Add(-wait))
		}
	}

	if from.IsZero() {
		return dueWithin(from, to.Add(wait))
	}

	return dueWithin(from.Add(wait), to.Add(wait))
}

// arrival returns the time range in which the message came as it says itself, by this machine's clock; zero when
// unknown. Where the broker's clock differs from this machine's, a publisher's may agree with either.
func (told *toldOfDue) arrival(clock model.Clock) (from, to time.Time) {
	if told.came.IsZero() {
		return from, to
	}
	from = clock.Local(told.came).Add(-clock.Within)
	to = clock.Local(told.came).Add(told.late + clock.Within)
	if told.byPublisher {
		from, to = earliest(from, told.came), latest(to, told.came.Add(told.late))
	}

	return from, to
}

// outlives reports whether the message waits under another TTL than the queue's current one: it came before that, or is
// still there long after it. agrees: what the message says of its arrival does not contradict what was seen.
func (told *toldOfDue) outlives(ttl model.Setting[time.Duration], seen Sight, agrees bool) bool {
	from, to := seen.arrival()
	toldFrom, toldTo := told.arrival(seen.Clock)
	wait, ofQueue, ok := told.ttl(ttl)
	switch {
	case ok && !ofQueue:
		return false // its own TTL is the lower one
	case !seen.Changed.IsZero() && !from.After(seen.Changed):
		return !agrees || !toldFrom.After(seen.Changed)
	case !ok || !ttl.ByPolicy():
		return false
	case seen.past(to, wait, model.StatisticsLag), agrees && seen.past(toldTo, wait, seen.Lag):
		return true
	}

	return !told.died.IsZero() && seen.past(seen.Clock.Local(told.died).Add(seen.Clock.Within), wait, seen.Lag)
}

// past reports whether a message that came at a time, and was still there when it was seen, should have left before.
func (s Sight) past(came time.Time, wait, lag time.Duration) bool {
	return came.Add(wait + model.ClockTolerance + lag).Before(s.At)
}

// Narrowed combines two due times of the same message. If they contradict each other, the receiver stands.
func (d DueTime) Narrowed(other DueTime) DueTime {
	if d.Known() && other.Kind == DueEarlierTTL {
		return other
	}
	if !d.Known() || !other.Known() {
		return d
	}
	from := latest(d.Earliest, other.Earliest)
	to := earliest(d.Time, other.Time)
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

// ttl returns the TTL of the message in a queue: the lower one of its own and the queue's.
func (told *toldOfDue) ttl(queue model.Setting[time.Duration]) (ttl time.Duration, ofQueue, ok bool) {
	ttl = queue.Value
	ok = queue.Set && queue.Value >= 0
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

// In returns the remaining time, for people: "3.2s", "≤ 2s", "overdue", "unknown". Tenths of seconds are shown only if
// they are known.
func (d DueTime) In(now time.Time) string {
	left := d.Time.Sub(now)
	switch {
	case !d.Known():
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
