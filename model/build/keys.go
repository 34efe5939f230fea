package build

import "github.com/dlxtop/dlxtop/model"

// CopyKeyParts are two workers that share a retry buffer, as in Rascal's documentation: failures are published to delay
// with the worker's name in the routing key and delay.5s in CC, and expire into retry with both.
var CopyKeyParts = []Part{
	Text(`
		exchange topic service
		exchange topic delay
		exchange topic retry
		queue user:save consumers=1
		queue user:delete consumers=1
		queue delay:5s ttl=5000 dlx=retry
		bind service created.# user:save
		bind service deleted.# user:delete
		bind delay delay.5s delay:5s
		bind retry user:save.# user:save
		bind retry user:delete.# user:delete
	`),
}

// EntryRetryParts are a worker whose rejected messages wait and return to the exchange that publishers use.
var EntryRetryParts = []Part{
	Text(`
		exchange topic billing
		exchange topic billing.retry
		queue invoice consumers=1 dlx=billing.retry
		bind billing invoice.# invoice
		queue invoice.wait ttl=3000 dlx=billing
		bind billing.retry # invoice.wait
	`),
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
