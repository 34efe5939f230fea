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
	// ClockTolerance is how far clocks differ that are kept the same (NTP), with the whole seconds in which most times
	// are told.
	ClockTolerance = 2 * time.Second
	// NotableSkew is from when on a difference of clocks is told.
	NotableSkew = 2 * time.Second
)

// Between a publisher's clock and the broker's, only some seconds are to be expected; no message is older than
// RabbitMQ, and no time beyond the last is one in seconds since 1970: milliseconds are, read as seconds.
var (
	FirstTime = time.Date(2007, 1, 1, 0, 0, 0, 0, time.UTC)
	LastTime  = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
)
