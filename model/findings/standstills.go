package findings

import (
	"slices"

	"github.com/dlxtop/dlxtop/model"
)

// Findings about shovels and consumers that keep messages from coming to rest, or from moving.

// findShovelLoops finds circles that a shovel closes: it carries a failed queue back to where its messages come from.
// RabbitMQ ends no such circle: for a queue, what a shovel publishes is a new message (all versions; on 4.x its x-death
// begins again).
func (t *checking) findShovelLoops() {
	for s := range model.Each(t.Snapshot.Shovels) {
		circle := t.circleOf(s)
		if circle == nil {
			continue
		}
		f := Finding{
			Code: "shovel-loop",
			Message: spell("messages go round without end: the shovel %s carries %s to %s, and their dead letters come back",
				model.Printable(s.Name), s.From, circle[:1]),
			Evidence: spell("%s of vhost %s is running; the way is %s, and again", model.Printable(s.Name),
				model.Printable(s.VHost), append(slices.Clone(circle[:len(circle)-1]), s.From)),
			Remedy: spell("delete the shovel (rabbitmqctl clear_parameter -p %s shovel %s), and replay what failed when its "+
				"cause is gone", model.Printable(s.VHost), model.Printable(s.Name)),
		}

		if slices.ContainsFunc(circle, t.passesOn) {
			f.Level = LevelError
		}

		t.foundAt(s.From, f)
	}
}

// passesOn reports whether messages leave a queue by themselves: through consumers, or because they expire.
func (t *checking) passesOn(ref model.QueueRef) bool {
	q, ok := t.Queue(ref)
	return ok && (q.Consumed() || q.Polled() || t.Settings(ref).TTL.Set)
}

// circleOf returns the shortest way from a shovel's target back to the queue that it empties, which is the
// last one; nil when there is none.
func (t *checking) circleOf(s *model.Shovel) []model.QueueRef {
	before := map[model.QueueRef]model.QueueRef{}
	var todo []model.QueueRef
	add := func(from model.QueueRef, refs []model.QueueRef) {
		for _, ref := range refs {
			if _, known := before[ref]; !known {
				before[ref] = from
				todo = append(todo, ref)
			}
		}
	}

	add(model.QueueRef{}, certain(t.ShovelRoute(s)))

	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		if at == s.From {
			return pathTo(at, before)
		}
		for _, hop := range t.Hops(at) {
			add(at, certain(hop.Route))
		}

		for other := range model.Each(t.Snapshot.Shovels) {
			if other.From == at {
				add(at, certain(t.ShovelRoute(other)))
			}
		}
	}

	return nil
}

// certain returns the queues of a route that messages reach, unless an exchange chooses among them or their keys are
// unknown.
func certain(route model.Route) []model.QueueRef {
	if route.Exact || route.Keys == model.KeysBound {
		return route.Queues
	}
	return nil
}

func pathTo(at model.QueueRef, before map[model.QueueRef]model.QueueRef) (path []model.QueueRef) {
	for ; at != (model.QueueRef{}); at = before[at] {
		path = append(path, at)
	}
	slices.Reverse(path)
	return path
}

// findInactiveConsumers finds queues with a single active consumer of which none is active. A quorum queue can come to
// that after consumer timeouts (4.3.0 to 4.3.6): it then delivers nothing until all its consumers have gone.
func (t *checking) findInactiveConsumers(q *model.Queue, _ model.Settings) {
	ready := q.Ready.Or(0)
	consumers := q.Consumers.Or(0)
	if !q.NoneActive || ready == 0 || consumers == 0 {
		return
	}
	t.foundAt(q.QueueRef, Finding{
		Code:      "no-active-consumer",
		Level:     LevelError,
		Happening: true,
		Message: spell("%s stands still: %s and %s, but none of them is the active one", q,
			model.Plural(ready, "ready message"), model.Plural(consumers, "consumer")),
		Evidence: spell("x-single-active-consumer, single_active_consumer_tag null, %s ready, %s unacknowledged", q.Ready,
			q.Unacked),
		Remedy: "restart all its consumers: it goes on when the last of the old ones has disconnected; RabbitMQ 4.3.0 to " +
			"4.3.6 come to this when each consumer has exceeded the consumer timeout",
	})
}

// findHeldMessages finds queues from which nothing moves because their consumers hold all that they may. Whether those
// hang or work for long, the broker does not know. Dramatiq's workers hold what is not due yet.
func (t *checking) findHeldMessages(q *model.Queue, _ model.Settings) {
	if q.HeldFor == 0 || t.IsBuffer(q.QueueRef) {
		return
	}
	t.foundAt(q.QueueRef, Finding{
		Code:      "no-acknowledgements",
		Happening: true,
		Message: spell("nothing of %s was acknowledged for %s or longer, and %s wait: its consumers hold as many as they may",
			q, model.ShortDuration(q.HeldFor), model.Plural(q.Ready.Or(0), "message")),
		Evidence: spell("%s unacknowledged, all that the prefetch of %s allows", q.Unacked,
			model.Plural(q.HeldBy, "consumer")),
		Remedy: "see what the application does with them: one that hangs looks like one that works for long; when its " +
			"connection ends, RabbitMQ delivers them again",
	})
}
