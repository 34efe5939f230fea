package watch

import (
	"time"

	"github.com/dlxtop/dlxtop/model"
)

const (
	// laterQuorum is how much later the statistics of quorum queues are.
	laterQuorum = 6 * time.Second
	// countedFirst is how long a queue is counted before its publishers' total is compared: what the total shows after
	// that arrived while it was counted.
	countedFirst = 12 * time.Second
)

// stats is what polls reported about a queue.
type stats struct {
	seen      bool
	on        bool // the broker has statistics
	told      bool // it has reported some for this queue
	consumers int64
	unacked   model.Opt[int64]
	published model.Opt[int64]
	acked     model.Opt[int64]
	noAck     model.Opt[int64]
	delivered model.Opt[int64] // first deliveries: without redelivered messages
	depth     int64            // ready and unacknowledged

	base     model.Opt[int64] // the publishers' total from which on arrivals are compared
	entered  model.Opt[int64] // dead letters that came in since the broker began to count, as far as known
	total    int64            // all arrivals, of which entered are dead letters
	first    int64            // the value of entered when the watch began
	allotted int64            // dead letters matched with hops
}

// Poll updates all queues from a poll of the API, every two seconds or slower: the only source for queues that are not
// counted.
func (w *Watch) Poll(t *model.Topology, flow *model.Flow, held model.QueueSet) {
	w.follow(t, flow)
	at := t.Snapshot.TakenAt
	on := !t.Snapshot.Overview.StatsOff && t.Snapshot.Overview.RatesMode != "none"
	var changes []change
	for _, ref := range w.order {
		q, ok := t.Queues[ref]
		if !ok {
			continue
		}
		p := w.places[ref]
		if held[ref] {
			p.heldAt = at
		}
		if p.stats.restarted(q) {
			w.redeclared(p, at)
		}

		fresh := p.stats.update(q, on)
		if w.began.IsZero() || at.Sub(w.began) < countedFirst {
			fresh = handed{} // what the statistics report now may have happened earlier
		}

		if at.Sub(p.fastAt) > counting {
			if ch, ok := p.read(at, t.Snapshot.Took, model.QueueCounts{
				Ready: q.Ready, Consumers: q.Consumers, Held: held[ref],
			}, false); ok {
				changes = append(changes, ch)
			}
		}

		if p.consumed && on {
			second := p.trace.at(at)
			second.depth, second.moves = p.ready, true
			second.came += fresh.came
			second.went += fresh.delivered
		}

		if n := fresh.delivered; n > 0 && p.role == model.WorkerRole && at.Sub(p.heldAt) > model.LateStatistics {
			m := w.note(MoveDelivery, ref, n, at)
			m.Acked += fresh.acked
		}

		w.compare(p, at, t.Snapshot.Took)
	}

	if w.began.IsZero() {
		w.began = at
	}

	w.move(changes, at)
	for _, ref := range w.order {
		w.assignArrivals(w.places[ref], at)
	}

	w.miss(at)
}

// restarted reports whether a queue's totals belong to a new queue of the same name: they fell, or are gone.
func (s *stats) restarted(q *model.Queue) bool {
	fell := func(before, after model.Opt[int64]) bool { return before.Known() && after.Or(-1) < before.Or(0) }
	return s.seen && s.on && (fell(s.published, q.Published) || fell(s.acked, q.Acked) || fell(s.noAck, q.DeliveredNoAck))
}

// redeclared forgets a queue that was deleted and declared again: its messages did not move.
func (w *Watch) redeclared(p *watched, at time.Time) {
	for _, m := range w.log {
		if m.Queue == p.ref && (m.Kind == MoveHop || m.Kind == MoveLeft) && at.Sub(m.Until) < model.LateStatistics &&
			m.arrived() == 0 {
			m.Redeclared = true
			p.went -= m.N
		}
	}

	*p = watched{place: p.place, came: p.came, went: p.went, trace: p.trace, leftAt: at}
}

func (m *LoggedMove) arrived() (n int64) {
	for _, r := range m.To {
		n = max(n, r.N)
	}
	return n
}

// handed is what arrived and what consumers received since the last poll.
type handed struct{ came, delivered, acked int64 }

