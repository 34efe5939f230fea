package findings

import (
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

const (
	// the statistics of two queues may be 5 s apart: messages that left one must be missing for longer
	liveSpan  = 10 * time.Second
	liveMost  = 24 * time.Second // two polls; after a longer silence the queues' statistics catch up one by one
	liveLeast = 5                // messages: fewer can be missed between two polls
)

// LosingNow finds messages that are being lost at this moment: they leave a buffer without being consumed, and arrive
// in none of the queues that they should reach. moves are the movements over a span of time. It reports only what
// nothing else can explain: with statistics, and where the next queues show all arrivals.
func LosingNow(t *model.Topology, moves model.Moves, over time.Duration) []Finding {
	if over < liveSpan || over > liveMost {
		return nil
	}
	if o := &t.Snapshot.Overview; o.StatsOff || o.RatesMode == "none" {
		return nil
	}

	var findings []Finding
	for q := range t.EachQueue() {
		hops := t.Hops(q.QueueRef)
		dead := moves[q.QueueRef].Dead.Or(0) * over.Seconds()
		if len(hops) == 0 || !allKnown(&hops[0].Route) || dead < liveLeast || q.Consumers.Or(1) > 0 ||
			moves[q.QueueRef].GoneLate < liveLeast || t.Settings(q.QueueRef).KeepsDeadLetters() {
			continue
		}
		arrived := false
		targets := hops[0].Route.Queues
		for _, ref := range targets {
			arrived = arrived || mayArrive(t, ref, moves)
		}
		if arrived {
			continue
		}

		findings = append(findings, Finding{
			Code:      "losing-now",
			Happening: true,
			VHost:     q.VHost,
			Queue:     q.Name,
			Message: spell("%v message(s) left %s in the last %s, and nothing arrived in %s: they are lost",
				int64(dead+0.5), q, over.Round(time.Second), model.NamesOr(targets, "any queue")),
			Evidence: spell("%.1f/s left, and no consumer took them; %s", dead/over.Seconds(),
				deadLettering(t.Settings(q.QueueRef))),
		}.completed())
	}

	return findings
}

// mayArrive reports whether messages come into a queue, or could come unnoticed because as many leave it through
// expiry, its limit, or rejection.
func mayArrive(t *model.Topology, ref model.QueueRef, moves model.Moves) bool {
	in, known := moves[ref].In.Get()
	q, _ := t.Queue(ref)
	s := t.Settings(ref)
	if !known || in > 0 || q.Type == model.Stream || s.TTL.Set || t.IsBuffer(ref) ||
		s.Bounded() && s.Overflow.Value != model.RejectPublish {
		return true
	}

	return q.Consumers.Or(1) > 0 && slices.ContainsFunc(t.RejectedTargets(ref), func(behind model.QueueRef) bool {
		return moves[behind].In.Or(1) > 0
	})
}

// allKnown reports whether a route has all queues that messages can reach through it.
func allKnown(r *model.Route) bool { return r.Exact || r.Keys == model.KeysBeyond }
