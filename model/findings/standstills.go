package findings

// Findings about consumers that keep messages from moving.

// findInactiveConsumers finds queues with a single active consumer of which none is active. A quorum queue can come to
// that after consumer timeouts (4.3.0 to 4.3.6): it then delivers nothing until all its consumers have gone.
func (t *checking) findInactiveConsumers(q queue) {
	ready := q.Ready.Or(0)
	consumers := q.Consumers.Or(0)
	if !q.NoneActive || ready == 0 || consumers == 0 {
		return
	}
	t.foundIn(q, Finding{
		Code:      "no-active-consumer",
		Happening: true,
		Message: spell("%s stands still: %v ready message(s) and %v consumer(s), but none of them is the active one", q,
			ready, consumers),
		Evidence: spell("x-single-active-consumer, single_active_consumer_tag null, %s ready, %s unacknowledged", q.Ready,
			q.Unacked),
	})
}

// findHeldMessages finds queues from which nothing moves because their consumers hold all that they may. Whether those
// hang or work for long, the broker does not know. Dramatiq's workers hold what is not due yet.
func (t *checking) findHeldMessages(q queue) {
	if q.HeldFor == 0 || t.IsBuffer(q.QueueRef) {
		return
	}
	t.foundIn(q, Finding{
		Code:      "no-acknowledgements",
		Happening: true,
		Message: spell("nothing of %s was acknowledged for %s or longer, and %v message(s) wait: its consumers hold as "+
			"many as they may", q, q.HeldFor, q.Ready.Or(0)),
		Evidence: spell("%s unacknowledged, all that the prefetch of %v consumer(s) allows", q.Unacked, q.HeldBy),
	})
}
