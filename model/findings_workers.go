package model

import "fmt"

// Findings about workers and what they do with failures.

func findWorkersWithoutConsumers(t *Topology, found func(Finding)) {
	for i := range t.flows {
		flow := &t.flows[i]
		q := t.queues[flow.Worker.Queue]
		consumers, known := q.Consumers.Get()
		if !known || consumers > 0 || len(flow.Buffers) == 0 {
			continue
		}
		waiting := q.Ready.Or(0)
		coming := int64(0)
		for i := range flow.Buffers {
			coming += t.Waiting(&flow.Buffers[i]).Or(0)
		}
		f := Finding{
			Code: "worker-without-consumers", Level: LevelWarning, VHost: q.VHost, Queue: q.Name,
			Message:  fmt.Sprintf("nothing consumes %s, though buffers feed it", Printable(q.Name)),
			Evidence: fmt.Sprintf("0 consumers, %s ready, %d waiting in %s", Plural(waiting, "message"), coming, listBuffers(flow)),
			Remedy:   "start the application that consumes it; what comes out of the buffers waits here meanwhile",
		}
		if waiting > 0 {
			f.Level = LevelError
			f.Message = fmt.Sprintf("nothing consumes %s: %s stuck in it", Printable(q.Name), are(waiting, "message"))
		}
		found(f)
	}
}

func listBuffers(flow *Flow) string {
	refs := make([]QueueRef, len(flow.Buffers))
	for i := range flow.Buffers {
		refs[i].Name = flow.Buffers[i].Name()
	}
	return list(refs)
}

func findRejectsLost(t *Topology, found func(Finding)) {
	for i := range t.flows {
		flow := &t.flows[i]
		q := t.queues[flow.Worker.Queue]
		if !q.noDLX(t.settings[q.QueueRef]) || len(flow.Failed) > 0 || t.hasRetryBuffer(flow) || q.Type == Stream {
			continue
		}
		found(Finding{
			Code: "rejects-lost", Level: LevelWarning, VHost: q.VHost, Queue: q.Name,
			Message:  fmt.Sprintf("a message that a consumer of %s rejects is lost: it has no dead-letter exchange, and the flow no failed queue", Printable(q.Name)),
			Evidence: "no dead-letter-exchange by argument or policy; no failed queue found",
			Remedy:   "set a dead-letter-exchange on the worker (by policy it takes effect at once) and bind a failed queue to it",
		})
	}
}

func (t *Topology) hasRetryBuffer(flow *Flow) bool {
	for _, b := range flow.Buffers {
		if b.Role == RetryBuffer {
			return true
		}
	}
	return false
}

func findBuffersWithConsumers(t *Topology, found func(Finding)) {
	for i := range t.flows {
		for _, b := range t.flows[i].Buffers {
			q := t.queues[b.Queue]
			if q == nil || b.Held {
				continue
			}
			if n := q.Consumers.Or(0); n > 0 && t.flowsOf[b.Queue][0] == &t.flows[i] {
				found(Finding{
					Code: "buffer-with-consumers", Level: LevelWarning, VHost: q.VHost, Queue: q.Name,
					Message:  fmt.Sprintf("the delay of %s is bypassed: consumers take its messages before they expire", Printable(q.Name)),
					Evidence: fmt.Sprintf("%s, message-ttl %s", Plural(n, "consumer"), t.settings[b.Queue].TTL),
					Remedy:   "stop the consumers of the buffer: the application should consume " + list(b.Targets),
				})
			}
		}
	}
}

// From 4.0 the broker ignores an x-death that a client publishes (before, it went on counting in it): a worker that
// republishes a failed message to a retry buffer, and gives up by the count of x-death, then never gives up.
func findUncountedRetries(t *Topology, found func(Finding)) {
	version := t.Snapshot.Overview.Version
	if !version.Known() || t.Behaviour.CountsRepublishedDeaths {
		return
	}
	for i := range t.flows {
		flow := &t.flows[i]
		for _, b := range flow.Buffers {
			if b.Role != RetryBuffer || t.rejectsReach(flow.Worker.Queue, b.Queue) {
				continue
			}
			found(Finding{
				Code: "republished-deaths-uncounted", Level: LevelWarning, VHost: flow.VHost, Queue: b.Queue.Name,
				Message:  fmt.Sprintf("retries of %s may never end: RabbitMQ %s does not count deaths in messages that a worker republishes", Printable(flow.Name), version),
				Evidence: fmt.Sprintf("%s is filled by publishing, not by a dead-letter exchange of %s; x-death stays at count 1 there", Printable(b.Queue.Name), Printable(flow.Name)),
				Remedy:   "let the worker count its tries in a header of its own, or let it reject the message into a dead-letter exchange that leads to the buffer",
			})
		}
	}
}

func (t *Topology) rejectsReach(worker, buffer QueueRef) bool {
	for _, ref := range t.rejectedTargets(worker) {
		if ref == buffer {
			return true
		}
	}
	return false
}
