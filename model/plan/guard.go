package plan

import (
	"cmp"
	"slices"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/target"
)

// Guard follows what a plan publishes through exchanges, and compares whom it reaches with newer topologies: a binding
// that somebody makes meanwhile sends messages to queues that the plan did not name. It is not safe for concurrent use.
type Guard struct {
	vhost string
	now   *model.Topology // the newest that was as the plan says
	newer bool            // it was read after the plan was made
	// The readings since then, of which the first was different.
	changed []*model.Topology
	ways    map[model.Address]*guardedWay
}

// guardedWay is what was published at one address since the begin of the last reading that found nothing different.
// Where a headers exchange is on the way, the messages of one address reach different queues.
type guardedWay struct {
	byHeaders bool
	groups    []guardedGroup
}

// guardedGroup are messages that reach the same queues.
type guardedGroup struct {
	headers model.Table // of one of them
	reaches []model.QueueRef
	sent    int // published, and whom they reached has not been looked at since
	before  int // of these, when the present reading began
}

// Stray is a queue that messages of a plan may have reached, and that the plan did not name.
type Stray struct {
	Way      model.Address
	Queue    model.QueueRef
	Messages int // at most
}

// Words tell whom messages may have reached beyond the plan.
func (s *Stray) Words() string {
	return model.Sayf("up to %s may also be in %s, which the plan did not name: %s reached it meanwhile; those stay there",
		messages(s.Messages), s.Queue, addressWords(s.Way))
}

// Guard is what follows the execution of the plan; nil when nothing can change, because the plan publishes through the
// default exchange only: that one cannot be bound, and has no alternate exchange.
func (r *Run) Guard() *Guard {
	p := &r.Plan
	if p.Undoing != nil || p.Operation != Replay || r.Topology == nil {
		return nil
	}
	switch p.Target.Mode {
	case target.ToQueue:
		return nil
	case target.ToExchange:
		if p.Target.Fixed.Exchange == "" {
			return nil
		}
	}
	g := &Guard{vhost: p.From.VHost, now: r.Topology, ways: map[model.Address]*guardedWay{}}
	for _, w := range p.Ways {
		if w.Exchange != "" {
			way := &guardedWay{byHeaders: routesByHeaders(g.now, g.vhost, w.Address)}
			if !way.byHeaders {
				way.groups = []guardedGroup{{reaches: w.Reaches}}
			}
			g.ways[w.Address] = way
		}
	}
	return g
}

// routesByHeaders reports whether a headers exchange is on a way.
func routesByHeaders(t *model.Topology, vhost string, a model.Address) bool {
	for _, ref := range t.Route(vhost, a.Exchange, []string{a.RoutingKey}, nil).Through {
		if x, ok := t.Exchange(ref); ok && x.Type == "headers" {
			return true
		}
	}
	return false
}

// Needed reports whether anything was planned or published that can come to reach another queue.
func (g *Guard) Needed() bool { return len(g.ways) > 0 }

// Unsure reports whether something was published since the last reading began.
func (g *Guard) Unsure() bool {
	for _, way := range g.ways {
		if slices.ContainsFunc(way.groups, func(group guardedGroup) bool { return group.sent > 0 }) {
			return true
		}
	}
	return false
}

// Publishes notes what is about to be published. The changes are what speaks against it: it must not be published then.
func (g *Guard) Publishes(p *message.Publishing) []Change {
	if p.Exchange == "" {
		return nil
	}
	way := g.ways[p.Address]
	fresh := way == nil
	if fresh {
		way = &guardedWay{byHeaders: routesByHeaders(g.now, g.vhost, p.Address)}
		g.ways[p.Address] = way
	}
	if g.newer && (fresh || way.byHeaders) {
		route := g.now.Route(g.vhost, p.Exchange, []string{p.RoutingKey}, p.Headers)
		if changes := reachChanges(p.Address, p.Reaches, route.Queues); len(changes) > 0 {
			return changes
		}
	}
	for i := range way.groups {
		if group := &way.groups[i]; !way.byHeaders && slices.Equal(group.reaches, p.Reaches) {
			group.headers = p.Headers
			group.sent++
			return nil
		}
	}
	way.groups = append(way.groups, guardedGroup{headers: p.Headers, reaches: p.Reaches, sent: 1})
	return nil
}

