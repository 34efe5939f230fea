package peek

import (
	"context"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// settling is the interval between counts of a queue that is getting messages back.
const settling = 100 * time.Millisecond

type counter interface {
	Count(ctx context.Context, queues []model.QueueRef) (model.CountsByQueue, error)
}

// CountSettled counts the ready messages of a queue once its held messages are back. It is unknown when the queue
// cannot be counted, or ctx ends first.
func CountSettled(ctx context.Context, broker counter, queue model.QueueRef) model.Opt[int64] {
	ticker := time.NewTicker(settling)
	defer ticker.Stop()
	for {
		counts, err := broker.Count(ctx, []model.QueueRef{queue})
		if q, ok := counts[queue]; err != nil || !ok || !q.Held {
			return q.Ready
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return model.Unknown[int64]()
		}
	}
}
