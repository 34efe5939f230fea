package model

import (
	"slices"
	"time"
)

const (
	joinedWithin = time.Second            // movements at one place within so long are told as one
	matchedAfter = 2 * time.Second        // an arrival may be seen so long before its departure
	matchedUntil = 3 * time.Second        // and so long after it
	ttlSlack     = time.Second            // a message whose TTL ran out so long ago has left
	vagueWait    = 900 * time.Millisecond // a waiting time is told when it is known at least so well
	counting     = 3 * time.Second        // a queue that was not counted for so long is followed by polls
	lookedAt     = time.Minute            // another tool gives back within so long what it looks at
	heldLeast    = 500 * time.Millisecond // less may be an arrival that is counted after its departure
	rateSpan     = 10 * time.Second
	nowSpan      = time.Second
	loggedMoves  = 300
)

// Watch follows what moves along a flow: from counts of its queues, several a second, and from the polls, which know late what counts
// cannot see. The broker keeps no statistic of dead-letter hops, so all of it is derived:
//
// In a queue without consumers, what its count grew by has arrived, and what it fell by has left. Messages that come and leave between
// the same two counts hide each other; those that waited out the TTL of the queue have certainly left, and the publishers' total
// tells later that more came. What left a buffer is matched with what arrives in the queues behind it. A queue with consumers hands
// out what arrives at once: only the totals of deliveries tell, some seconds later, that it came.
//
// A watch belongs to one goroutine.
type Watch struct {
	topology *Topology
	places   map[QueueRef]*watched
	order    []QueueRef
	log      []*LoggedMove // the newest last
	began    time.Time
}

// watched is one queue of the flow, or one behind its buffers.
type watched struct {
	ref     QueueRef
	role    Role
	mixed   bool // a retry buffer that publishers use too
	buffer  bool
	targets []QueueRef // of a buffer: what expires goes there
	exact   bool       // to all of them, and to no others
	ttl     Opt[time.Duration]
	ttlFrom SourceKind
	bounded bool

	at       time.Time // of the last count that can be compared with
	ready    int64
	fast     bool // it was no poll's
	consumed bool
	own      bool // dlxtop held messages since
	heldAt   time.Time
	fastAt   time.Time
	line     waitingLine
	lawless  int64 // of line: so many may have another TTL than the queue has now
	came     int64
	went     int64
	steps    []step // of the last rateSpan
	trace    trace

	stats stats
	total Opt[publishedBy] // not yet compared with a count
}

// step is what one count saw, or what a poll told that no count had seen.
type step struct {
	at         time.Time
	came, went int64
	late       bool
}

// change is what happened to a queue between two counts.
type change struct {
	watched  *watched
	from, to time.Time
	came     int64
	seen     int64 // of came, by which the count grew: the rest hid behind what left
	gone     int64
	forced   int64 // of gone, by the TTL alone
	left     waitingLine
	waited   span
	taken    int64 // by consumers
	own      bool
}

// NewWatch begins to follow a flow. t is the last poll.
func NewWatch(t *Topology, flow *Flow) *Watch {
	w := &Watch{places: map[QueueRef]*watched{}}
	w.follow(t, flow)
	return w
}

// follow takes over how the flow is made now.
func (w *Watch) follow(t *Topology, flow *Flow) {
	w.topology = t
	w.order = w.order[:0]
	for _, ref := range flow.Queues() {
		w.add(ref)
	}
	for i := range flow.Buffers {
		for _, ref := range flow.Buffers[i].Queues() {
			p := w.places[ref]
			p.buffer, p.targets, p.exact = true, nil, false
			if hop, ok := t.hop(ref, Expired); ok {
				p.targets, p.exact = hop.Route.Queues, hop.Route.Exact && !hop.Route.Unread && !hop.Route.Delays
			}
			for _, target := range p.targets {
				w.add(target)
			}
		}
	}
	fed := t.FedThroughRetries(flow)
	for _, ref := range w.order {
		p := w.places[ref]
		p.role = flow.Role(ref)
		p.mixed = fed && p.role == RetryBuffer
		s := t.Settings(ref)
		ttl := Unknown[time.Duration]()
		if s.TTL.Set && s.TTL.Value > 0 {
			ttl = Some(s.TTL.Value)
		}
		if ttl != p.ttl || s.TTL.Source.Kind != p.ttlFrom {
			p.ttl, p.ttlFrom = ttl, s.TTL.Source.Kind
			p.start(p.ready, p.at) // what waits may still have the old one
		}
		p.bounded = s.Bounded()
	}
}

