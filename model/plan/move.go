package plan

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// prepareMove checks the target queue: what speaks against it, and whether the death history may stay. It may when the
// queue has neither a dead-letter exchange nor known consumers: then nothing counts it or detects a cycle in it, and
// the message's history stays readable.
func (p *Plan) prepareMove(t *model.Topology) {
	to := p.From.Beside(p.Target.Fixed.RoutingKey)
	if why := problemOfMove(t, p.From, to); why != movable {
		p.against(model.Saidf(string(why), to))
	}

	s := t.Settings(to)
	q, known := t.Queue(to)
	p.KeepDeaths = known && !s.DLX.Set && q.Consumers.Or(0) == 0
	if known && q.AutoDelete {
		p.warn(deletesItself(to, model.Setting[time.Duration]{}))
	}
	if s.Expires.Set {
		p.warn(deletesItself(to, s.Expires))
	}
}

// moveProblem is an objection to a queue; the sentence names the queue.
type moveProblem string

const (
	movable   moveProblem = ""
	nameless  moveProblem = "a move needs a queue to move to%.0s"
	itself    moveProblem = "%s is the queue they are in"
	notThere  moveProblem = "there is no queue %s"
	exclusive moveProblem = "%s is exclusive: RabbitMQ deletes it, messages included, when the connection that declared " +
		"it closes"
	stream moveProblem = "%s is a stream: nothing can be taken out of it again, so the move could not be undone"
)

// problemOfMove returns what speaks against a move from one queue to another.
func problemOfMove(t *model.Topology, from, to model.QueueRef) moveProblem {
	q, exists := t.Queue(to)
	switch {
	case to.Name == "":
		return nameless
	case to == from:
		return itself
	case !exists:
		return notThere
	case q.OwnedByAnother || q.Exclusive:
		return exclusive
	case q.Type == model.Stream:
		return stream
	}

	return movable
}

// MoveTargets returns the queues that messages of a queue can be moved to, by name: those of its flows first, as the
// likeliest.
func MoveTargets(t *model.Topology, from model.QueueRef) []*model.Queue {
	near := model.QueueSet{}
	for _, flow := range t.FlowsOf(from) {
		for _, ref := range flow.Queues() {
			near[ref] = true
		}
	}

	var targets []*model.Queue
	for q := range model.Each(t.Snapshot.Queues) {
		if q.VHost == from.VHost && problemOfMove(t, from, q.QueueRef) == movable {
			targets = append(targets, q)
		}
	}

	slices.SortFunc(targets, func(a, b *model.Queue) int {
		if near[a.QueueRef] != near[b.QueueRef] {
			if near[a.QueueRef] {
				return -1
			}
			return 1
		}
		return cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	})

	return targets
}
