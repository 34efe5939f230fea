package shell

import (
	"context"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

const (
	PollTimeout  = 15 * time.Second
	CountTimeout = 10 * time.Second
	CountedFor   = 5 * time.Second // how long a count is shown when no newer one comes
)

// Counted counts queues exactly; nil when there are none, or on an error: then the last poll stands.
func Counted(ctx context.Context, counter Counter, refs []model.QueueRef) model.CountsByQueue {
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

// Pace is how often a broker is asked: at most every least, and less often when it is slow, so that answering takes at
// most 1/share of its time; but at least every most.
type Pace struct {
	Least, Most time.Duration // from the start of one question to the start of the next
	Share       int
}

// Every returns the time from the start of a question that took this long to the start of the next.
func (p Pace) Every(took time.Duration) time.Duration {
	return min(max(p.Least, time.Duration(p.Share)*took), max(p.Most, p.Least))
}

// The two ways to count between polls. A passive declare costs the broker next to nothing; totals cover all queues at
// once.
var (
	DeclarePace = Pace{Least: 250 * time.Millisecond, Most: 10 * time.Second, Share: 4}
	TotalsPace  = Pace{Least: 250 * time.Millisecond, Most: 30 * time.Second, Share: 10}
)
