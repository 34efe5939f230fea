package findings

import "github.com/dlxtop/dlxtop/model"

// Findings about consumers that keep messages from moving.

// findInactiveConsumers finds queues with a single active consumer of which none is active. A quorum queue can come to
// that after consumer timeouts (4.3.0 to 4.3.6): it then delivers nothing until all its consumers have gone.
func (t *checking) findInactiveConsumers(q *model.Queue, _ model.Settings) {
	ready := q.Ready.Or(0)
	consumers := q.Consumers.Or(0)
	if !q.NoneActive || ready == 0 || consumers == 0 {
		return
	}
	t.foundIn(q, Finding{
		Code:      "no-active-consumer",
		Level:     LevelError,
		Happening: true,
		Message: spell("%s stands still: %s and %s, but none of them is the active one", q,
			model.Plural(ready, "ready message"), model.Plural(consumers, "consumer")),
		Evidence: spell("x-single-active-consumer, single_active_consumer_tag null, %s ready, %s unacknowledged", q.Ready,
			q.Unacked),
		Remedy: "restart all its consumers: it goes on when the last of the old ones has disconnected; RabbitMQ 4.3.0 to " +
			"4.3.6 come to this when each consumer has exceeded the consumer timeout",
	})
}

// findHeldMessages finds queues from which nothing moves because their consumers hold all that they may. Whether those
// hang or work for long, the broker does not know. Dramatiq's workers hold what is not due yet.
func (t *checking) findHeldMessages(q *model.Queue, _ model.Settings) {
	if q.HeldFor == 0 || t.IsBuffer(q.QueueRef) {
		return
	}
	t.foundIn(q, Finding{
		Code:      "no-acknowledgements",
		Happening: true,
		Message: spell("nothing of %s was acknowledged for %s or longer, and %s wait: its consumers hold as many as they may",
			q, model.ShortDuration(q.HeldFor), model.Plural(q.Ready.Or(0), "message")),
		Evidence: spell("%s unacknowledged, all that the prefetch of %s allows", q.Unacked,
			model.Plural(q.HeldBy, "consumer")),
		Remedy: "see what the application does with them: one that hangs looks like one that works for long; when its " +
			"connection ends, RabbitMQ delivers them again",
	})
}
