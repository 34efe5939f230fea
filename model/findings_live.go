package model

import (
	"fmt"
	"time"
)

const (
	liveSpan  = 10 * time.Second // the statistics of two queues may be 5 s apart: what left one has to be missing for longer
	liveLeast = 5                // messages: fewer can hide between two polls
)

// LosingNow finds messages that are being lost while one looks: they leave a buffer by no consumer's hand, and arrive in none of the
// queues that they should reach. moves are the movements over a span of time.
func (t *Topology) LosingNow(moves Moves, over time.Duration) []Finding {
	if over < liveSpan {
		return nil
	}
	var findings []Finding
	for i := range t.Snapshot.Queues {
		q := &t.Snapshot.Queues[i]
		hops := t.hops[q.QueueRef]
		dead := moves[q.QueueRef].Dead.Or(0) * over.Seconds()
		if len(hops) == 0 || !hops[0].Route.Exact || dead < liveLeast || q.Consumers.Or(1) > 0 {
			continue
		}
		arrived := false
		targets := hops[0].Route.Queues
		for _, ref := range targets {
			in, known := moves[ref].In.Get()
			arrived = arrived || !known || in > 0 || t.queues[ref].Type == Stream
		}
		if arrived {
			continue
		}
		findings = append(findings, Finding{
			Code: "losing-now", Level: LevelError, VHost: q.VHost, Queue: q.Name,
			Message: fmt.Sprintf("%s left %s in the last %s, and nothing arrived in %s: they are lost",
				Plural(int64(dead+0.5), "message"), Printable(q.Name), ShortDuration(over.Round(time.Second)), listOr(targets, "any queue")),
			Evidence: fmt.Sprintf("%.1f/s left without a consumer having taken them; dead-letter-exchange %s, key %s", dead/over.Seconds(), t.settings[q.QueueRef].DLX, t.settings[q.QueueRef].Key),
			Remedy:   "see whether the dead-letter exchange exists, whether the key is bound, and whether the queue behind it refuses (full, reject-publish); a purge by hand looks the same",
		})
	}
	return findings
}
