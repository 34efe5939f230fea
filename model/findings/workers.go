package findings

import (
	"github.com/dlxtop/dlxtop/model"
)

// Findings about workers and what they do with failures.

func (t *checking) findWorkersWithoutConsumers(flow *model.Flow) {
	q, _ := t.Queue(flow.Worker.Queue)
	if !isIdle(q, flow) {
		return
	}
	waiting, coming := q.Ready.Or(0), int64(0)
	for _, b := range flow.Buffers {
		coming += t.Waiting(b).Or(0)
	}

	f := Finding{
		Code:     "worker-without-consumers",
		Message:  spell("%s has no consumers, though buffers feed it", q),
		Evidence: spell("0 consumers, %v message(s) ready, %v waiting in %s", waiting, coming, listBuffers(flow)),
	}

	if waiting > 0 {
		f.Level = LevelError
		f.Message = model.Printable(q.Name) + " has no consumers: messages are stuck in it"
	}

	t.foundIn(q, f)
}

// findIdleSpills finds workers without consumers that are full, so that what comes pushes out what waits: they are
// away, or gone and still bound. These messages did not fail, though they end where failures do.
func (t *checking) findIdleSpills(q *model.Queue, s model.Settings) {
	full := s.MaxLength.Value > 1 && s.DropsHead() && q.Ready.Or(0) >= s.MaxLength.Value
	flow, _ := t.FlowOf(q.QueueRef)
	targets := t.OverflowTargets(q.QueueRef)
	if !full || len(targets) == 0 || !isAway(q) || !t.IsWorker(q.QueueRef) || len(flow.Buffers) > 0 {
		return // with buffers, findWorkersWithoutConsumers tells it
	}

	t.foundIn(q, Finding{
		Code:     "worker-without-consumers",
		Message:  spell("%s has no consumers and is full: what comes pushes its oldest messages out to %v", q, targets),
		Evidence: "0 consumers; " + bounds(q, s),
		Remedy: "start the application that consumes it; if there is none any more, remove the bindings of the queue, " +
			"then replay or move what it has",
	})
}

// isIdle reports whether the worker of a flow with buffers has no consumers, as far as statistics show.
func isIdle(worker *model.Queue, flow *model.Flow) bool {
	return isAway(worker) && len(flow.Buffers) > 0
}

func isAway(worker *model.Queue) bool { return worker.Applications().Or(1) == 0 && !worker.Polled() }

// mostConfirmed bounds how many queues are counted before a finding says that they have no consumers.
const mostConfirmed = 8

// Unconfirmed returns the workers without consumers by the statistics, if they can be counted: Topology.Confirmed takes
// the counts.
func Unconfirmed(t *model.Topology) (refs []model.QueueRef) {
	for f := range model.Each(t.Flows()) {
		q, _ := t.Queue(f.Worker.Queue)
		declare, _ := t.Countable(q.QueueRef)
		if isIdle(q, f) && declare && len(refs) < mostConfirmed {
			refs = append(refs, q.QueueRef)
		}
	}

	return refs
}

func listBuffers(flow *model.Flow) string {
	refs := make([]model.QueueRef, len(flow.Buffers))
	for i, b := range flow.Buffers {
		refs[i].Name = b.Name()
	}
	return model.Names(refs)
}

func (t *checking) findRejectsLost(flow *model.Flow) {
	q, _ := t.Queue(flow.Worker.Queue)
	if !q.NoDLX(t.Settings(q.QueueRef)) || len(flow.Failed) > 0 || q.Type == model.Stream || flow.Retries() {
		return
	}
	t.foundIn(q, Finding{
		Code: "rejects-lost",
		Message: spell("messages rejected by consumers of %s are lost: the queue has no dead-letter "+
			"exchange, and the flow has no failed queue", q),
		Evidence: "no dead-letter-exchange by argument or policy; no failed queue found",
	})
}

// findAutomaticAcknowledgements finds workers with dead lettering whose consumers take each message as done when it is
// sent to them (auto-ack): they can reject none. Looks of dlxtop acknowledge nothing, and are the smaller part.
func (t *checking) findAutomaticAcknowledgements(flow *model.Flow) {
	q, _ := t.Queue(flow.Worker.Queue)
	settings := t.Settings(q.QueueRef)
	automatic, all := q.DeliveredNoAck.Or(0), q.Delivered.Or(0)

	mostly := 2*automatic > all && q.Acked.Or(0) == 0
	if !settings.DLX.Set || !q.Consumed() || !mostly {
		return
	}

	t.foundIn(q, Finding{
		Code: "automatic-acknowledgements",
		Message: spell("messages that fail in a consumer of %s are lost: RabbitMQ takes them as done when it sends "+
			"them, and none is ever rejected", q),
		Evidence: spell("%v of %v (delivery|deliveries) needed no acknowledgement; dead-letter-exchange %s", automatic, all,
			settings.DLX),
	})
}

func (t *checking) findBuffersWithConsumers(flow *model.Flow) {
	for _, b := range flow.Buffers {
		q, _ := t.Queue(b.Queue)
		if q == nil || b.Held {
			continue
		}
		n := q.Consumers.Or(0)
		if n == 0 || t.FlowsOf(b.Queue)[0] != flow {
			continue
		}

		f := Finding{
			Code:     "buffer-with-consumers",
			Message:  spell("the delay of %s is bypassed: consumers take its messages before they expire", q),
			Evidence: spell("%v consumer(s), message-ttl %s", n, t.Settings(b.Queue).TTL),
			Remedy:   "stop the consumers of the buffer: the application should consume " + model.Names(b.Targets),
		}

		// Counts show the same of a worker that is too slow.
		if _, stated := t.StatedRole(q.QueueRef); !stated && !model.NamedForWaiting(q.Name) {
			f.Level = LevelInfo
			f.Message += spell("; or it is a worker whose late messages go on to %v", b.Targets)
			f.Remedy += "; if it is a worker, state that in the configuration ([roles])"
		}

		t.foundIn(q, f)
	}
}
