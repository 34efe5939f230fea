package findings

import (
	"slices"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/story"
)

// Findings about circular ways through a buffer. RabbitMQ drops a message that would enter a queue for the second time
// without a rejection in between (all versions), but never ends a circle that contains a rejection.

const thenDropped = ": they return by expiry alone, and RabbitMQ then drops them"

// findCutCycles finds circles that a message can go round without being rejected. When the queue that would send it
// into another one for the second time keeps its dead letters, the message stays there.
func (t *checking) findCutCycles() {
	walk := t.circles(func(at model.QueueRef) []model.QueueRef {
		if targets := t.ExpiredTargets(at); t.Settings(at).TTL.Set && len(targets) == 1 {
			return targets
		}
		return nil
	})

	for q := range t.EachQueue() {
		t.findExpiredUnread(q)
		circle := walk(q.QueueRef)
		if len(circle) < 2 { // findReturns reports a circle of one queue
			continue
		}
		first := slices.IndexFunc(circle, func(ref model.QueueRef) bool {
			before := circle[(slices.Index(circle, ref)+len(circle)-1)%len(circle)]
			return !t.Settings(before).KeepsDeadLetters()
		})

		if first < 0 {
			continue
		}
		circle = slices.Concat(circle[first:], circle[:first])
		at := circle[0]
		f := Finding{
			Code:    "cycle-cut",
			Level:   LevelError,
			Message: spell("messages that expire in %s are lost after one round"+thenDropped, at),
			Evidence: "expires through " + model.Names(circle) +
				" and back, each with a message-ttl, with no rejection in between",
		}

		if worker, escapes := escape(t.Topology, circle); escapes {
			f.Level, at = LevelWarning, worker
			f.Message = spell("messages that wait in %s for longer than %s are lost"+thenDropped, worker,
				t.Settings(worker).TTL)
			f.Remedy = without(t.Settings(worker).TTL.Source, "message-ttl") + "; or lead what expires to a failed queue"
		}

		t.foundAt(at, f)
	}
}

// circles follow messages from one queue to the next, as long as next returns only one. Each call returns the circle
// that its walk closed, if any: only one walk passes each queue.
func (t *checking) circles(next func(model.QueueRef) []model.QueueRef) func(start model.QueueRef) []model.QueueRef {
	walked, walk := map[model.QueueRef]int{}, 0 // the walk that passed each queue first
	return func(at model.QueueRef) []model.QueueRef {
		walk++
		for path := []model.QueueRef(nil); ; {
			if walked[at] == walk {
				return path[slices.Index(path, at):]
			}
			targets := next(at)
			if walked[at] != 0 || len(targets) != 1 {
				return nil
			}
			walked[at] = walk
			path = append(path, at)
			at = targets[0]
		}
	}
}

// escape returns where messages may leave a circle before they expire, or with another key: the first queue that has,
// or may have, consumers.
func escape(t *model.Topology, circle []model.QueueRef) (worker model.QueueRef, escapes bool) {
	worker = circle[0]
	for _, ref := range slices.Backward(circle) {
		q, _ := t.Queue(ref)
		consumed := q.Consumers.Or(1) > 0
		if consumed {
			worker = ref
		}
		escapes = escapes || consumed || !t.Hops(ref)[0].Route.Exact
	}

	return worker, escapes
}

// findExpiredUnread finds messages that came into a buffer because they expired or were pushed out, as far as
// statistics show: the queue that dead-letters them there, and gets them back, has no consumers and has delivered none.
func (t *checking) findExpiredUnread(q *model.Queue) {
	buffer := behindUnread(t.Topology, q)
	if buffer == nil || buffer.Ready.Or(0) <= buffer.Published.Or(0) {
		return
	}
	t.foundAt(buffer.QueueRef, Finding{
		Code: "cycle-cut",
		Message: spell("%v message(s) in %s will be dropped on expiry if they expired in %s: without a rejection they do "+
			"not return", buffer.Ready.Or(0)-buffer.Published.Or(0), buffer, q),
		Evidence: spell("%s dead-letters to %s, has no consumers, and has delivered none", q, buffer),
		Remedy:   "look at them: dlxtop peek shows x-death; " + savedBy,
	})
}

// findCutAtLimits finds queues with a limit that pushes messages out, or gives them up, into a buffer that leads back:
// that is no rejection either.
func (t *checking) findCutAtLimits(q queue) {
	for _, exit := range cutExits(t.Topology, q.Queue) {
		f := Finding{
			Code: "cycle-cut", Evidence: limitOf(q),
			Remedy: "set overflow reject-publish, so that publishers see it",
		}

		switch exit.Reason {
		case model.Expired:
			continue // findExpiredUnread
		case model.DeliveryLimit:
			f.Level = infoIf(q.DeliveryLimit.Source.Kind == model.FromDefault)
			f.Evidence = "delivery-limit " + q.DeliveryLimit.String()
			f.Remedy = "let the worker reject them without requeue before: then they return"
		}

		f.Message = spell("messages that leave %s at its limit for %s are lost"+thenDropped, q, exit.Route.Queues)
		t.foundIn(q, f)
	}
}

