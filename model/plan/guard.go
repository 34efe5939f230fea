package plan

import (
	"cmp"
	"slices"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/target"
)

// Guard follows what a plan publishes through exchanges, and checks with newer topologies which queues it reaches: a
// binding made meanwhile sends messages to queues that the plan did not name. It is not safe for concurrent use.
type Guard struct {
	vhost string
	now   *model.Topology // the newest one that agrees with the plan
	newer bool            // it was read after the plan was made
	// The readings since then, beginning with the first that differed.
	changed []*model.Topology
	ways    map[model.Address]*guardedWay
}

// guardedWay is what was published to one address since the last reading without differences began. When a headers
// exchange is on the way, messages to one address reach different queues.
type guardedWay struct {
	byHeaders bool
	groups    []guardedGroup
}

// guardedGroup are messages that reach the same queues.
type guardedGroup struct {
	headers model.Table // those of one message
	reaches []model.QueueRef
	sent    int // published, but not yet checked by a reading
	before  int // those of them published before the current reading began
}

// Stray is a queue outside the plan that its messages may have reached.
type Stray struct {
	Way      model.Address
	Queue    model.QueueRef
	Messages int // at most
}

// Words say which queues messages may have reached beyond the plan.
func (s *Stray) Words() string {
	return model.Sayf("up to %v message(s) may also be in %s, which the plan did not name: %s reached it meanwhile; "+
		"those stay there", s.Messages, s.Queue, addressWords(s.Way))
}

// Guard returns the guard of the plan's execution; nil when nothing can change, because the plan publishes only through
// the default exchange, which cannot be bound and has no alternate exchange.
func (r *Run) Guard() *Guard {
	p := &r.Plan
	if r.Undoing != nil || p.Operation != Replay || r.Topology == nil {
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

// Needed reports whether anything planned or published could come to reach another queue.
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

// Publishes records what is about to be published. If it returns changes, it must not be published.
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

	for group := range model.Each(way.groups) {
		if !way.byHeaders && slices.Equal(group.reaches, p.Reaches) {
			group.headers = p.Headers
			group.sent++
			return nil
		}
	}

	way.groups = append(way.groups, guardedGroup{headers: p.Headers, reaches: p.Reaches, sent: 1})
	return nil
}

// Reading begins a reading, which may miss what is published from here on.
func (g *Guard) Reading() {
	for _, way := range g.ways {
		for i := range way.groups {
			way.groups[i].before = way.groups[i].sent
		}
	}
}

// Read ends a reading. The changes concern the addresses that were planned or published to: after the first ones
// nothing more may be published, and later readings only add to Strays. unread is why the topology cannot answer, ""
// when it can.
func (g *Guard) Read(t *model.Topology) (changes []Change, unread string) {
	for address, way := range g.ways {
		told := model.QueueSet{}
		for group := range model.Each(way.groups) {
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

func (g *Guard) Changed() bool { return g.changed != nil }

// Strays returns the queues that messages may have reached since the topology last agreed with the plan, as far as the
// readings show.
func (g *Guard) Strays() []Stray {
	var strays []Stray
	for address, way := range g.ways {
		may := map[model.QueueRef]int{}
		for group := range model.Each(way.groups) {
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

// Hidden returns an exchange on the way of messages that was deleted, so its bindings are no longer known; "" when
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

// reached returns the queues that a message may have reached since the last reading that agreed, each once.
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

// passed forgets what a reading without differences has checked.
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
