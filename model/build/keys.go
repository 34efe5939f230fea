package build

import "github.com/dlxtop/dlxtop/model"

// CopyKeyParts are two workers that share a retry buffer, as in Rascal's documentation: failures are published to delay
// with the worker's name in the routing key and delay.5s in CC, and expire into retry with both.
var CopyKeyParts = []Part{
	Exchange("topic", "service"), Exchange("topic", "delay"), Exchange("topic", "retry"),
	Queue("user:save", Consumers(1)), Queue("user:delete", Consumers(1)),
	Queue("delay:5s", TTL(5000), DLX("retry")),
	Bind("service", "created.#", "user:save"), Bind("service", "deleted.#", "user:delete"),
	Bind("delay", "delay.5s", "delay:5s"),
	Bind("retry", "user:save.#", "user:save"), Bind("retry", "user:delete.#", "user:delete"),
}

// EntryRetryParts are a worker whose rejected messages wait and return to the exchange that publishers use.
var EntryRetryParts = []Part{
	Exchange("topic", "billing"), Exchange("topic", "billing.retry"),
	Queue("invoice", Consumers(1), DLX("billing.retry")), Bind("billing", "invoice.#", "invoice"),
	Queue("invoice.wait", TTL(3000), DLX("billing")), Bind("billing.retry", "#", "invoice.wait"),
}

// Seen adds where peeked messages go from a queue.
func Seen(from string, to ...string) Part {
	return func(s *model.Snapshot) { s.Seen.To = map[model.QueueRef][]model.QueueRef{Ref(from): Refs(to...)} }
}

// SentInto adds from which queues peeked messages came into a queue.
func SentInto(queue string, from ...string) Part {
	return func(s *model.Snapshot) { s.Seen.From = map[model.QueueRef][]model.QueueRef{Ref(queue): Refs(from...)} }
}

// Counted sets the broker's counts of published and acknowledged messages.
func Counted(published, acked int64) Setting {
	return func(q *model.Queue) { q.Published, q.Acked = model.Some(published), model.Some(acked) }
}
