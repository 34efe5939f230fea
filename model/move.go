package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// prepareMove looks at the queue of choice: what speaks against it, and whether the death history may stay. It may where the queue has
// neither a dead-letter exchange nor consumers that are known of: nothing there counts in it or takes it for a cycle, and the story of the message stays readable.
func (p *Plan) prepareMove(t *Topology) {
	to := QueueRef{p.From.VHost, p.Target.Fixed.RoutingKey}
	if why := t.moveProblem(p.From, to); why != "" && p.Refusal == "" {
		p.Refusal = why
	}
	s, known := t.settings[to]
	q := t.queues[to]
	p.KeepDeaths = known && !s.DLX.Set && q.Consumers.Or(0) == 0
	if known && q.AutoDelete {
		p.warn(fmt.Sprintf("%s deletes itself, with all that is in it, when its last consumer goes", Printable(to.String())))
	}
	if s.Expires.Set {
		p.warn(fmt.Sprintf("%s deletes itself, with all that is in it, when it is unused for %s (%s)", Printable(to.String()), ShortDuration(s.Expires.Value), s.Expires.Source))
	}
}

// moveProblem is why nothing can be moved from one queue to another, "" when it can.
func (t *Topology) moveProblem(from, to QueueRef) string {
	name := Printable(to.String())
	q, exists := t.queues[to]
	switch {
	case to.Name == "":
		return "a move needs a queue to move to"
	case to == from:
		return fmt.Sprintf("%s is the queue they are in", name)
	case !exists:
		return fmt.Sprintf("there is no queue %s", name)
	case q.OwnedByAnother || q.Exclusive:
		return fmt.Sprintf("%s is exclusive: it goes with the connection that declared it, and what is in it too", name)
	case q.Type == Stream:
		return fmt.Sprintf("%s is a stream: nothing can be taken out of it again, so the move could not be undone", name)
	}
	return ""
}

// MoveTargets are the queues that messages of a queue can be moved to, by name: those of its flows first, as they are meant most often.
func (t *Topology) MoveTargets(from QueueRef) []*Queue {
	near := map[QueueRef]bool{}
	for _, flow := range t.FlowsOf(from) {
		for _, ref := range flow.Queues() {
			near[ref] = true
		}
	}
	var targets []*Queue
	for i := range t.Snapshot.Queues {
		q := &t.Snapshot.Queues[i]
		if q.VHost == from.VHost && t.moveProblem(from, q.QueueRef) == "" {
			targets = append(targets, q)
		}
	}
	slices.SortFunc(targets, func(a, b *Queue) int {
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
