package findings

import (
	"github.com/dlxtop/dlxtop/model"
)

// Findings about workers and what they do with failures.

func (t *checking) findWorkersWithoutConsumers(flow *model.Flow) {
	q := t.queue(flow.Worker.Queue)
	if !isIdle(q.Queue, flow) {
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

	spills := t.OverflowTargets(q.QueueRef)
	stay, end := "are stuck in it", ""
	if q.TTL.Set {
		stay, end = "wait in it", spell(", and expire after %s", q.TTL.Value)
		f.Remedy = "start the application that consumes it; until then messages from the buffers expire here"
	}

	switch {
	case len(flow.Buffers) > 0 && waiting > 0:
		f.Level = LevelError
		f.Message = spell("%s has no consumers: messages "+stay+end, q)
	case len(flow.Buffers) > 0:
	default:
		f.Message = spell("%s has no consumers: %v message(s) (waits|wait) in it"+end, q, waiting)
		f.Evidence = spell("0 consumers, %v message(s) ready", waiting)
		f.Remedy = "start the application that consumes it; if there is none any more, remove the bindings of the queue, " +
			"then replay or move what it has"

		if q.Full(q.Queue) && waiting > 1 && len(spills) > 0 {
			f.Message = spell("%s has no consumers and is full: what comes pushes its oldest messages out to %v", q, spills)
			f.Evidence = "0 consumers; " + bounds(q)
		}
	}

	t.foundIn(q, f)
}

// isIdle reports whether the worker of a flow has no consumers, as far as statistics show, and messages that wait, or
// buffers that feed it: it is away, or gone and still bound.
func isIdle(worker *model.Queue, flow *model.Flow) bool {
	away := worker.Applications().Or(1) == 0 && !worker.Polled()
	return away && (worker.Ready.Or(0) > 0 || len(flow.Buffers) > 0)
}

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
	q := t.queue(flow.Worker.Queue)
	if !q.NoDLX(q.Settings) || len(flow.Failed) > 0 || q.Type == model.Stream || flow.Retries() {
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
	q := t.queue(flow.Worker.Queue)
	automatic, all := q.DeliveredNoAck.Or(0), q.Delivered.Or(0)

	mostly := 2*automatic > all && q.Acked.Or(0) == 0
	if !q.DLX.Set || !q.Consumed() || !mostly {
		return
	}

	t.foundIn(q, Finding{
		Code: "automatic-acknowledgements",
		Message: spell("messages that fail in a consumer of %s are lost: RabbitMQ takes them as done when it sends "+
			"them, and none is ever rejected", q),
		Evidence: spell("%v of %v (delivery|deliveries) needed no acknowledgement; dead-letter-exchange %s", automatic, all,
			q.DLX),
	})
}

func (t *checking) findBuffersWithConsumers(flow *model.Flow) {
	for _, b := range flow.Buffers {
		q := t.queue(b.Queue)
		n := q.Consumers.Or(0)
		if n == 0 || b.Held || t.FlowsOf(b.Queue)[0] != flow {
			continue
		}

		f := Finding{
			Code:     "buffer-with-consumers",
			Message:  spell("the delay of %s is bypassed: consumers take its messages before they expire", q),
			Evidence: spell("%v consumer(s), message-ttl %s", n, q.TTL),
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
