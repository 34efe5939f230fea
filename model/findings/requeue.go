package findings

import (
	"fmt"
	"slices"

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
func (t *checking) findRequeueLoops(q *model.Queue, _ model.Settings) {
	rate := q.RedeliverRate.Or(0)
	again := rate * loopSpan
	depth, known := q.Depth()
	worked := works(t.Topology, q)
	slow := rate > 0 && worked && float64(q.Redelivered.Or(0)) >= loopEver*float64(q.Acked.Or(0)+max(depth, 1))
	taken := q.Consumers.Or(0) > 0 || q.Polled()
	fast := again >= loopLeast && ((taken || worked) && again >= loopLeast*float64(depth) || // else a look, as dlxtop's
		taken && again >= loopLeast*float64(max(q.Unacked.Or(depth), 1)))
	// From 4.0 what is rejected and comes back as a dead letter counts as delivered again.
	if q.AckRate.Or(0) > rate*loopDone || !known || depth == 0 || !slow && !fast || t.rounds()[q.QueueRef] {
		return
	}
	t.found(Finding{
		Code: "requeue-loop", Level: LevelError, Happening: true, VHost: q.VHost, Queue: q.Name,
		Message: fmt.Sprintf("a worker of %s returns its %s and receives %s again, %.1f times a second: none is processed",
			model.Printable(q.Name), model.Plural(depth, "message"), agree(depth, "it", "them"), rate),
		Evidence: fmt.Sprintf("redelivered %.1f/s, %s times since RabbitMQ began counting; acknowledged %.1f/s; "+
			"%s ready, %s unacknowledged, %s", rate, model.Count(q.Redelivered.Or(0)), q.AckRate.Or(0),
			model.Count(q.Ready.Or(0)), model.Count(q.Unacked.Or(0)), model.Plural(q.Consumers.Or(0), "consumer")),
		Remedy: "let the worker reject without requeue into a dead-letter exchange, or give the queue a delivery " +
			"limit" + t.limitWords() + "; a worker that crashes on a message looks the same",
	})
}

// works reports whether a worker takes messages out of a queue, which may be gone for the moment. What others get there
// by basic.get is not its doing.
func works(t *model.Topology, q *model.Queue) bool {
	return q.Consumers.Or(0) > 0 || q.PollRate.Or(0) == 0 &&
		slices.ContainsFunc(t.FlowsOf(q.QueueRef), func(f *model.Flow) bool { return f.Worker.Queue == q.QueueRef })
}

// limitWords say what does not count towards a delivery limit: a loop of that never ends (measured on 4.0.5 and 4.3.6).
func (t *checking) limitWords() string {
	if t.Behaviour.ReturnCountsAsDelivery {
		return ""
	}
	return " (basic.reject counts towards it, basic.nack does not)"
}

func (t *checking) findPollers(flow *model.Flow) {
	q, _ := t.Queue(flow.Worker.Queue)
	if !q.Polled() {
		return
	}
	t.found(Finding{
		Code: "poller", Level: LevelInfo, VHost: q.VHost, Queue: q.Name,
		Message:  fmt.Sprintf("an application polls %s instead of consuming it", model.Printable(q.Name)),
		Evidence: fmt.Sprintf("0 consumers, basic.get %.1f/s (with or without a message)", q.PollRate.Or(0)),
		Remedy:   "nothing is wrong; a consumer (basic.consume) would get messages sooner and cost the broker less",
	})
}
