package watch

import (
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

const (
	ttlSlack  = time.Second            // a message whose TTL ran out this long ago has left
	vagueWait = 900 * time.Millisecond // a waiting time is reported if it is known at least this exactly
	counting  = 3 * time.Second        // a queue that was not counted for this long is followed by polls
)

// Watch follows what moves along a flow: from counts of its queues, several a second, and from the polls, which report
// late what counts cannot see. The broker keeps no statistic of dead-letter hops, so everything is derived:
//
// In a queue without consumers, growth of its count has arrived, and a decrease has left. Messages that come and leave
// between the same two counts hide each other; those that waited out the TTL of the queue have certainly left, and the
// publishers' total later shows that more came. Departures from a buffer are matched with arrivals in the queues behind
// it. A queue with consumers delivers arrivals at once: only the totals of deliveries show them, some seconds later.
//
// A watch belongs to one goroutine.
type Watch struct {
	topology *model.Topology
	places   map[model.QueueRef]*watched
	order    []model.QueueRef
	log      []*LoggedMove // newest last
	began    time.Time
}

// watched is one queue of the flow, or one behind its buffers.
type watched struct {
	place

	at       time.Time // of the last comparable count
	ready    int64
	fast     bool // it was not a poll's
	consumed bool
	own      bool // dlxtop held messages since then
	heldAt   time.Time
	fastAt   time.Time
	leftAt   time.Time // when something was last seen leaving
	line     waitingLine
	lawless  int64 // of line: how many may have a TTL other than the queue's current one
	came     int64
	went     int64
	steps    []step // within the last rateSpan
	trace    trace

	stats stats
	total model.Opt[publishedBy] // not compared with a count yet
}

// place is a queue's part in the flow, and its settings.
type place struct {
	ref     model.QueueRef
	role    model.Role
	mixed   bool // a retry buffer that publishers use too
	buffer  bool
	targets []model.QueueRef // for a buffer: where expired messages go
	exact   bool             // to all of them, and to no others
	ttl     model.Opt[time.Duration]
	ttlFrom model.SourceKind
	bounded bool
}

// step is what one count saw, or what only a poll showed.
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
	seen     int64 // of came, the growth of the count: the rest was hidden by departures
	gone     int64
	forced   int64 // of gone, those known from the TTL alone
	left     waitingLine
	waited   span
	taken    int64 // by consumers
	own      bool
}

// New begins to follow a flow. t is the last poll.
func New(t *model.Topology, flow *model.Flow) *Watch {
	w := &Watch{places: map[model.QueueRef]*watched{}}
	w.follow(t, flow)
	return w
}

// follow updates the watch to the flow's current structure.
func (w *Watch) follow(t *model.Topology, flow *model.Flow) {
	w.topology = t
	w.order = w.order[:0]
	for _, ref := range flow.Queues() {
		w.add(ref)
	}

	for _, b := range flow.Buffers {
		for _, ref := range b.Queues() {
			p := w.places[ref]
			p.buffer = true
			p.targets = nil
			p.exact = false
			if hop, ok := t.Hop(ref, model.Expired); ok {
				p.targets = hop.Route.Queues
				p.exact = hop.Route.Exact && !hop.Route.Unread && !hop.Route.Delays
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
		p.mixed = fed && p.role == model.RetryBuffer
		s := t.Settings(ref)
		ttl := model.Unknown[time.Duration]()
		if s.TTL.Set && s.TTL.Value > 0 {
			ttl = model.Some(s.TTL.Value)
		}

		if ttl != p.ttl || s.TTL.Source.Kind != p.ttlFrom {
			p.ttl, p.ttlFrom = ttl, s.TTL.Source.Kind
			p.start(p.ready, p.at) // waiting messages may still have the old one
		}

		p.bounded = s.Bounded()
	}
}

func (w *Watch) add(ref model.QueueRef) {
	if w.places[ref] == nil {
		w.places[ref] = &watched{place: place{ref: ref}}
	}
	if !slices.Contains(w.order, ref) {
		w.order = append(w.order, ref)
	}
}

// Queues returns the queues to count: those of the flow, and those behind its buffers.
func (w *Watch) Queues() []model.QueueRef { return w.order }

// age returns how long the watch has received counts or polls.
func (w *Watch) age(now time.Time) time.Duration {
	if w.began.IsZero() {
		return 0
	}
	return now.Sub(w.began)
}

// Log returns the movements, newest last. It changes with the next count.
func (w *Watch) Log() []*LoggedMove { return w.log }

// Total returns how many messages entered and left a queue since the watch began, as far as they were seen, without
// what consumers took.
func (w *Watch) Total(ref model.QueueRef) (came, went int64) {
	if p := w.places[ref]; p != nil {
		return p.came, p.went
	}
	return 0, 0
}

// Count updates the counts of some queues. At that moment the others are unknown.
func (w *Watch) Count(c model.Counts) {
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
func (p *watched) read(at time.Time, took time.Duration, q model.QueueCounts, fast bool) (change, bool) {
	if q.Held {
		p.own, p.heldAt = true, at
		return change{}, false // dlxtop's own look is not a movement: the next count is compared with the one before it
	}

	n, known := q.Ready.Get()
	if !known || p.fast == fast && !at.After(p.at) {
		return change{}, false
	}
	was := p.consumed
	before := p.ready
	first := p.at.IsZero() || p.fast != fast
	ch := change{watched: p, from: p.at, to: at.Add(took), own: p.own}
	p.at = at
	p.ready = n
	p.fast = fast
	p.own = false

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
	var notBefore time.Time // messages present at the last count came after this moment
	if limited && fast && p.lawless == 0 {
		notBefore = ch.from.Add(-ttl - ttlSlack)
		// Messages whose TTL had run out have left, and others came before and hid that.
		if n := p.line.overdue(notBefore); n > 0 {
			ch.leave(span{model.Some(ttl), model.Some(ttl)}, p.line.removeHead(n), n)
			ch.came, ch.forced = ch.came+n, n
			p.line.add(n, notBefore, ch.from)
		}
	}

	if grown < 0 {
		burst := p.line.burst()
		left := p.line.removeHead(-grown)
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

// start begins a line with messages that came at an unknown earlier time.
func (p *watched) start(n int64, at time.Time) {
	p.line, p.lawless = waitingLine{}, 0
	p.line.add(n, time.Time{}, at)
	if p.ttlFrom != model.FromArgument {
		p.lawless = n // a policy's TTL does not apply to earlier messages in a classic queue
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
