package findings

import "github.com/dlxtop/dlxtop/model"

// findDoubledFailures finds workers whose failures arrive in several failed queues: replaying all of them processes a
// message several times.
func (t *checking) findDoubledFailures(flow *model.Flow) {
	worker := flow.Worker.Queue
	queues := t.FailedTogether(worker)
	if len(queues) == 0 {
		return
	}
	t.foundAt(worker, Finding{
		Code: "failure-in-two-queues",
		Message: spell("each message that %s rejects arrives in %s: replayed from each, it is processed %d times",
			worker, queues, len(queues)),
		Evidence: spell("its dead-letter exchange %s leads to all of them", model.ExchangeName(t.Settings(worker).DLX.Value)),
	})
}
