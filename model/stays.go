package model

import "time"

// stay is what polls show of how long messages stay in a queue with a TTL by policy, or whose TTL changed. A TTL holds
// for messages that arrive after it was set; those that wait keep an earlier one (3.10.8, 4.0.5, 4.3.6).
type stay struct {
	since   time.Time // nothing has left the queue since then; zero: unknown
	changed time.Time // the TTL was another one until then; zero: not seen to change
	until   time.Time // what came before has left by then; zero: unknown
}

// TTLChanged is until when a queue had another TTL than now, by this machine's clock, as long as messages that came
// before may wait in it. It is zero when no change was seen.
func (t *Topology) TTLChanged(ref QueueRef) time.Time { return t.stays[ref].changed }

// Outlived is for how long the message at the head of a queue has certainly been there when that is longer than the
// TTL, which a policy sets: it waits under an earlier one.
func (t *Topology) Outlived(ref QueueRef) (stayed time.Duration, ok bool) {
	since := t.stays[ref].since
	ttl := t.settings.of(ref).TTL
	if since.IsZero() || !ttl.ByPolicy() {
		return 0, false
	}
	stayed = t.Snapshot.TakenAt.Sub(since)
	return stayed, stayed > ttl.Value+StatisticsLag+ClockTolerance
}

// staysIn continues what earlier polls showed.
func (t *Topology) staysIn(next *Topology) map[QueueRef]stay {
	stays := map[QueueRef]stay{}
	if t == nil {
		return stays
	}
	for q := range next.EachQueue() {
		ref := q.QueueRef
		b := t.Queues[ref]
		ttl := next.settings.of(ref).TTL
		before := t.settings.of(ref).TTL
		differs := ttl.Set != before.Set || ttl.Value != before.Value
		changed := differs && (ttl.ByPolicy() || before.ByPolicy()) // by an argument it is another queue of that name

		s, known := t.stays[ref]
		if b == nil || !changed && !known && !ttl.ByPolicy() {
			continue
		}

		at := next.Snapshot.TakenAt
		if changed {
			s.changed = at.Add(next.Snapshot.Took)
			s.until = time.Time{}
			if before.Set {
				s.until = at.Add(before.Value + StatisticsLag)
			}
		} else if !s.until.IsZero() && at.After(s.until) {
			s.changed, s.until = time.Time{}, time.Time{}
		}

		empty := q.Ready == Some[int64](0)
		if empty && at.After(s.changed.Add(StatisticsLag)) {
			continue // it was empty after the TTL had changed, however late the count is
		}

		if s.since.IsZero() {
			s.since = t.Snapshot.TakenAt
		}
		if empty || !t.nothingLeft(next, ref) {
			s.since = time.Time{}
		}

		stays[ref] = s
	}

	return stays
}

// nothingLeft reports whether certainly nothing has left a queue since the poll before: its counts do not show all, as
// dead letters that arrive are counted nowhere, but then something must have arrived behind it.
func (t *Topology) nothingLeft(next *Topology, ref QueueRef) bool {
	hop, ok := next.Hop(ref, Expired)
	if !ok || !hop.Route.Exact || len(hop.Route.Queues) == 0 {
		return false
	}
	took := next.Snapshot.TakenAt.Sub(t.Snapshot.TakenAt)
	still := func(ref QueueRef, left bool) bool {
		before, q := t.Queues[ref], next.Queues[ref]
		if before == nil || q == nil {
			return false
		}
		m, ok := movement(before, q, took)
		if left {
			return ok && m.Went == Some[int64](0)
		}
		counts := q.Delivered.Known() || q.Consumers == Some[int64](0) && !q.Polled()
		return ok && counts && m.Came == m.Sent
	}

	for _, target := range hop.Route.Queues {
		if !still(target, false) {
			return false
		}
	}

	return still(ref, true)
}