func (w *Watch) add(ref QueueRef) {
	if w.places[ref] == nil {
		w.places[ref] = &watched{ref: ref}
	}
	if !slices.Contains(w.order, ref) {
		w.order = append(w.order, ref)
	}
}

// Queues are the queues to count: those of the flow, and those behind its buffers.
func (w *Watch) Queues() []QueueRef { return w.order }

// Age is for how long the watch has seen counts or polls.
func (w *Watch) Age(now time.Time) time.Duration {
	if w.began.IsZero() {
		return 0
	}
	return now.Sub(w.began)
}

// Log is what moved, the newest last. It changes with the next count.
func (w *Watch) Log() []*LoggedMove { return w.log }

// Total is how many messages came into and went from a queue since the watch began, as far as they were seen. What consumers
// take is not in it.
func (w *Watch) Total(ref QueueRef) (came, went int64) {
	if p := w.places[ref]; p != nil {
		return p.came, p.went
	}
	return 0, 0
}

// Count takes in counts of some of the queues. A queue that is not among them is unknown at that moment.
func (w *Watch) Count(c Counts) {
	var changes []change
	for _, ref := range w.order {
		q, ok := c.Queues[ref]
		if !ok {
			continue
		}
		p := w.places[ref]
		p.fastAt = c.At
		ch, ok := p.read(c.At, c.Took, q, true)
		if ok {
			changes = append(changes, ch)
		}
		w.unseen(p, ch.came)
	}
	if w.began.IsZero() {
		w.began = c.At
	}
	w.move(changes, c.At)
}

// read compares a count with the last one.
func (p *watched) read(at time.Time, took time.Duration, q QueueCounts, fast bool) (change, bool) {
	if q.Held {
		p.own, p.heldAt = true, at
		return change{}, false // dlxtop's own look is no movement: the next count is compared with the one before it
	}
	n, known := q.Ready.Get()
	if !known || p.fast == fast && !at.After(p.at) {
		return change{}, false
	}
	was, before, first := p.consumed, p.ready, p.at.IsZero() || p.fast != fast
	ch := change{watched: p, from: p.at, to: at, own: p.own}
	p.at, p.ready, p.fast, p.own = at, n, fast, false
	if consumers, known := q.Consumers.Get(); known {
		p.consumed = consumers > 0
	} else {
		p.consumed = p.stats.consumers > 0
	}
	if first || was || p.consumed {
		p.start(n, at)
	}
	second := p.trace.at(at)
	second.depth = n
	if first {
		return change{}, false
	}
	second.moves = second.moves || !p.consumed
	grown := n - before
	if was || p.consumed {
		ch.came, ch.taken = max(grown, 0), max(-grown, 0)
		return ch, grown != 0
	}
	ttl, limited := p.ttl.Get()
	var notBefore time.Time // what was there at the last count came after this moment
	if limited && fast && p.lawless == 0 {
		notBefore = ch.from.Add(-ttl - ttlSlack)
		// Those whose TTL had run out then have left, and others that hid this came before.
		if n := p.line.overdue(notBefore); n > 0 {
			ch.leave(span{Some(ttl), Some(ttl)}, p.line.take(n), n)
			ch.came, ch.forced = ch.came+n, n
			p.line.add(n, notBefore, ch.from)
		}
	}
	if grown < 0 {
		burst := p.line.burst()
		left := p.line.take(-grown)
		p.lawless = max(p.lawless+grown, 0)
		wait := left.waitedFor(ch.from, ch.to, notBefore)
		if !burst && !(limited && wait.near(ttl)) || limited && wait.most.Or(0) > ttl+vagueWait/2 {
			wait = span{} // others may have left unseen while more came: then these came later than it seems
		}
		ch.leave(wait, left, -grown)
	}
	if grown > 0 {
		p.line.add(grown, ch.from, at.Add(took))
		ch.came, ch.seen = ch.came+grown, grown
	}
	return ch, ch.came > 0 || ch.gone > 0
}