// behindUnread returns the buffer behind a queue that has delivered nothing, which leads back to it; nil without one.
func behindUnread(t *model.Topology, q *model.Queue) *model.Queue {
	if q.Delivered.Or(0) > 0 || q.Consumers.Or(1) != 0 {
		return nil
	}
	for _, exit := range cutExits(t, q) {
		if exit.Reason == model.Expired {
			buffer, _ := t.Queue(exit.Route.Queues[0])
			return buffer
		}
	}

	return nil
}

// cutExits returns the ways out of a queue that lead back to it, through others, by expiry alone. findCutCycles reports
// queues with a TTL.
func cutExits(t *model.Topology, q *model.Queue) []model.Exit {
	return slices.DeleteFunc(t.Exits(q.QueueRef), func(exit model.Exit) bool {
		return exit.Fate != model.Cut || exit.Route.Queues[0] == q.QueueRef || t.Settings(q.QueueRef).TTL.Set
	})
}

// Unread returns the buffers behind queues that have delivered nothing, if they can be counted: statistics are late to
// show what they contain.
func Unread(t *model.Topology) (refs []model.QueueRef) {
	for q := range t.EachQueue() {
		buffer := behindUnread(t, q)
		if buffer == nil || len(refs) >= mostConfirmed {
			continue
		}
		if declare, _ := t.Countable(buffer.QueueRef); declare {
			refs = append(refs, buffer.QueueRef)
		}
	}

	return refs
}

const savedBy = "replay them before they expire (a replay removes x-death); the worker's queue must not let messages " +
	"expire, or push them out at a limit"

// dropped are messages that RabbitMQ will drop when they expire, as their x-death shows.
type dropped struct{ ways *story.Ways }

func (dropped) inspect(*message.Message) {} // strays does it

func (d dropped) finding() (Finding, bool) {
	n, back := d.ways.Cut()
	return Finding{
		Code: "cycle-cut", Level: LevelError,
		Message:  spell("%v message(s) will be dropped on expiry: RabbitMQ drops what returns without a rejection", n),
		Evidence: spell("the first one would return to %s, where it has been; x-death has no rejection since", back),
		Remedy:   savedBy,
	}, n > 0
}

// manyRounds is how often a message comes back, without an acknowledgement of any, until the loop counts as endless.
const manyRounds = 10

// findUncappedLoops finds retry loops that the broker never ends: it never cuts a cycle that contains a rejection.
// Where messages go round in one, it happens now.
func (t *checking) findUncappedLoops(flow *model.Flow) {
	worker := flow.Worker.Queue
	var through []model.QueueRef
	for _, b := range flow.Buffers {
		switch {
		case !b.Rejected:
		case b.TTL.Known() || b.InExchange != "":
			through = append(through, model.QueueRef{Name: b.Name()})
		default:
			t.foundAt(b.Queue, Finding{
				Code: "retry-without-ttl",
				Message: spell("messages that %s rejects stay in %s for good: it has no message-ttl, and RabbitMQ takes a "+
					"message's own away when it dead-letters it", worker, b.Queue),
				Evidence: spell("%s dead-letters to %s; no message-ttl by argument or policy", worker, b.Queue),
			})
		}
	}

	if through == nil {
		return
	}
	decides := ""
	if hop, ok := t.Hop(worker, model.Rejected); ok && !hop.Route.Exact {
		decides = ", where their own keys or headers lead,"
	}

	f := Finding{
		Code: "rejected-loop",
		Message: spell("messages that %s rejects come back through %s%s without end, unless its consumer counts and "+
			"gives up", worker, through, decides),
		Evidence: spell("%s dead-letters to %s, and gets back what leaves there; this loop never ends: RabbitMQ only "+
			"counts it in x-death", worker, through),
	}

	if rounds, n := t.Rounds(worker); rounds >= manyRounds {
		f.Level = LevelWarning
		f.Happening = true
		f.Message = spell("%v message(s) of %s came back through %s %v times or more, and none was acknowledged meanwhile",
			n, worker, through, rounds)
	}

	t.foundAt(worker, f)
}

// goesRound reports whether the messages of a worker may go round so fast that polls show it soon: none is
// acknowledged, and in loopSpan it gets more than there are; where there is no rate yet, its total decides.
func goesRound(t *model.Topology, flow *model.Flow) bool {
	q := t.Known(flow.Worker.Queue)
	comesBack := slices.ContainsFunc(flow.Buffers, func(b *model.Buffer) bool { return b.Rejected })
	if !comesBack || q.AckRate.Or(0) > 0 {
		return false
	}
	inside, _ := q.Depth()
	for _, b := range flow.Buffers {
		inside += t.Waiting(b).Or(0)
	}

	inside = max(inside, 1)
	delivered := q.Delivered.Or(0)
	rate := q.DeliverRate.Or(0)
	fast := rate*loopSpan > float64(2*inside)
	if rate == 0 {
		fast = delivered >= manyRounds*inside && float64(q.Acked.Or(0)) < loopDone*float64(delivered)
	}

	rounds, _ := t.Rounds(q.QueueRef)
	return fast && rounds < manyRounds
}
