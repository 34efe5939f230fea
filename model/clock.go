package model

import "time"

// Clock is another machine's clock against this one's.
type Clock struct {
	Ahead  time.Duration // that clock minus this machine's; 0 where no difference is certain
	Within time.Duration // how far Ahead may be off, either way; 0 when Ahead is 0
}

// Local is an instant of that clock, by this machine's.
func (c Clock) Local(at time.Time) time.Time { return at.Add(-c.Ahead) }

// Clock is the broker's, as far as it is known: a clock that nobody measured is taken for the same as this machine's.
func (o *Overview) Clock() Clock {
	if ahead := o.ClockSkew.Or(0); ahead != 0 {
		return Clock{Ahead: ahead, Within: o.ClockWithin}
	}
	return Clock{}
}

const (
	// clockTolerance is how far clocks differ that are kept the same (NTP), with the whole seconds in which most times are told.
	clockTolerance = 2 * time.Second
	// notableSkew is from when on a difference of clocks is told.
	notableSkew = 2 * time.Second
)

// Between a publisher's clock and the broker's, only some seconds are to be expected; no message is older than RabbitMQ, and no
// time beyond the last is one in seconds since 1970: milliseconds are, read as seconds.
var (
	firstTime = time.Date(2007, 1, 1, 0, 0, 0, 0, time.UTC)
	lastTime  = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
)

// publishedWithin is between when and when the message was published, by the clock of the broker where it wrote the time into the
// message (to the millisecond), else by the publisher's (to the second). Times that cannot be are not told.
func (m *Message) publishedWithin() (from, to time.Time, ok bool) {
	if ms, ok := m.Headers.Integer("timestamp_in_ms"); ok && ms > firstTime.UnixMilli() && ms < lastTime.UnixMilli() {
		from = time.UnixMilli(ms)
		return from, from.Add(time.Millisecond), true
	}
	if t := m.Properties.Timestamp; t.After(firstTime) && t.Before(lastTime) {
		return t, t.Add(time.Second), true
	}
	return time.Time{}, time.Time{}, false
}

// publishedAt is publishedWithin for who needs no more than the time as it was written.
func (m *Message) publishedAt() (time.Time, bool) {
	from, _, ok := m.publishedWithin()
	return from, ok
}