// update takes over a queue's totals.
func (s *stats) update(q *model.Queue, on bool) (fresh handed) {
	before := *s
	s.seen, s.on, s.told, s.consumers = true, on, on && q.Consumers.Known(), q.Consumers.Or(0)
	s.unacked = q.Unacked
	s.published = q.Published
	s.acked = q.Acked
	s.noAck = q.DeliveredNoAck
	s.depth, _ = q.Depth()
	s.delivered = model.Unknown[int64]()

	if n, ok := q.Delivered.Get(); ok {
		s.delivered = model.Some(n - q.Redelivered.Or(0))
	}

	if before.seen && on {
		fresh.delivered = max(s.delivered.Or(0)-before.delivered.Or(0), 0)
		fresh.acked = max(s.acked.Or(0)-before.acked.Or(0), 0)
	}

	s.entered = model.Unknown[int64]()
	if ready, ok := q.Ready.Get(); ok && on {
		// Arrivals are in the queue or were delivered; those that publishers did not send are dead letters. Ready and totals
		// are from different moments: the sum is right when nothing moves.
		came := max(ready+s.delivered.Or(0), s.depth+q.Removed().Or(0))
		if before.entered.Known() {
			fresh.came = max(came-before.total, 0)
		}
		s.total = came
		s.entered = model.Some(came - s.published.Or(0))
		if !before.entered.Known() {
			s.first = came - s.published.Or(0)
		}
	}

	return fresh
}

// publishedBy is how many messages publishers had sent to a queue at some moment, no later than until.
type publishedBy struct {
	at, until time.Time
	total     int64
}

// compare keeps the publishers' total of a poll until a count is newer than all of it: statistics mostly lag, but not
// always, and messages in them that the next count will still see were not hidden from the counts.
func (w *Watch) compare(p *watched, at time.Time, took time.Duration) {
	published := p.stats.published.Or(0) // reported from the first one on
	if !p.stats.told || !p.fast || p.consumed || p.bounded || at.Sub(p.fastAt) > counting || w.began.IsZero() ||
		at.Sub(w.began) < w.settled(p) {
		return
	}
	if !p.stats.base.Known() {
		p.stats.base = model.Some(published)
	}
	if !p.total.Known() { // otherwise the older one is compared first
		p.total = model.Some(publishedBy{at, at.Add(took), published})
	}

	w.unseen(p, 0)
}

// unseen adds messages that came and left between the same two counts: publishers have sent more than was seen
// arriving. coming is what the last count saw, not yet included in what came.
func (w *Watch) unseen(p *watched, coming int64) {
	told, ok := p.total.Get()
	if !ok || p.fastAt.Before(told.until) {
		return
	}
	p.total = model.Unknown[publishedBy]()
	n := told.total - p.stats.base.Or(0) - p.came - coming
	if n <= 0 || p.consumed || p.fastAt.Sub(p.heldAt) < w.settled(p) {
		return
	}
	p.came += n
	p.went += n
	p.leftAt = told.until
	p.steps = append(p.steps, step{told.at, n, n, true})
	if there := min(n, p.line.size()); there > 0 {
		p.line.removeHead(there)
		p.lawless = max(p.lawless-there, 0)
		p.line.add(there, time.Time{}, told.until)
	}

	kind := MoveLeft
	if p.buffer {
		kind = MoveHop
	}

	w.logMove(kind, p.ref, n, told.at).Late = true
}

// assignArrivals assigns arrivals in a queue with consumers, known from statistics, to the hops that lead there.
func (w *Watch) assignArrivals(p *watched, at time.Time) {
	entered, ok := p.stats.entered.Get()
	if !ok || !p.consumed {
		return
	}
	if n := entered - p.stats.first - p.stats.allotted; n > 0 {
		w.match(p.ref, n, at, 5*model.LateStatistics)
	}
}

// miss finds messages that left a buffer and certainly arrived nowhere. It requires that nothing else can explain it:
// the buffer holds nothing unacknowledged and keeps no dead letters, the next queue accepts everything, nothing was
// taken from it, and the statistics of all of them are newer.
func (w *Watch) miss(at time.Time) {
	for _, m := range w.log {
		p := w.places[m.Queue]
		if m.Kind != MoveHop || m.Late || m.Own || m.Redeclared || m.vague || !m.exact || m.kept || p == nil || !p.stats.on ||
			at.Sub(m.Until) > lookedAt {
			continue
		}
		if !p.fast || p.stats.unacked.Or(1) > 0 || !p.heldAt.Before(m.At.Add(-model.LateStatistics)) {
			continue
		}
		for r := range model.Each(m.To) {
			t := w.places[r.Queue]
			if t == nil || !t.fast || t.bounded || t.buffer || !t.stats.on ||
				t.heldAt.After(m.At.Add(-model.LateStatistics)) || t.went != r.went || at.Sub(m.Until) < w.settled(p, t) {
				continue
			}
			if q, ok := w.topology.Queue(r.Queue); !ok || q.Type == model.Stream {
				continue
			}
			start, known := r.start.Get()
			if !known || t.stats.entered.Or(-1) > start+r.N {
				continue // more was delivered than counted: the missing messages may be among it
			}
			r.Missing = m.N - r.N
		}
	}
}

// settled returns how long statistics take to show what happened in these queues.
func (w *Watch) settled(queues ...*watched) time.Duration {
	for _, p := range queues {
		if w.topology.Known(p.ref).Type == model.Quorum {
			return model.LateStatistics + laterQuorum
		}
	}

	return model.LateStatistics
}