// start begins a line with what is there, of which only is known that it came before.
func (p *watched) start(n int64, at time.Time) {
	p.line, p.lawless = waitingLine{}, 0
	p.line.add(n, time.Time{}, at)
	if p.ttlFrom != FromArgument {
		p.lawless = n // a policy's TTL does not hold for what was in a classic queue before
	}
}

// leave adds messages that left after some time.
func (ch *change) leave(after span, left waitingLine, n int64) {
	if ch.gone == 0 {
		ch.waited = after
	} else {
		ch.waited = ch.waited.and(after)
	}
	ch.left.join(left)
	ch.gone += n
}

// move works out what changes mean together: departures first, which arrivals are then matched with.
func (w *Watch) move(changes []change, at time.Time) {
	var hops []*LoggedMove
	for i := range changes {
		ch := &changes[i]
		p, gone := ch.watched, ch.gone
		p.came, p.went = p.came+ch.came, p.went+gone
		p.steps = append(p.steps, step{at, ch.came, gone, false})
		if !p.consumed {
			second := p.trace.at(at)
			second.came, second.went = second.came+ch.came, second.went+gone
		}
		switch {
		case gone > 0 && p.buffer:
			m := w.hop(ch, gone)
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
	for i := range changes {
		if ch := &changes[i]; ch.forced > 0 && w.unlikely(ch.watched, at) {
			ch.watched.lawless = ch.watched.line.size() // something keeps them longer than their TTL: it tells nothing here
		}
	}
	for _, p := range w.places {
		old := 0
		for old < len(p.steps) && at.Sub(p.steps[old].at) >= rateSpan {
			old++
		}
		p.steps = p.steps[old:]
	}
}

// unlikely reports whether what is said to have left a buffer would have been seen to arrive, and was not.
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

// arrival is what an arrival means in a queue.
func (p *watched) arrival() MoveKind {
	switch {
	case p.mixed:
		return MoveEither
	case p.role == RetryBuffer:
		return MoveReturn
	case p.role == FailedRole:
		return MoveGivenUp
	}
	return MoveArrival
}

// note adds to the movement of the same kind at the same queue, or begins one.
func (w *Watch) note(kind MoveKind, ref QueueRef, n int64, at time.Time) *LoggedMove {
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
	m := &LoggedMove{At: at, Until: at, Kind: kind, Queue: ref, N: n}
	w.keep(m)
	return m
}

func (w *Watch) keep(m *LoggedMove) {
	w.log = append(w.log, m)
	if extra := len(w.log) - loggedMoves; extra > 0 {
		w.log = append([]*LoggedMove(nil), w.log[extra:]...)
	}
}

// hop notes what left a buffer.
func (w *Watch) hop(ch *change, gone int64) *LoggedMove {
	p := ch.watched
	logged := len(w.log)
	m := w.note(MoveHop, p.ref, gone, ch.to)
	if len(w.log) > logged || m.N == gone { // a new one
		m.waited, m.exact = ch.waited, p.exact
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

// notDue reports whether none of what left can have waited out the queue's TTL.
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

// open are the hops that something may still arrive of in a queue, the oldest first.
func (w *Watch) open(queue QueueRef, at time.Time, within time.Duration, each func(*LoggedMove, *Reached)) {
	for _, m := range w.log {
		if m.Kind != MoveHop || m.Late || m.Anew || at.Sub(m.Until) > within {
			continue
		}
		for i := range m.To {
			if r := &m.To[i]; r.Queue == queue && r.N < m.N {
				each(m, r)
			}
		}
	}
}

// match gives arrivals in a queue to the hops that lead there, the oldest first, and returns how many it gave.
func (w *Watch) match(queue QueueRef, n int64, at time.Time, within time.Duration) (given int64) {
	if p := w.places[queue]; !p.fast {
		within = max(within, lateStatistics) // polls tell each queue at a time of its own
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

// reclaim gives a hop the arrivals behind it that were seen just before it.
func (w *Watch) reclaim(m *LoggedMove, at time.Time) {
	for i := range m.To {
		r := &m.To[i]
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

// givenBack recognises that another tool looked: as many as left and arrived nowhere are there again. It returns how many of n
// these are.
func (w *Watch) givenBack(p *watched, n int64, at time.Time) int64 {
	if n == 0 || p.consumed {
		return 0
	}
	for _, m := range slices.Backward(w.log) {
		if at.Sub(m.Until) > lookedAt {
			break
		}
		if at.Sub(m.Until) < heldLeast || m.Queue != p.ref || m.N != n || m.Kind != MoveHop && m.Kind != MoveLeft || m.Late || m.Own || m.Anew {
			continue
		}
		if slices.ContainsFunc(m.To, func(r Reached) bool { return r.N > 0 }) {
			continue
		}
		if p.ttl.Known() && m.waited.least.Known() && !m.early {
			continue // they had waited for as long as they should
		}
		if m.Kind == MoveHop && slices.ContainsFunc(m.To, func(r Reached) bool { return w.places[r.Queue].consumed }) {
			m.vague = true // it may have been that, or an expiry and new arrivals: nobody can tell
			continue
		}
		p.line.takeLast(n)
		p.line.join(m.taken)
		p.came, p.went = p.came-n, p.went-n
		p.forget(m, at, n)
		m.Kind, m.To, m.taken = MoveLook, nil, waitingLine{}
		m.waited = span{Some(at.Sub(m.Until)), Some(at.Sub(m.Until))}
		return n
	}
	return 0
}

// forget takes back out of the rates what was no movement.
func (p *watched) forget(m *LoggedMove, at time.Time, n int64) {
	for i := range p.steps {
		s := &p.steps[i]
		if s.at.Equal(at) {
			s.came -= min(n, s.came)
		}
		if !s.at.Before(m.At) && !s.at.After(m.Until) {
			s.went = 0
		}
	}
}

// Rates are the messages per second that came into and went from a queue: over the last ten seconds, and over the last one. They are unknown
// for queues that are not counted, or have consumers: see the polls' movements.
func (w *Watch) Rates(ref QueueRef, now time.Time) (steady, latest Movement, ok bool) {
	p := w.places[ref]
	if p == nil || p.consumed || !p.fast || now.Sub(p.fastAt) > counting || w.began.IsZero() {
		return steady, latest, false
	}
	over := min(rateSpan, max(now.Sub(w.began), nowSpan))
	for _, s := range p.steps {
		if now.Sub(s.at) >= over {
			continue
		}
		add(&steady, s, over)
		switch {
		case s.late:
			add(&latest, s, over) // nobody knows when
		case now.Sub(s.at) < nowSpan:
			add(&latest, s, nowSpan)
		}
	}
	add(&steady, step{}, over)
	add(&latest, step{}, nowSpan)
	return steady, latest, true
}

// add adds what a step saw to rates over some time.
func add(m *Movement, s step, over time.Duration) {
	m.In = Some(m.In.Or(0) + float64(s.came)/over.Seconds())
	m.Out = Some(m.Out.Or(0) + float64(s.went)/over.Seconds())
}
