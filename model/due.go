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
	DueExact   DueKind = "exact"
	DueAtMost  DueKind = "at most"
)

// DueTime is when the TTL of a waiting message runs out. A message with a TTL of its own leaves its buffer later than
// that while a longer one is before it: only the head expires.
type DueTime struct {
	Kind DueKind
	Time time.Time // zero when unknown
}

// Due tells when a message that waits in a buffer expires. ttl is the queue's effective message TTL, unknown when it has
// none; takenAt is when the message was seen in the buffer.
//
// The broker keeps no time of enqueueing. It is the publisher's timestamp, or the broker's timestamp_in_ms, of a message
// that nobody dead-lettered or republished since; then the due time is exact. Else the message expires a whole TTL after
// it was seen, at most.
func Due(m *Message, ttl Opt[time.Duration], takenAt time.Time) DueTime {
	wait, known := ttl.Get()
	known = known && wait >= 0
	ofQueue := known
	if own, ok := parseExpiration(m.Properties.Expiration); ok && (!known || own < wait) {
		wait, known, ofQueue = own, true, false
	}
	if !known {
		return DueTime{Kind: DueUnknown}
	}
	atMost := DueTime{DueAtMost, takenAt.Add(wait)}
	enqueued, ok := m.enqueuedAt()
	if !ok || enqueued.After(takenAt.Add(clockSkew)) {
		return atMost
	}
	due := enqueued.Add(wait)
	if due.Add(clockSkew).Before(takenAt) && (ofQueue || m.Position <= 1) {
		return atMost // nothing held it back, and still it was there: the timestamp is not the time of its enqueueing
	}
	if due.After(atMost.Time) {
		return atMost // a clock that runs ahead
	}
	return DueTime{DueExact, due}
}

// enqueuedAt is when the message came into the queue that it is in, when it has been in no other.
func (m *Message) enqueuedAt() (time.Time, bool) {
	_, _, republished := m.firstKey()
	if len(m.Deaths) > 0 || m.DeathsError != "" || republished {
		return time.Time{}, false
	}
	if _, ok := m.Headers["x-first-death-queue"]; ok {
		return time.Time{}, false
	}
	return m.publishedAt()
}

// In is the time left for people: "3.2s", "≤ 2s", "overdue", "unknown".
func (d DueTime) In(now time.Time) string {
	left := d.Time.Sub(now)
	switch {
	case d.Kind != DueExact && d.Kind != DueAtMost:
		return "unknown"
	case left < 0:
		return "overdue"
	case d.Kind == DueAtMost:
		return "≤ " + ShortDuration(roundedUp(left))
	case left < 10*time.Second:
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
