package model

import "time"

// Clock is how another machine's clock differs from this one's.
type Clock struct {
	Ahead  time.Duration // that clock minus this machine's; 0 where no difference is certain
	Within time.Duration // how far Ahead may be off, either way; 0 when Ahead is 0
}

// Local converts a time of that clock to this machine's.
func (c Clock) Local(at time.Time) time.Time { return at.Add(-c.Ahead) }

// Clock returns the broker's clock as far as it is known: one that was never measured is taken to equal this machine's.
func (o *Overview) Clock() Clock {
	if ahead := o.ClockSkew.Or(0); ahead != 0 {
		return Clock{Ahead: ahead, Within: o.ClockWithin}
	}
	return Clock{}
}

const (
	// ClockTolerance is how far synchronized clocks (NTP) may differ, including the rounding of most times to whole
	// seconds.
	ClockTolerance = 2 * time.Second
	// NotableSkew is the smallest difference between clocks that is shown.
	NotableSkew = 2 * time.Second
)

// Between a publisher's clock and the broker's, only a few seconds are plausible. No message is older than RabbitMQ. A
// time beyond the last one is not in seconds since 1970, but in milliseconds that were read as seconds.
var (
	FirstTime = time.Date(2007, 1, 1, 0, 0, 0, 0, time.UTC)
	LastTime  = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
)
