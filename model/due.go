package model

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// DueKind is how well it is known when a waiting message leaves its buffer.
type DueKind string

// The kinds.
const (
	DueUnknown DueKind = "unknown"
	DueExact   DueKind = "exact"   // to exactWithin
	DueAtMost  DueKind = "at most" // at Time at the latest
)

// exactWithin is how far apart the earliest and the latest time may be that are still called exact: publishers' timestamps have
// whole seconds.
const exactWithin = time.Second

// DueTime is when the TTL of a waiting message runs out, by this machine's clock. A message with a TTL of its own leaves its
// buffer later than that while a longer one is before it: only the head expires (Waits).
type DueTime struct {
	Kind     DueKind
	Time     time.Time // the latest; zero when unknown
	Earliest time.Time // zero when nothing tells
}

// Sight is what is known of a message by having seen it in its queue. Its times are by this machine's clock.
type Sight struct {
	At    time.Time // it was there
	Since time.Time // it was there already; zero: nothing tells but At
	After time.Time // it came after that; zero: nothing tells
	Clock Clock     // the broker's
}

// arrival is between when and when the message came; from is zero when nothing tells.
func (s Sight) arrival() (from, to time.Time) {
	to = s.At
	if !s.Since.IsZero() && s.Since.Before(to) {
		to = s.Since
	}
	if s.After.Before(to) {
		from = s.After
	}
	return from, to
}

// Due tells when a message that waits in a buffer expires. ttl is the queue's effective message TTL, unknown when it has none.
//
// The broker keeps no time of enqueueing. It is the publisher's timestamp, or the broker's timestamp_in_ms, of a message
// that nobody dead-lettered or republished since; or the message was seen to arrive. A timestamp that contradicts what was seen is
// not believed. Where nothing tells, the message expires a whole TTL after it was seen, at most.
func Due(m *Message, ttl Opt[time.Duration], seen Sight) DueTime {
	wait, ofQueue, ok := m.ttlIn(ttl)
	if !ok {
		return DueTime{Kind: DueUnknown}
	}
	from, to := seen.arrival()
	if toldFrom, toldTo, ok := m.enqueuedAt(seen.Clock); ok {
		heldBack := !ofQueue && m.Position > 1
		late := !heldBack && toldTo.Add(wait+clockTolerance).Before(seen.At) // nothing held it back, and still it is there
		if !late && !toldFrom.After(to.Add(clockTolerance)) && !toldTo.Before(from.Add(-clockTolerance)) {
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

// dueWithin is exact when the two times are near enough to each other; from is zero when nothing tells.
func dueWithin(from, to time.Time) DueTime {
	due := DueTime{Kind: DueAtMost, Time: to, Earliest: earliest(from, to)}
	if !from.IsZero() && to.Sub(from) <= exactWithin {
		due.Kind = DueExact
	}
	return due
}

// ttlIn is the TTL of a message in a queue: the lower one of its own and the queue's.
func (m *Message) ttlIn(queue Opt[time.Duration]) (ttl time.Duration, ofQueue, ok bool) {
	ttl, ok = queue.Get()
	ok = ok && ttl >= 0
	ofQueue = ok
	if own, has := parseExpiration(m.Properties.Expiration); has && (!ok || own < ttl) {
		return own, false, true
	}
	return ttl, ofQueue, ok
}

// enqueuedAt is between when and when the message came into the queue that it is in, by this machine's clock, when it tells and
// has been in no other.
func (m *Message) enqueuedAt(broker Clock) (from, to time.Time, ok bool) {
	_, _, republished := m.firstKey()
	if len(m.Deaths) > 0 || m.DeathsError != "" || republished {
		return from, to, false
	}
	if _, ok := m.Headers["x-first-death-queue"]; ok {
		return from, to, false
	}
	from, to, ok = m.publishedWithin()
	if !ok {
		return from, to, false
	}
	return broker.Local(from).Add(-broker.Within), broker.Local(to).Add(broker.Within), true
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

// In is the time left for people: "3.2s", "≤ 2s", "overdue", "unknown". Tenths of seconds are told of what is known to them.
func (d DueTime) In(now time.Time) string {
	left := d.Time.Sub(now)
	switch {
	case d.Kind != DueExact && d.Kind != DueAtMost:
		return "unknown"
	case left < 0:
		return "overdue"
	case d.Kind == DueAtMost:
		return "≤ " + ShortDuration(roundedUp(left))
	case left < 10*time.Second && d.Time.Sub(d.Earliest) <= 200*time.Millisecond:
		return fmt.Sprintf("%.1fs", left.Truncate(100*time.Millisecond).Seconds())
	}
	return ShortDuration(roundedUp(left))
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

// ShortDuration is a duration for people, nothing rounded off but what is below a microsecond: "500ms", "1.5s", "30s",
// "1h30m", "7d".
func ShortDuration(d time.Duration) string {
	const day = 24 * time.Hour
	if d < 0 {
		if d+1 < 0 && -d < 0 { // the least Duration has no positive one
			d++
		}
		return "-" + ShortDuration(-d)
	}
	if d < time.Second {
		switch {
		case d == 0:
			return "0s"
		case d < time.Millisecond:
			return strconv.FormatInt(d.Microseconds(), 10) + "µs"
		}
		return decimal(d, time.Millisecond, "ms")
	}
	var b strings.Builder
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{day, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if n := d / u.unit; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, u.name)
			d -= n * u.unit
		}
	}
	if d.Truncate(time.Microsecond) > 0 {
		b.WriteString(decimal(d, time.Second, "s"))
	}
	return b.String()
}

// decimal is d in a unit with up to three decimals more: "1.5s".
func decimal(d, unit time.Duration, name string) string {
	s := strconv.FormatFloat(float64(d.Truncate(unit/1000))/float64(unit), 'f', 3, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".") + name
}
