package watch

import (
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

const (
	joinedWithin = time.Second            // movements at one place within this time are logged as one
	matchedAfter = 2 * time.Second        // an arrival may be seen this long before its departure
	matchedUntil = 3 * time.Second        // and this long after it
	lookedAt     = time.Minute            // another tool returns within this time what it peeks at
	heldLeast    = 500 * time.Millisecond // less may be an arrival that was counted after its departure
	loggedMoves  = 300
)

// move works out what changes mean together: first departures, with which arrivals are then matched.
func (w *Watch) move(changes []change, at time.Time) {
	var hops []*LoggedMove
	for ch := range model.Each(changes) {
		p, gone := ch.watched, ch.gone
		p.came, p.went = p.came+ch.came, p.went+gone
		p.steps = append(p.steps, step{at, ch.came, gone, false})
		if gone > 0 || ch.taken > 0 {
			p.leftAt = at
		}

		if !p.consumed {
			second := p.trace.at(at)
			second.came += ch.came
			second.went += gone
		}

		switch {
		case gone > 0 && p.buffer:
			m := w.hop(ch, gone, at)
			m.vague = m.vague || ch.forced > 0
			hops = append(hops, m)
		case gone > 0:
			m := w.note(MoveLeft, p.ref, gone, at)
			m.Own = m.Own || ch.own
			m.taken.join(ch.left)
		}

		if ch.taken > 0 {
			w.note(MoveTaken, p.ref, ch.taken, at)
		}
	}

	for i := range changes {
		changes[i].came -= w.match(changes[i].watched.ref, changes[i].came, at, matchedUntil)
	}

	for i := range changes {
		p, n := changes[i].watched, changes[i].came
		n -= w.givenBack(p, min(changes[i].seen, n), at)
		if n > 0 {
			w.note(p.arrival(), p.ref, n, at)
		}
	}

	for _, m := range hops {
		w.reclaim(m, at)
	}

	for ch := range model.Each(changes) {
		if ch.forced > 0 && w.unlikely(ch.watched, at) {
			ch.watched.lawless = ch.watched.line.size() // something keeps them longer than their TTL, which is then useless here
		}
	}

	for _, p := range w.places {
		p.steps = slices.DeleteFunc(p.steps, func(s step) bool { return at.Sub(s.at) >= rateSpan })
	}
}

// unlikely reports whether messages said to have left a buffer should have been seen arriving, but were not.
func (w *Watch) unlikely(p *watched, at time.Time) bool {
	if !p.exact {
		return false
	}
	missing := false
	for _, target := range p.targets {
		if t := w.places[target]; t.consumed || !t.fast || t.bounded || t.buffer || at.Sub(t.fastAt) > counting {
			return false
		}
		w.open(target, at, 0, func(m *LoggedMove, _ *Reached) { missing = missing || m.Queue == p.ref })
	}

	return missing
}

// arrival returns what an arrival in a queue means.
func (p *watched) arrival() MoveKind {
	switch {
	case p.mixed:
		return MoveEither
	case p.role == model.RetryBuffer:
		return MoveReturn
	case p.role == model.FailedRole:
		return MoveGivenUp
	}

	return MoveArrival
}

// note adds to the movement of the same kind at the same queue, or begins one.
func (w *Watch) note(kind MoveKind, ref model.QueueRef, n int64, at time.Time) *LoggedMove {
	for _, m := range slices.Backward(w.log) {
		if at.Sub(m.At) >= joinedWithin {
			break
		}
		if m.Kind == kind && m.Queue == ref && !m.Late {
			m.N += n
			m.Until = at
			return m
		}
	}

	return w.logMove(kind, ref, n, at)
}

func (w *Watch) logMove(kind MoveKind, ref model.QueueRef, n int64, at time.Time) *LoggedMove {
	m := &LoggedMove{At: at, Until: at, Kind: kind, Queue: ref, N: n}
	w.log = append(w.log, m)
	w.log = w.log[max(len(w.log)-loggedMoves, 0):]
	return m
}

// hop logs what left a buffer.
func (w *Watch) hop(ch *change, gone int64, at time.Time) *LoggedMove {
	p := ch.watched
	logged := len(w.log)
	m := w.note(MoveHop, p.ref, gone, at)
	if len(w.log) > logged || m.N == gone { // a new one
		m.waited, m.exact, m.kept = ch.waited, p.exact, w.topology.Settings(p.ref).KeepsDeadLetters()
		m.early = true
		for _, target := range p.targets {
			r := Reached{Queue: target}
			if t := w.places[target]; t != nil {
				r.start, r.went = t.stats.entered, t.went
			}
			m.To = append(m.To, r)
		}
	} else {
		m.waited = m.waited.and(ch.waited)
	}

	m.Own = m.Own || ch.own
	m.early = m.early && p.notDue(ch)
	m.taken.join(ch.left)
	return m
}

// notDue reports whether nothing that left can have waited out the queue's TTL.
func (p *watched) notDue(ch *change) bool {
	ttl, ok := p.ttl.Get()
	if !ok {
		return false
	}
	for _, m := range ch.left.earliest {
		if m.at.IsZero() || ch.to.Sub(m.at) >= ttl-ttlSlack {
			return false
		}
	}

	return true
}

// open iterates over the hops whose messages may still arrive in a queue, oldest first.
func (w *Watch) open(queue model.QueueRef, at time.Time, within time.Duration, each func(*LoggedMove, *Reached)) {
	for _, m := range w.log {
		if m.Kind != MoveHop || m.Late || m.Redeclared || at.Sub(m.Until) > within {
			continue
		}
		for r := range model.Each(m.To) {
			if r.Queue == queue && r.N < m.N {
				each(m, r)
			}
		}
	}
}

// match assigns arrivals in a queue to the hops that lead there, oldest first, and returns how many it assigned.
func (w *Watch) match(queue model.QueueRef, n int64, at time.Time, within time.Duration) (given int64) {
	if p := w.places[queue]; !p.fast {
		within = max(within, model.LateStatistics) // polls see each queue at a different time
	}

	w.open(queue, at, within, func(m *LoggedMove, r *Reached) {
		part := min(m.N-r.N, n-given)
		r.N += part
		r.Missing = min(r.Missing, m.N-r.N)
		given += part
	})

	if given > 0 {
		w.places[queue].stats.allotted += given
	}

	return given
}

// reclaim assigns to a hop the arrivals behind it that were seen just before it.
func (w *Watch) reclaim(m *LoggedMove, at time.Time) {
	for r := range model.Each(m.To) {
		for j := len(w.log) - 1; j >= 0 && r.N < m.N; j-- {
			a := w.log[j]
			if at.Sub(a.At) > matchedAfter+joinedWithin {
				break
			}
			if a.Queue != r.Queue || a.Late || at.Sub(a.Until) > matchedAfter || !a.Kind.arrives() {
				continue
			}
			part := min(m.N-r.N, a.N)
			r.N += part
			if p := w.places[r.Queue]; p != nil {
				p.stats.allotted += part
			}
			if a.N -= part; a.N == 0 {
				w.log = slices.Delete(w.log, j, j+1)
			}
		}
	}
}

// givenBack recognizes another tool's look: as many messages as left and arrived nowhere are back. It returns how many
// of n these are.
func (w *Watch) givenBack(p *watched, n int64, at time.Time) int64 {
	if n == 0 || p.consumed {
		return 0
	}
	for _, m := range slices.Backward(w.log) {
		if at.Sub(m.Until) > lookedAt {
			break
		}
		if at.Sub(m.Until) < heldLeast || m.Queue != p.ref || m.N != n || m.Kind != MoveHop && m.Kind != MoveLeft ||
			m.Late || m.Own || m.Redeclared {
			continue
		}
		if slices.ContainsFunc(m.To, func(r Reached) bool { return r.N > 0 }) {
			continue
		}
		if p.ttl.Known() && m.waited.least.Known() && !m.early {
			continue // they had waited as long as they should
		}
		if m.Kind == MoveHop && slices.ContainsFunc(m.To, func(r Reached) bool { return w.places[r.Queue].consumed }) {
			m.vague = true // it may have been that, or an expiry and new arrivals
			continue
		}

		p.line.takeLast(n)
		p.line.join(m.taken)
		p.came, p.went = p.came-n, p.went-n
		p.forget(m, at, n)
		m.Kind = MoveLook
		m.To = nil
		m.taken = waitingLine{}
		m.waited = span{model.Some(at.Sub(m.Until)), model.Some(at.Sub(m.Until))}
		return n
	}

	return 0
}

// forget removes from the rates what was not a movement.
func (p *watched) forget(m *LoggedMove, at time.Time, n int64) {
	for s := range model.Each(p.steps) {
		if s.at.Equal(at) {
			s.came -= min(n, s.came)
		}
		if !s.at.Before(m.At) && !s.at.After(m.Until) {
			s.went = 0
		}
	}
}
