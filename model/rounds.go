package model

// rounds is what polls show of a worker's messages while none is acknowledged and no new one is published.
type rounds struct {
	delivered int64 // in total, when the last message was acknowledged or published
	published int64 // in total by then, into the worker and into the buffers of its flows
	inside    int64 // how many messages were there, at most
}

// Rounds returns how many times each message of a worker was delivered, at least, since polls saw one acknowledged or
// published; n is how many messages that are.
func (t *Topology) Rounds(worker QueueRef) (times, n int64) {
	r := t.rounds[worker]
	q := t.Queues[worker]
	if q == nil || r.inside == 0 {
		return 0, 0
	}
	return (q.arrived() - r.delivered) / r.inside, r.inside
}

// roundsIn continues what earlier polls showed. What dlxtop itself held has no rate (LeaveOut): it begins again there.
func (t *Topology) roundsIn(next *Topology) map[QueueRef]rounds {
	all := map[QueueRef]rounds{}
	if t == nil {
		return all
	}
	for flow := range Each(t.flows) {
		worker := flow.Worker.Queue
		b, q := t.Queues[worker], next.Queues[worker]
		if b == nil || q == nil || !q.RedeliverRate.Known() || q.Removed() != b.Removed() {
			continue
		}

		inside, _ := q.Depth()
		published := q.Published.Or(0)
		for _, buffer := range flow.Buffers {
			inside += next.Waiting(buffer).Or(0)
			for _, ref := range buffer.Queues() {
				if q := next.Queues[ref]; q != nil {
					published += q.Published.Or(0)
				}
			}
		}

		r, known := t.rounds[worker]
		if !known || published != r.published {
			r = rounds{delivered: q.arrived(), published: published}
		}

		r.inside = max(r.inside, inside)
		all[worker] = r
	}

	return all
}
