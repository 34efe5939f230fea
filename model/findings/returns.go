package findings

import (
	"slices"

	"github.com/dlxtop/dlxtop/model"
)

// Findings about dead letters that come straight back, without a buffer. RabbitMQ drops a message that returns to a
// queue without a rejection since it was there, even at its first expiry or when it is pushed out; it delivers a
// rejected one again at once, after each rejection (all versions, classic and quorum).

func (t *checking) findReturns() {
	walk := t.circles(func(at model.QueueRef) []model.QueueRef { // through queues that applications consume
		q, _ := t.Queue(at)
		hop, ok := t.Hop(at, model.Rejected)
		if !q.Consumed() || !ok || !hop.Route.Exact || slices.Contains(hop.Route.Queues, at) {
			return nil
		}
		return hop.Route.Queues
	})

	for q := range t.EachQueue() {
		circle := []model.QueueRef{q.QueueRef}
		f, returns := t.returning(q)
		if !returns {
			if circle = walk(q.QueueRef); circle == nil {
				continue
			}
			f = passedAround(circle)
		}

		t.foundAt(circle[0], f)
		for _, ref := range circle {
			t.rounds[ref] = true
		}
	}
}

// returning returns the finding about a queue whose dead letters come back to it: all of them, or those with certain
// keys.
func (t *checking) returning(q *model.Queue) (f Finding, returns bool) {
	hop, ok := t.Hop(q.QueueRef, model.Rejected)
	if !ok || hop.Route.Delays || hop.Route.Exact && !slices.Contains(hop.Route.Queues, q.QueueRef) {
		return f, false
	}

	s := t.Settings(q.QueueRef)
	back, elsewhere := ways{}, ways{}
	handing, _ := t.Handing(model.ExchangeRef{VHost: q.VHost, Name: s.DLX.Value})
	switch {
	case hop.Route.Exact:
		back.add("", hop.Route.Queues, q.QueueRef)
	case handing.Kind == "headers": // a death keeps the headers that routed a message
		for b := range t.BindingsTo(q.QueueRef) {
			if b.Source == s.DLX.Value {
				back.add("", []model.QueueRef{q.QueueRef}, q.QueueRef)
			}
		}
	default:
		for _, k := range t.ArrivalKeys(q.QueueRef) {
			route := t.DeadLetterWith(q.QueueRef, k.Key)
			way := &elsewhere
			if route.Exact && slices.Contains(route.Queues, q.QueueRef) {
				way = &back
			}
			way.add(k.Name(), route.Queues, q.QueueRef)
		}
	}

	if !back.returns {
		return t.unclaimed(q, hop, handing.Alternate)
	}

	level, which := LevelError, spell("%s", q)
	if len(elsewhere.keys) > 0 {
		level = LevelWarning
		which += " with " + namedKeys(back.keys)
	}

	letters := "dead letters of " + which
	f = Finding{
		Code:     "dead-letters-return",
		Level:    level,
		Exchange: s.DLX.Value,
		Message: letters + " come back to it: RabbitMQ drops what expires, and delivers what is rejected again at once, " +
			"without end",
		Evidence: spell("%s, leads to %s; message-ttl %s", deadLettering(s), hop.Route.Queues, s.TTL),
		Remedy: "lead dead letters to a failed queue, or to a buffer with a TTL that leads back: " +
			change(s.DLX.Source, "dead-letter-exchange"),
	}

	rests := t.IsFailed(q.QueueRef) && !t.Worked(q.QueueRef) && !takenAgain(q)
	switch {
	case rests && (s.TTL.Set || s.Bounded()):
		f.Level = LevelWarning
		f.Message = spell("failed messages in %s are lost when they expire or are pushed out: %s come back to it, and "+
			"RabbitMQ drops these", q, letters)
	case rests: // messages neither expire nor are rejected, unless an application takes them
		f.Level = LevelInfo
		f.Message = letters + " come back to it: what a person rejects there is in it again"
	case s.DLX.Value != "" && t.IsBuffer(q.QueueRef): // nothing is rejected there
		others := model.Without(hop.Route.Queues, func(ref model.QueueRef) bool { return ref == q.QueueRef })
		f.Level = LevelWarning
		f.Message = spell("what %s leads to %s reaches %s twice: at once, and when it has expired; RabbitMQ drops the "+
			"copy that comes back to %s", exchangeOf(s), which, others, q)
		f.Remedy = "unbind it from " + exchangeOf(s)
	case len(back.others) > 0:
		f.Message = spell("%s come back to it, too: what is rejected is delivered again at once, without end, and %s gets "+
			"a copy each time", letters, back.others)

		if slices.ContainsFunc(back.others, func(ref model.QueueRef) bool {
			return t.IsBuffer(ref) && slices.Contains(t.ExpiredTargets(ref), q.QueueRef)
		}) {
			f.Message += ", which comes back later: each failure makes more of them"
		}
	case s.KeepsDeadLetters():
		f.Message = letters + " come back to it: what expires stays in it, and what is rejected is delivered again at " +
			"once, without end"
	}

	return f, true
}

