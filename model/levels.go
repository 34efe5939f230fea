package model

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// leastLevels is how many buffers a chain of doubling TTLs needs to count as the levels of one delay: three may be a
// ladder of retries that someone chose.
const leastLevels = 4

// levels are the buffers that make up one delay, shortest TTL first: each holds messages twice as long as the one
// before it, and expires into that one. A message takes the levels that are bits of its delay and skips the others
// through bindings between exchanges. NServiceBus (28 levels from 1 s on) and Celery delay like this. Structure
// decides, not names.
type levels struct {
	queues []QueueRef
	most   time.Duration // the sum of their TTLs: the longest that a message can wait
}

// findLevels finds the chains among the buffers, and lists each chain under all of its levels.
func (r *roles) findLevels() map[QueueRef]*levels {
	type half struct {
		of  QueueRef
		ttl time.Duration
	}

	below := map[QueueRef]QueueRef{} // the level that each one expires into
	above := map[QueueRef]QueueRef{}

	var buffers []half
	for q := range r.t.EachQueue() {
		ref := q.QueueRef
		if ttl := r.t.settings.of(ref).TTL; ttl.Set && ttl.Value > 0 && r.buffer[ref] != "" {
			buffers = append(buffers, half{ref, ttl.Value})
		}
	}

	for _, b := range buffers {
		for _, next := range r.narrowed(b.of, Expired) {
			ttl := r.t.settings.of(next).TTL
			_, taken := above[next]
			if ttl.Set && 2*ttl.Value == b.ttl && r.buffer[next] != "" && !taken {
				below[b.of], above[next] = next, b.of
				break
			}
		}
	}

	found := map[QueueRef]*levels{}
	for _, b := range buffers {
		if _, isInner := below[b.of]; isInner {
			continue
		}
		l := &levels{}
		for at, ok := b.of, true; ok; at, ok = above[at] {
			l.queues = append(l.queues, at)
			ttl := r.t.settings.of(at).TTL.Value
			l.most += min(ttl, math.MaxInt64-l.most)
		}

		if len(l.queues) < leastLevels {
			continue
		}
		for _, ref := range l.queues {
			found[ref] = l
		}
	}

	return found
}

func (l *levels) lowest() QueueRef  { return l.queues[0] }
func (l *levels) highest() QueueRef { return l.queues[len(l.queues)-1] }

// reason says why these queues are one buffer.
func (l *levels) reason(r *roles) string {
	consumers := "they have no consumers"
	if slices.ContainsFunc(l.queues, func(ref QueueRef) bool { return !r.t.Queues[ref].Consumers.Known() }) {
		consumers = "their consumers are unknown"
	}

	return Sayf("%d queues are one delay: %s, their TTLs double from %s to %s, and each expires into the next "+
		"shorter one (%v to %v): a message waits in those that make up its delay, at most %s", len(l.queues), consumers,
		LongDuration(r.t.settings.of(l.lowest()).TTL.Value), LongDuration(r.t.settings.of(l.highest()).TTL.Value),
		l.highest().Name, l.lowest().Name, LongDuration(l.most))
}

// LongDuration returns a duration in its two largest units, rounded down: "8y186d", "12d3h", "90s" as "1m30s". It is
// for ranges of TTLs, where ShortDuration's precision hides the magnitude.
func LongDuration(d time.Duration) string {
	const day, year = 24 * time.Hour, 365 * 24 * time.Hour
	switch {
	case d >= year && d%year < day:
		return fmt.Sprintf("%dy", d/year)
	case d >= year:
		return fmt.Sprintf("%dy%s", d/year, ShortDuration((d % year).Truncate(day)))
	case d >= day:
		d = d.Truncate(time.Hour)
	case d >= time.Hour:
		d = d.Truncate(time.Minute)
	case d >= time.Minute:
		d = d.Truncate(time.Second)
	}

	return ShortDuration(d)
}
