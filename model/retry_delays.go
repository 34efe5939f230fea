package model

import (
	"slices"
	"time"
)

// RetryDelays is how long a quorum queue holds messages back that return to it, before their next try (4.3 and later).
// The zero value holds none back.
type RetryDelays struct {
	// Type says which returns count (4.3.6). all: every one. failed: rejected with requeue, or its channel ended.
	// returned: nacked, rejected with requeue, or its consumer timed out.
	Type     Setting[string]
	Min, Max Setting[time.Duration] // Max is never below Min
}

// delayedRetry merges arguments and policies as 4.3.6 does: a policy's type wins, and so do the lower minimum and
// maximum. Nothing is held back without a type that the broker knows, or without a minimum; the maximum is the minimum
// where it is not set.
func (r settingReader) delayedRetry() RetryDelays {
	d := RetryDelays{
		r.policyFirst("delayed-retry-type"), r.milliseconds("delayed-retry-min"), r.milliseconds("delayed-retry-max"),
	}
	if !slices.Contains([]string{"all", "failed", "returned"}, d.Type.Value) || d.Min.Value == 0 {
		return RetryDelays{}
	}

	if d.Max.Value == 0 {
		d.Max = d.Min
	}
	if d.Max.Value < d.Min.Value {
		d.Min = d.Max
	}

	return d
}

// After returns how long a message is held back whose x-delivery-count is failed then: that many times the minimum, and
// once where it has none, as a nack does not count.
func (d *RetryDelays) After(failed int64) time.Duration {
	times := time.Duration(max(failed, 1))
	if d.Min.Value > d.Max.Value/times {
		return d.Max.Value
	}
	return times * d.Min.Value
}

// Range returns the shortest and the longest delay: "30s…5m", "30s".
func (d *RetryDelays) Range() string {
	if d.Min.Value == d.Max.Value {
		return ShortDuration(d.Min.Value)
	}
	return Sayf("%s…%s", d.Min.Value, d.Max.Value)
}

// Words returns the delays and where they are set: "1st 30s (argument), then 1m, at most 5m (policy slow)".
func (d *RetryDelays) Words() string {
	if d.Min.Value == d.Max.Value {
		return Printable(d.Min.String()) + " each time"
	}
	return Printable(Sayf("1st %s, then %s, at most %s", d.Min, d.After(2), d.Max))
}

// NextRetry returns when the first of the messages that a queue holds back is due, by this machine's clock.
func (t *Topology) NextRetry(q *Queue) Opt[time.Time] { return t.local(q.NextRetry) }

// LastRetry is NextRetry for the last of them.
func (t *Topology) LastRetry(q *Queue) Opt[time.Time] { return t.local(q.LastRetry) }

func (t *Topology) local(at Opt[time.Time]) Opt[time.Time] {
	if at, known := at.Get(); known {
		return Some(t.Snapshot.Overview.Clock().Local(at))
	}
	return at
}

// HeldBack says how many messages a queue holds back before their next try, and until when: "3 held back, next in 12s,
// last in 4m". "" when there are none.
func (t *Topology) HeldBack(q *Queue, now time.Time) string {
	n := q.Delayed.Or(0)
	if n == 0 {
		return ""
	}

	words := Count(n) + " held back"
	due := func(which string, at Opt[time.Time]) {
		if at, known := at.Get(); known {
			left := (max(at.Sub(now), 0) + time.Second - 1).Truncate(time.Second)
			words += Sayf(", %s in %s", which, left)
		}
	}

	due("next", t.NextRetry(q))
	if n > 1 {
		due("last", t.LastRetry(q))
	}

	return words
}