// unclaimed returns the finding about a queue with a TTL that an alternate exchange fills, and that expires to the
// exchange that had no queue for its messages.
func (t *checking) unclaimed(q *model.Queue, hop *model.Hop, alternate string) (f Finding, returns bool) {
	s := t.Settings(q.QueueRef)
	fills := func(b *model.Binding) bool { return alternate != "" && b.Source == alternate }
	if s.Key.Set || !s.TTL.Set || s.KeepsDeadLetters() {
		return f, false
	}
	if !slices.ContainsFunc(slices.Collect(t.BindingsTo(q.QueueRef)), fills) {
		return f, false
	}

	return Finding{
		Code:     "dead-letters-return",
		Level:    LevelWarning,
		Exchange: hop.Exchange,
		Message: spell("what no queue takes at %s is lost after %s in %s: it comes back, and RabbitMQ drops it, unless a "+
			"queue has been bound for its key meanwhile", hop.Exchange, s.TTL.Value, q),
		Evidence: spell("%s, whose alternate exchange %s leads to %s; no dead-letter-routing-key", deadLettering(s),
			alternate, q),
		Remedy: "lead what expires to a queue that keeps it: " + change(s.DLX.Source, "dead-letter-exchange"),
	}, true
}

// takenAgain reports whether an application polls a queue and gets the same messages again: faster than people look.
func takenAgain(q *model.Queue) bool {
	depth, _ := q.Depth()
	return q.Polled() && q.DeliverRate.Or(0)*loopSpan >= loopLeast*float64(max(depth, 1))
}

// ways are keys whose messages are routed alike.
type ways struct {
	keys    []string
	returns bool
	others  []model.QueueRef // queues that get a copy
}

func (w *ways) add(key string, queues []model.QueueRef, self model.QueueRef) {
	w.keys = append(w.keys, key)
	w.returns = w.returns || slices.Contains(queues, self)
	w.others = model.UnionOf(w.others, model.Without(queues,
		func(ref model.QueueRef) bool { return ref == self }))
}

func passedAround(circle []model.QueueRef) Finding {
	return Finding{
		Code:     "dead-letters-return",
		Message:  spell("messages that the workers of %s all reject go round between them at once, without end", circle),
		Evidence: "dead letters go through " + model.Names(circle) + " and back; each has consumers, none is a buffer",
	}
}

// change says how to change a queue's setting, given where it was made: an argument stays as long as the queue, and
// beats a policy; of two numbers the lower wins.
func change(from model.Source, key string) string {
	switch from.Kind {
	case model.FromPolicy, model.FromOperatorPolicy:
		return spell("change %s in the %s", key, from)
	}

	return spell("delete the queue and declare it with another x-%s (a policy does not change an argument)", key)
}
