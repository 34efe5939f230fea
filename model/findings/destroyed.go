package findings

import (
	"slices"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/loss"
)

// reasonOf is the reason for which the queue of a finding destroys messages; "" where there are several.
var reasonOf = map[string]model.Reason{
	"ttl-without-dlx":            model.Expired,
	"limit-without-dlx":          model.MaxLen,
	"delivery-limit-without-dlx": model.DeliveryLimit,
	"rejects-lost":               model.Rejected,
	"failed-queue-forgets":       "",
	"dlx-missing":                "",
}

// Destroyed adds to findings about queues that destroy messages how many these were, and finds what no other finding is
// about.
func Destroyed(t *model.Topology, found []Finding, counts []loss.Destroyed) []Finding {
	told := make([]bool, len(counts))
	for f := range model.Each(found) {
		q, _ := t.Queue(f.At())
		reason, destroys := reasonOf[f.Code]
		for i, d := range counts {
			about := reason == "" || d.Reason == "" || reason == d.Reason
			about = about || reason == model.Expired && d.Reason == model.MaxLen // one finding, where both are set
			if destroys && about && mayDestroy(t, q, d) {
				told[i] = true
				f.Evidence += "; " + destroyedWords(t, d, f.At())
			}
		}
	}

	for i, d := range counts {
		if !told[i] && d.Messages.Or(0) > 0 {
			found = append(found, Finding{
				Code:     "messages-destroyed",
				Level:    infoIf(d.Watched.Or(0) == 0),
				Node:     d.Node,
				Message:  d.Node + " destroyed messages that left queues without a dead-letter exchange",
				Evidence: destroyedWords(t, d, model.QueueRef{}),
			}.completed())
		}
	}

	return found
}

// destroyedWords say what a node counted, and which queues can be the cause, the given one first. What left a queue
// unacknowledged, as its statistics show, is all that expired or was dropped, rejected or purged, less the dead letters
// that came in.
func destroyedWords(t *model.Topology, d loss.Destroyed, first model.QueueRef) string {
	if d.Unknown != "" {
		return "how many it destroyed is unknown: " + d.Unknown
	}
	words := spell("%s destroyed %v message(s) of %s queues (%s) since it started", d.Node, d.Messages.Or(0), d.Type,
		d.Reason)
	if lately, watched := d.Watched.Get(); watched {
		words += spell(", %d while dlxtop watched", lately)
	}

	var causes []model.QueueRef
	for q := range t.EachQueue() {
		if !mayDestroy(t, q, d) {
			continue
		}
		depth, _ := q.Depth()
		left := max(q.Published.Or(0)-q.Taken().Or(0)-depth, 0)
		at := len(causes)
		if q.QueueRef == first {
			at = 0
		}
		causes = slices.Insert(causes, at, model.QueueRef{Name: spell("%s (%d)", q, left)})
	}

	return words + spell("; queues there that can be the cause, with how many left each unacknowledged by statistics, "+
		"which are some seconds late: %s", model.NamesOr(causes, "none is seen"))
}

// mayDestroy reports whether a count may have messages of a queue: it has no dead-letter exchange, or one that does not
// exist. Any queue may have messages with an expiration, and consumers that reject.
func mayDestroy(t *model.Topology, q *model.Queue, d loss.Destroyed) bool {
	if q == nil || q.Node != d.Node || d.Type != "" && q.Type != d.Type || q.Type == model.Stream {
		return false
	}

	s, hops := t.Settings(q.QueueRef), t.Hops(q.QueueRef)
	missing := len(hops) > 0 && hops[0].Route.MissingExchange != ""
	if s.DLX.Set && !missing || s.KeepsDeadLetters() {
		return false
	}

	switch d.Reason {
	case model.MaxLen:
		return s.Bounded() && s.Overflow.Value != model.RejectPublish
	case model.DeliveryLimit:
		return s.DeliveryLimit.Set
	}

	return true
}
