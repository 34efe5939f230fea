package shell

import (
	"context"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/ports"
)

const (
	PollTimeout  = 15 * time.Second
	CountTimeout = 10 * time.Second
	CountedFor   = 5 * time.Second // for so long a count is shown when no newer one comes
)

// Counted counts queues exactly; nil when there are none, or when it cannot be done: then what the last poll told
// stands.
func Counted(ctx context.Context, counter ports.Counter, refs []model.QueueRef) map[model.QueueRef]model.QueueCounts {
	if len(refs) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, CountTimeout)
	defer cancel()
	counts, err := counter.Count(ctx, refs)
	if err != nil {
		return nil
	}
	return counts
}
