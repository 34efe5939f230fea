package findings

import (
	"slices"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/carry"
)

// Findings about shovels and federation links.

// findIdleShovels finds shovels and links that do not run. Before RabbitMQ 4.3 a shovel that fails is starting, again
// and again.
func (t *checking) findIdleShovels() {
	for s := range model.Each(t.Snapshot.Shovels) {
		if carry.Runs(s) {
			continue
		}
		f := Finding{
			Code: "shovel-down",
			Message: spell("the %s carries nothing from %s to %s: its state is %s", carry.Title(s), carry.Source(s),
				carry.Target(s), s.State),
			Evidence: carry.Words(s),
		}

		if s.State != "starting" {
			f.Level = LevelError
		}

		t.foundNear(s, f)
	}
}

// foundNear reports a finding about a shovel at the queue of this broker that it takes from, or else leads to.
func (t *checking) foundNear(s *model.Shovel, f Finding) {
	to := t.ShovelRoute(s).Queues
	switch {
	case s.FromHost == "" && s.From.Name != "":
		t.foundAt(s.From, f)
	case s.ToHost == "" && len(to) > 0:
		t.foundAt(to[0], f)
	default:
		t.foundAt(model.QueueRef{VHost: s.VHost}, f)
	}
}

// findUnconfirmedShovels finds shovels and links that lose messages when a connection breaks.
func (t *checking) findUnconfirmedShovels() {
	for s := range model.Each(t.Snapshot.Shovels) {
		if s.AckMode != "no-ack" && s.AckMode != "on-publish" {
			continue
		}
		t.foundNear(s, Finding{
			Code: "shovel-unconfirmed",
			Message: spell("messages are lost when a connection of the %s breaks: it acknowledges them before %s has "+
				"confirmed them", carry.Title(s), carry.Target(s)),
			Evidence: carry.Words(s),
		})
	}
}

// findShovelsAway finds shovels that carry failed messages of this broker to where no application takes them.
func (t *checking) findShovelsAway() {
	for s := range model.Each(t.Snapshot.Shovels) {
		if !carry.Stays(s) || !t.IsFailed(s.From) {
			continue
		}
		route := t.ShovelRoute(s)
		f := Finding{
			Code: "shovel-no-worker",
			Message: spell("the %s carries failed messages of %s to %s, where nothing consumes them", carry.Title(s), s.From,
				route.Queues),
			Evidence: carry.Words(s),
		}

		switch {
		case !route.Exact, slices.ContainsFunc(route.Queues, t.leadsOn):
			continue
		case len(route.Queues) == 0:
			f.Level = LevelError
			f.Message = spell("the %s loses failed messages of %s: no queue takes them at %s", carry.Title(s), s.From,
				carry.Target(s))
			f.Remedy = "correct the destination of the shovel, or bind a queue to it"
		}

		t.foundAt(s.From, f)
	}
}

// leadsOn reports whether messages of a queue go somewhere, are known to be failed, or are kept on purpose.
func (t *checking) leadsOn(ref model.QueueRef) bool {
	q, _ := t.Queue(ref)
	role, _ := t.StatedRole(ref)
	taken := slices.ContainsFunc(t.Snapshot.Shovels, func(s model.Shovel) bool { return carry.Takes(&s, ref) })
	return taken || q.Consumers.Or(1) > 0 || q.Polled() || len(t.FlowsOf(ref)) > 0 || role.Role != "" || t.Worked(ref)
}

// findShovelLoops finds circles that a shovel closes: it carries a failed queue back to where its messages come from.
// RabbitMQ ends no such circle: for a queue, what a shovel publishes is a new message (all versions; on 4.x its x-death
// begins again).
func (t *checking) findShovelLoops() {
	for s := range model.Each(t.Snapshot.Shovels) {
		if !carry.Stays(s) {
			continue
		}
		circle := t.circleOf(s)
		if circle == nil {
			continue
		}
		f := Finding{
			Code: "shovel-loop",
			Message: spell("messages go round without end: the shovel %s carries %s to %s, and their dead letters come back",
				s.Name, s.From, circle[:1]),
			Evidence: spell("%s of vhost %s is running; the way is %s, and again", s.Name,
				s.VHost, append(slices.Clone(circle[:len(circle)-1]), s.From)),
			Remedy: spell("delete the shovel (rabbitmqctl clear_parameter -p %s shovel %s), and replay what failed when its "+
				"cause is gone", s.VHost, s.Name),
		}

		if slices.ContainsFunc(circle, t.passesOn) {
			f.Level = LevelError
		}

		t.foundAt(s.From, f)
	}
}

// passesOn reports whether messages leave a queue by themselves: through consumers, or because they expire.
func (t *checking) passesOn(ref model.QueueRef) bool {
	q := t.Known(ref)
	return q.Consumed() || q.Polled() || t.Settings(ref).TTL.Set
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
			if carry.Stays(other) && other.From == at {
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
