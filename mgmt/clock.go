package mgmt

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

const (
	// dateAge is the maximum age of an answer's Date: it is truncated to seconds, and the server renews it by a one-second
	// timer that is not in step with the clock.
	dateAge = 2 * time.Second
	// measurements are how many answers are combined: some minutes of polls, in which no clock drifts much.
	measurements = 256
)

// clock estimates how far the broker's clock is ahead of this machine's. Each answer bounds it from both sides, and
// many together give narrower bounds. It is safe for concurrent use.
type clock struct {
	sync.Mutex
	answers []bounds // newest last
}

// bounds are the least and the most that the broker's clock can be ahead.
type bounds struct{ least, most time.Duration }

// measure compares the Date of an answer with this machine's clock, when it was sent and received.
func (c *clock) measure(header string, sent, received time.Time) {
	date, err := http.ParseTime(header)
	if err != nil {
		return
	}

	// Wall clock times: the question is how far the clocks differ, not how long anything took.
	b := bounds{date.Sub(received.Round(0)), date.Add(dateAge).Sub(sent.Round(0))}
	if b.most < b.least {
		return // this machine's clock was set back in between
	}
	c.Lock()
	defer c.Unlock()
	c.answers = append(c.answers, b)
	c.answers = c.answers[max(len(c.answers)-measurements, 0):]
}

// ahead returns the broker's clock minus this machine's, and how far that may be off: 0 when the clocks may be equal,
// unknown before the first answer. It ignores answers that contradict newer ones: a clock was set in between.
func (c *clock) ahead() (skew model.Opt[time.Duration], within time.Duration) {
	c.Lock()
	defer c.Unlock()
	if len(c.answers) == 0 {
		return skew, 0
	}
	all := c.answers[len(c.answers)-1]
	for _, b := range slices.Backward(c.answers) {
		if b.least > all.most || b.most < all.least {
			break
		}
		all.least = max(all.least, b.least)
		all.most = min(all.most, b.most)
	}

	if all.least <= 0 && all.most >= 0 {
		return model.Some(time.Duration(0)), 0
	}
	half := (all.most - all.least) / 2
	return model.Some(all.least + half), half
}
