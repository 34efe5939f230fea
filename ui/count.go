package ui

import (
	"context"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/ports"
)

const (
	pollTimeout  = 15 * time.Second
	countTimeout = 10 * time.Second
	countedFor   = 5 * time.Second // for so long a count is shown when no newer one comes
)

// counted counts queues exactly; nil when there are none, or when it cannot be done: then what the last poll told
// stands.
func counted(ctx context.Context, counter ports.Counter, refs []model.QueueRef) map[model.QueueRef]model.QueueCounts {
	if len(refs) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, countTimeout)
	defer cancel()
	counts, err := counter.Count(ctx, refs)
	if err != nil {
		return nil
	}
	return counts
}
