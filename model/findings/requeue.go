package findings

import (
	"fmt"
	"slices"
	"sync"

	"github.com/dlxtop/dlxtop/model"
)

// Findings about how applications take messages: by asking for each, and by giving the same ones back for ever.

const (
	loopSpan  = 5   // seconds that the broker's rates are a mean of: two samples
	loopLeast = 5   // redeliveries in that time; fewer are a worker that was restarted, or a look
	loopDone  = 0.1 // acknowledged for each redelivered one: with more, the work gets done
	loopEver  = 10  // redeliveries, since RabbitMQ counts, for each message that was ever done or still waits
)

// A worker that is restarted gets each message that it held once more. In a loop, what is handed out is handed out
// again and again: several times what can be held by consumers at one time. A worker that crashes takes a second or
// more for each round: that is a loop when all its rounds together did next to nothing.
func findRequeueLoops(t *model.Topology, found func(Finding)) {
	// From 4.0 what is rejected and comes back as a dead letter counts as delivered again.
	explained := sync.OnceValue(func() map[model.QueueRef]bool {
		round := map[model.QueueRef]bool{}
		returns(t, func(_ Finding, refs ...model.QueueRef) {
			for _, ref := range refs {
				round[ref] = true
			}
		})
		return round
	})
	for i := range t.Snapshot.Queues {
		q := &t.Snapshot.Queues[i]
		rate := q.RedeliverRate.Or(0)
		again := rate * loopSpan
		depth, known := q.Depth()
		worked := works(t, q)
		slow := rate > 0 && known && worked && float64(q.Redelivered.Or(0)) >= loopEver*float64(q.Acked.Or(0)+max(depth, 1))
		taken := q.Consumers.Or(0) > 0 || q.Polled()
		switch {
		case q.AckRate.Or(0) > rate*loopDone || !known || depth == 0:
			continue
		case slow:
		case again < loopLeast:
			continue
		case (taken || worked) && again >= loopLeast*float64(depth): // else somebody looks, as dlxtop does
		case taken && again >= loopLeast*float64(max(q.Unacked.Or(depth), 1)):
		default:
			continue
		}
		if explained()[q.QueueRef] {
			continue
		}
		found(Finding{
			Code: "requeue-loop", Level: LevelError, VHost: q.VHost, Queue: q.Name,
			Happening: true,
			Message: fmt.Sprintf("a worker of %s returns its %s and receives %s again, %.1f times a second: none is processed",
				model.Printable(q.Name), model.Plural(depth, "message"), them(depth), rate),
			Evidence: fmt.Sprintf("redelivered %.1f/s, %s times since RabbitMQ began counting; acknowledged %.1f/s; "+
				"%s ready, %s unacknowledged, %s", rate, model.Count(q.Redelivered.Or(0)), q.AckRate.Or(0),
				model.Count(q.Ready.Or(0)), model.Count(q.Unacked.Or(0)), model.Plural(q.Consumers.Or(0), "consumer")),
			Remedy: "let the worker reject without requeue into a dead-letter exchange, or give the queue a delivery " +
				"limit" + limitWords(t) + "; a worker that crashes on a message looks the same",
		})
	}
}

// works reports whether a worker takes messages out of a queue, which may be gone for the moment. What others get there
// by basic.get is not its doing.
func works(t *model.Topology, q *model.Queue) bool {
	if q.Consumers.Or(0) > 0 {
		return true
	}
	return q.PollRate.Or(0) == 0 && slices.ContainsFunc(t.FlowsOf(q.QueueRef), func(f *model.Flow) bool {
		return f.Worker.Queue == q.QueueRef
	})
}

func them(n int64) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// limitWords say what does not count towards a delivery limit: a loop of that never ends (measured on 4.0.5 and 4.3.6).
func limitWords(t *model.Topology) string {
	if t.Behaviour.ReturnCountsAsDelivery {
		return ""
	}
	return " (basic.reject counts towards it, basic.nack does not)"
}

func findPollers(t *model.Topology, found func(Finding)) {
	for i := range t.Flows() {
		q, _ := t.Queue(t.Flows()[i].Worker.Queue)
		if !q.Polled() {
			continue
		}
		found(Finding{
			Code: "poller", Level: LevelInfo, VHost: q.VHost, Queue: q.Name,
			Message:  fmt.Sprintf("an application polls %s instead of consuming it", model.Printable(q.Name)),
			Evidence: fmt.Sprintf("0 consumers, basic.get %.1f/s (with or without a message)", q.PollRate.Or(0)),
			Remedy:   "nothing is wrong; a consumer (basic.consume) would get messages sooner and cost the broker less",
		})
	}
}
