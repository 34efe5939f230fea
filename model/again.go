package model

import "time"

// again is what polls show of a queue from which messages are delivered again and again, while none is acknowledged.
type again struct {
	n     int64     // redelivered since the last message was acknowledged, or later
	steps int       // polls at which more had been redelivered
	away  bool      // no consumer was counted at some of the polls
	last  time.Time // when the last of these polls was taken
}

// stillAgain is how soon more must be redelivered where no consumer is counted: RabbitMQ counts every 5 s,
// and a dashboard polls every 15 s at most.
const stillAgain = 16 * time.Second

// Redelivered returns how many messages of a queue were delivered again since the last acknowledgement that polls saw,
// and at how many polls there were more: one peek shows at a single poll, a loop at each. away: at some of these polls
// no consumer was counted, as where a worker crashes, but also where someone peeks several times.
func (t *Topology) Redelivered(ref QueueRef) (n int64, steps int, away bool) {
	a := t.again[ref]
	return a.n, a.steps, a.away
}

// againIn continues what earlier polls showed. What dlxtop itself held has no rate (LeaveOut): it begins again there.
func (t *Topology) againIn(next *Topology) map[QueueRef]again {
	all := map[QueueRef]again{}
	if t == nil {
		return all
	}
	for q := range next.EachQueue() {
		b := t.Queues[q.QueueRef]
		depth, _ := q.Depth()
		if b == nil || depth == 0 || !q.RedeliverRate.Known() || q.Removed() != b.Removed() ||
			q.Redelivered.Or(0) < b.Redelivered.Or(0) {
			continue
		}
		a, known := t.again[q.QueueRef]
		if !known {
			a.last = t.Snapshot.TakenAt
		}
		if !q.Consumed() {
			a.away = true
			if q.Polled() || next.Snapshot.TakenAt.Sub(a.last) > stillAgain {
				continue
			}
		}

		if more := q.Redelivered.Or(0) - b.Redelivered.Or(0); more > 0 {
			a.n += more
			a.steps++
			a.last = next.Snapshot.TakenAt
		}

		all[q.QueueRef] = a
	}

	return all
}