// Reading begins a reading: what is published from here on may not be in it.
func (g *Guard) Reading() {
	for _, way := range g.ways {
		for i := range way.groups {
			way.groups[i].before = way.groups[i].sent
		}
	}
}

// Read ends a reading. The changes are those of the ways that were planned or published at: from the first ones on
// nothing is to be published any more, and later readings tell more of Strays. unread is why the topology does not
// tell, "" when it does.
func (g *Guard) Read(t *model.Topology) (changes []Change, unread string) {
	for address, way := range g.ways {
		told := map[model.QueueRef]bool{}
		for i := range way.groups {
			group := &way.groups[i]
			route := t.Route(g.vhost, address.Exchange, []string{address.RoutingKey}, group.headers)
			if route.Unread {
				return nil, route.Why
			}
			for _, c := range reachChanges(address, group.reaches, route.Queues) {
				if !told[c.Queue] {
					changes = append(changes, c)
				}
				told[c.Queue] = true
			}
		}
	}
	if len(changes) == 0 && g.changed == nil {
		g.passed(t)
		return nil, ""
	}
	g.changed = append(g.changed, t)
	slices.SortFunc(changes, func(a, b Change) int { return compareAddresses(a.Way, b.Way) })
	return changes, ""
}

// Changed reports whether a reading has told of changes.
func (g *Guard) Changed() bool { return g.changed != nil }

// Strays are whom messages may have reached since the topology was last as the plan had it, as far as the readings
// tell.
func (g *Guard) Strays() []Stray {
	var strays []Stray
	for address, way := range g.ways {
		may := map[model.QueueRef]int{}
		for i := range way.groups {
			group := &way.groups[i]
			for _, queue := range g.reached(address, group.headers) {
				if group.sent > 0 && !slices.Contains(group.reaches, queue) {
					may[queue] += group.sent
				}
			}
		}
		for queue, n := range may {
			strays = append(strays, Stray{address, queue, n})
		}
	}
	slices.SortFunc(strays, func(a, b Stray) int {
		return cmp.Or(compareAddresses(a.Way, b.Way), cmp.Compare(a.Queue.Name, b.Queue.Name))
	})
	return strays
}

// Hidden is an exchange on the way of messages whose bindings nobody can tell any more, as it was deleted; "" when
// there is none.
func (g *Guard) Hidden() string {
	before := g.now
	for _, t := range g.changed {
		for address, way := range g.ways {
			if !slices.ContainsFunc(way.groups, func(group guardedGroup) bool { return group.sent > 0 }) {
				continue
			}
			for _, x := range before.Route(g.vhost, address.Exchange, []string{address.RoutingKey}, nil).Through {
				if _, there := t.Exchange(x); !there {
					return x.Name
				}
			}
		}
		before = t
	}
	return ""
}

// reached are the queues that a message may have reached from the last reading that found nothing on, each once.
func (g *Guard) reached(address model.Address, headers model.Table) []model.QueueRef {
	var queues []model.QueueRef
	before := g.now
	for _, t := range g.changed {
		for _, queue := range t.RouteBetween(before, g.vhost, address, headers) {
			if !slices.Contains(queues, queue) {
				queues = append(queues, queue)
			}
		}
		before = t
	}
	return queues
}

// passed lets go of what a reading was about that found nothing different.
func (g *Guard) passed(t *model.Topology) {
	g.now, g.newer = t, true
	for address, way := range g.ways {
		for i := range way.groups {
			way.groups[i].sent -= way.groups[i].before
			way.groups[i].before = 0
		}
		if way.byHeaders = routesByHeaders(t, g.vhost, address); way.byHeaders {
			way.groups = slices.DeleteFunc(way.groups, func(group guardedGroup) bool { return group.sent == 0 })
		}
	}
}
