// Package polls holds what repeated polls of a broker show: what moved between them, findings with the time since when
// they are there, and when the head of a buffer leaves. The dashboard and the watch decide by the same.
package polls

import (
	"slices"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/model/watch"
)

// Poll is a poll of a broker, with what earlier ones tell about it. It is immutable: Next makes the next one.
type Poll struct {
	Topology *model.Topology
	Findings []findings.Finding // each with the time at which it was first seen
	Recent   watch.Polls
	Memory   findings.Memory
}

// Next returns the next poll. confirm replaces late statistics in its topology by counts; more are findings that only
// messages show.
func (p Poll) Next(s *model.Snapshot, confirm func(*model.Topology) *model.Topology, more ...findings.Finding) Poll {
	next := Poll{Topology: confirm(p.Topology.Next(s)), Recent: p.Recent}
	if p.Topology != nil {
		before := p.Topology.Snapshot
		next.Recent = p.Recent.After(model.MovesBetween(before, s), s.TakenAt.Sub(before.TakenAt))
	}

	losing := findings.LosingNow(next.Topology, next.Recent.Moves(), next.Recent.Span())
	found := findings.Sort(slices.Concat(findings.Of(next.Topology), losing, more))
	next.Findings = findings.Together(next.Topology, found)
	next.Memory = p.Memory.Mark(next.Findings, s.TakenAt)

	return next
}

// QueuesOfFlows returns the queues of flows and the failed queues, each once.
func QueuesOfFlows(t *model.Topology) []model.QueueRef {
	refs := slices.Clone(t.FailedQueues())
	for f := range model.Each(t.Flows()) {
		refs = append(refs, f.Queues()...)
	}

	seen := model.QueueSet{}
	return slices.DeleteFunc(refs, func(ref model.QueueRef) bool {
		known := seen[ref]
		seen[ref] = true
		return known
	})
}
