package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
)

// prepareMove looks at the queue of choice: what speaks against it, and whether the death history may stay. It may
// where the queue has neither a dead-letter exchange nor consumers that are known of: nothing there counts in it or
// takes it for a cycle, and the story of the message stays readable.
func (p *Plan) prepareMove(t *model.Topology) {
	to := model.QueueRef{VHost: p.From.VHost, Name: p.Target.Fixed.RoutingKey}
	if kind := moveProblem(t, p.From, to); kind != "" {
		p.against(Objection{Kind: kind, Queue: to})
	}
	s := t.Settings(to)
	q, known := t.Queue(to)
	p.KeepDeaths = known && !s.DLX.Set && q.Consumers.Or(0) == 0
	if known && q.AutoDelete {
		p.warn(Warning{Kind: deletesItself, Queue: to})
	}
	if s.Expires.Set {
		p.warn(Warning{Kind: deletesItself, Queue: to, After: s.Expires})
	}
}

// moveProblem is what speaks against a move from one queue to another, "" when nothing does.
func moveProblem(t *model.Topology, from, to model.QueueRef) ObjectionKind {
	q, exists := t.Queue(to)
	switch {
	case to.Name == "":
		return MoveNowhere
	case to == from:
		return MoveToItself
	case !exists:
		return MoveToNone
	case q.OwnedByAnother || q.Exclusive:
		return MoveToExclusive
	case q.Type == model.Stream:
		return MoveToStream
	}
	return ""
}

// MoveTargets are the queues that messages of a queue can be moved to, by name: those of its flows first, as they are
// meant most often.
func MoveTargets(t *model.Topology, from model.QueueRef) []*model.Queue {
	near := map[model.QueueRef]bool{}
	for _, flow := range t.FlowsOf(from) {
		for _, ref := range flow.Queues() {
			near[ref] = true
		}
	}
	var targets []*model.Queue
	for i := range t.Snapshot.Queues {
		q := &t.Snapshot.Queues[i]
		if q.VHost == from.VHost && moveProblem(t, from, q.QueueRef) == "" {
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
