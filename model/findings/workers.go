package findings

import (
	"fmt"

	"github.com/dlxtop/dlxtop/model"
)

// Findings about workers and what they do with failures.

func findWorkersWithoutConsumers(t *model.Topology, found func(Finding)) {
	for i := range t.Flows() {
		flow := &t.Flows()[i]
		q, _ := t.Queue(flow.Worker.Queue)
		consumers, known := q.Consumers.Get()
		if !known || consumers > 0 || len(flow.Buffers) == 0 || q.Polled() {
			continue
		}
		waiting := q.Ready.Or(0)
		coming := int64(0)
		for _, b := range flow.Buffers {
			coming += t.Waiting(b).Or(0)
		}
		f := Finding{
			Code: "worker-without-consumers", Level: LevelWarning, VHost: q.VHost, Queue: q.Name,
			Message: fmt.Sprintf("%s has no consumers, though buffers feed it", model.Printable(q.Name)),
			Evidence: fmt.Sprintf("0 consumers, %s ready, %s waiting in %s", model.Plural(waiting, "message"),
				model.Count(coming), listBuffers(flow)),
			Remedy: "start the application that consumes it; messages from the buffers wait here until then",
		}
		if waiting > 0 {
			f.Level = LevelError
			f.Message = model.Printable(q.Name) + " has no consumers: messages are stuck in it"
		}
		found(f)
	}
}

// mostConfirmed bounds how many queues are counted before a finding says that nothing consumes them.
const mostConfirmed = 8

// Unconfirmed are the workers of which the statistics say that nothing consumes them, and that can be counted:
// Topology.Confirmed takes the counts.
func Unconfirmed(t *model.Topology) (refs []model.QueueRef) {
	for i := range t.Flows() {
		f := &t.Flows()[i]
		q, _ := t.Queue(f.Worker.Queue)
		consumers, known := q.Consumers.Get()
		declare, _ := t.Countable(q.QueueRef)
		if known && consumers == 0 && !q.Polled() && len(f.Buffers) > 0 && declare && len(refs) < mostConfirmed {
			refs = append(refs, q.QueueRef)
		}
	}
	return refs
}

func listBuffers(flow *model.Flow) string {
	refs := make([]model.QueueRef, len(flow.Buffers))
	for i := range flow.Buffers {
		refs[i].Name = flow.Buffers[i].Name()
	}
	return model.Names(refs)
}

func findRejectsLost(t *model.Topology, found func(Finding)) {
	for i := range t.Flows() {
		flow := &t.Flows()[i]
		q, _ := t.Queue(flow.Worker.Queue)
		if !q.NoDLX(t.Settings(q.QueueRef)) || len(flow.Failed) > 0 || hasRetryBuffer(t, flow) || q.Type == model.Stream {
			continue
		}
		found(Finding{
			Code: "rejects-lost", Level: LevelWarning, VHost: q.VHost, Queue: q.Name,
			Message: fmt.Sprintf("messages rejected by consumers of %s are lost: the queue has no dead-letter "+
				"exchange, and the flow has no failed queue", model.Printable(q.Name)),
			Evidence: "no dead-letter-exchange by argument or policy; no failed queue found",
			Remedy:   "set a dead-letter-exchange on the worker (a policy takes effect at once) and bind a failed queue to it",
		})
	}
}

func hasRetryBuffer(t *model.Topology, flow *model.Flow) bool {
	for _, b := range flow.Buffers {
		if b.Role == model.RetryBuffer {
			return true
		}
	}
	return false
}

func findBuffersWithConsumers(t *model.Topology, found func(Finding)) {
	for i := range t.Flows() {
		for _, b := range t.Flows()[i].Buffers {
			q, _ := t.Queue(b.Queue)
			if q == nil || b.Held {
				continue
			}
			if n := q.Consumers.Or(0); n > 0 && t.FlowsOf(b.Queue)[0] == &t.Flows()[i] {
				found(Finding{
					Code: "buffer-with-consumers", Level: LevelWarning, VHost: q.VHost, Queue: q.Name,
					Message: fmt.Sprintf("the delay of %s is bypassed: consumers take its messages before they expire",
						model.Printable(q.Name)),
					Evidence: fmt.Sprintf("%s, message-ttl %s", model.Plural(n, "consumer"), t.Settings(b.Queue).TTL),
					Remedy:   "stop the consumers of the buffer: the application should consume " + model.Names(b.Targets),
				})
			}
		}
	}
}
