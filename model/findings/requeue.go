package findings

import (
	"github.com/dlxtop/dlxtop/model"
)

// Findings about how applications take messages: with basic.get for each, or by requeueing the same ones for ever.

const requeueLoop = "requeue-loop"

const (
	loopSpan  = 5   // seconds that the broker's rates average over: two samples
	loopLeast = 5   // redeliveries in that time; fewer come from a restarted worker, or a peek
	loopDone  = 0.1 // acknowledged for each redelivered one: if there are more, the work gets done
	loopEver  = 10  // redeliveries for each message that was ever processed or still waits: more than people peek
	loopAgain = 4   // redeliveries of each held message without an acknowledgement in between
	loopSteps = 3   // polls that show them: a peek of another tool shows at one
)

// A restarted worker gets each message that it held once more. In a loop, messages are delivered again and again:
// several times what consumers can hold at a time. A crashing worker takes a second or more for each round: that is a
// loop when all its rounds together achieved next to nothing. So is a worker that takes seconds before it gives the
// same messages back: each of them was delivered several times, and none acknowledged meanwhile, or ever.
func (t *checking) findRequeueLoops(q queue) {
	rate := q.RedeliverRate.Or(0)
	again := rate * loopSpan
	depth, known := q.Depth()
	worked := works(t.Topology, q.Queue)
	slow := rate > 0 && worked && float64(q.Redelivered.Or(0)) >= loopEver*float64(q.Acked.Or(0)+depth)
	taken := q.Consumed() || q.Polled()
	held := max(q.Unacked.Or(depth), 1)
	n, steps, away := t.Redelivered(q.QueueRef)
	often := n >= loopAgain*held
	if away { // several peeks show at several polls, too; the broker's total has the rounds before these polls
		often = n >= loopAgain*depth && q.Redelivered.Or(0) >= loopEver*depth
	}

	neverDone := q.Removed().Or(0) == 0 && q.Redelivered.Or(0) >= loopAgain*depth
	endless := steps >= loopSteps && often ||
		rate > 0 && q.Consumed() && neverDone

	fast := again >= loopLeast && ((taken || worked) && again >= loopLeast*float64(depth) || // otherwise a peek
		taken && again >= loopLeast*float64(held))
	// From 4.0 a rejected message that comes back as a dead letter counts as redelivered.
	if q.AckRate.Or(0) > rate*loopDone || !known || depth == 0 || !slow && !fast && !endless || t.rounds[q.QueueRef] {
		return
	}

	who := spell("a worker of %s", q)
	polls := q.PollRate.Or(0)
	switch {
	case polls > 0 && polls >= q.DeliverRate.Or(0):
		who = spell("a program or person that asks %s by basic.get, %.1f times a second,", q, polls)
	case !q.Consumed():
		who = spell("someone who does not consume %s now, a worker that crashes or a person who looks,", q)
	}

	t.foundIn(q, Finding{
		Code:      requeueLoop,
		Level:     LevelError,
		Happening: true,
		Message: spell("%s returns its %v message(s) and receives (it|them) again, %.1f times a second: none is processed",
			who, depth, rate),
		Evidence: spell("redelivered %.1f/s, %v times since RabbitMQ began counting; acknowledged %.1f/s; %v ready, %v "+
			"unacknowledged, %v consumer(s)", rate, q.Redelivered.Or(0), q.AckRate.Or(0), q.Ready.Or(0), q.Unacked.Or(0),
			q.Consumers.Or(0)),
		Remedy: "let the worker reject without requeue into a dead-letter exchange, or " + t.limits(q) +
			"; a worker that crashes on a message looks the same",
	})
}

// LoopsToWatch returns the queues of which one poll lets suspect a loop that only further polls show, or rule out: as
// often as consumers hold messages, messages were delivered again, at least one for ten acknowledgements, and nothing
// is acknowledged now. Rates are 0 between two rounds of a slow loop, and mostly with a short interval of statistics:
// what earlier polls saw delivered again is watched on. So are workers whose messages may go round fast.
func LoopsToWatch(t *model.Topology) (queues []model.QueueRef) {
	found := model.QueueSet{}
	for _, f := range Of(t) {
		if f.Code == requeueLoop {
			found[f.At()] = true
		}
	}

	for flow := range model.Each(t.Flows()) {
		if goesRound(t, flow) {
			queues = append(queues, flow.Worker.Queue)
		}
	}

	for q := range t.EachQueue() {
		depth, _ := q.Depth()
		held := max(q.Unacked.Or(depth), 1)
		again := q.Redelivered.Or(0)

		seen, _, _ := t.Redelivered(q.QueueRef)
		moves := q.RedeliverRate.Or(0) > 0 || seen > 0
		taken := depth > 0 && (q.Consumers.Or(0) > 0 || q.Polled() || moves)
		often := again >= loopAgain*held && float64(again) >= loopDone*float64(q.Acked.Or(0))
		if taken && often && q.AckRate.Or(0) == 0 && !found[q.QueueRef] {
			queues = append(queues, q.QueueRef)
		}
	}

	return queues
}

// works reports whether a worker, possibly disconnected at the moment, takes messages from a queue. Messages that
// others get there with basic.get do not count.
func works(t *model.Topology, q *model.Queue) bool {
	return q.Consumed() || q.PollRate.Or(0) == 0 &&
		(t.Worked(q.QueueRef) || t.IsWorker(q.QueueRef))
}

// limits says how a delivery limit can end a loop. Only quorum queues have one, and a loop of returns that do not count
// never ends (measured on 4.0.5 and 4.3.6).
func (t *checking) limits(q queue) string {
	counts := ""
	if !t.Behaviour.ReturnCountsAsDelivery {
		counts = " (basic.reject counts towards it, basic.nack does not)"
	}

	switch {
	case q.Type != model.Quorum:
		return "use a quorum queue with a delivery limit" + counts
	case !q.DeliveryLimit.Set || q.DeliveryLimit.Value < 0:
		return "give the queue a delivery limit" + counts
	case counts == "":
		return "leave them to delivery-limit " + q.DeliveryLimit.String()
	}

	return "let it return them by basic.reject: that counts towards delivery-limit " + q.DeliveryLimit.String() +
		", and basic.nack does not"
}

func (t *checking) findPollers(flow *model.Flow) {
	q := t.queue(flow.Worker.Queue)
	if !q.Polled() {
		return
	}
	t.foundIn(q, Finding{
		Code:     "poller",
		Message:  spell("an application polls %s instead of consuming it", q),
		Evidence: spell("0 consumers, basic.get %.1f/s (with or without a message)", q.PollRate.Or(0)),
	})
}
