package broker

import (
	"cmp"
	"context"
	"maps"
	"math"
	"sync"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
)

// PeekLedger remembers, for every dlxtop of a user, what looks have cost where returns count towards a delivery limit,
// and how looks ended that dlxtop did not end. Its errors are one sentence.
type PeekLedger interface {
	// Change updates with how what is remembered of a queue, and excludes other changes meanwhile. how may be called
	// several times, and the last call counts.
	Change(ctx context.Context, cluster string, queue model.QueueRef, how func(*model.Looked)) error
	// Looked is what is remembered of the queues of a cluster.
	Looked(ctx context.Context, cluster string) (model.LookedByQueue, error)
	Close() error
}

// ownLooks remembers what this program did, if nothing can be kept on disk.
type ownLooks struct {
	sync.Mutex
	looked model.LookedByQueue
}

func (l *ownLooks) Change(_ context.Context, _ string, queue model.QueueRef, how func(*model.Looked)) error {
	l.Lock()
	defer l.Unlock()
	looked := l.looked[queue]
	if how(&looked); looked == (model.Looked{}) {
		delete(l.looked, queue)
	} else {
		l.looked[queue] = looked
	}

	return nil
}

func (l *ownLooks) Close() error { return nil }

func (l *ownLooks) Looked(context.Context, string) (model.LookedByQueue, error) {
	l.Lock()
	defer l.Unlock()
	return maps.Clone(l.looked), nil
}

// memory returns where looks are remembered. After a disk error this program remembers only its own.
func (c *Client) memory() PeekLedger {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.looks == nil || c.looksFailed != nil {
		return c.own
	}
	return c.looks
}

func (c *Client) forgets(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looksFailed = cmp.Or(c.looksFailed, err)
}

// remember updates what is remembered of a queue: on disk, otherwise in this program.
func (c *Client) remember(ctx context.Context, queue model.QueueRef, how func(*model.Looked)) {
	cluster := c.clusterName()
	if err := c.memory().Change(ctx, cluster, queue, how); err != nil && ctx.Err() == nil {
		c.forgets(err)
		_ = c.own.Change(ctx, cluster, queue, how)
	}
}

func (c *Client) Looked(ctx context.Context, cluster string) (model.LookedByQueue, error) {
	looked, err := c.memory().Looked(ctx, cmp.Or(cluster, c.Address()))
	if err != nil && ctx.Err() == nil {
		c.forgets(err)
		looked, _ = c.own.Looked(ctx, cluster)
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	return looked, cmp.Or(c.looksFailed, c.turnsFailed)
}

// storeLook keeps what a look at a whole queue has read for every dlxtop of this user, where each look uses up a
// delivery limit.
func (c *Client) storeLook(p *peek.Peeked) {
	whole := p.Plan.Limit >= peek.MostLook || int64(p.Messages.Len()) >= p.Depth.Or(math.MaxInt64)
	complete := whole && !p.Fewer && !p.Rescued.Any()
	useful := p.Plan.Counts && !p.Plan.Nameless
	if c.store != nil && useful && complete {
		_ = c.store.Save(c.clusterName(), p) // otherwise the next one looks again
	}
}

// outdate forgets what was kept of a queue out of which messages are taken.
func (c *Client) outdate(s *source) {
	if c.store != nil && s.acts {
		c.store.Drop(c.clusterName(), s.plan.Queue)
	}
}

// lookBegins records that a look counts, before anything is taken. It refuses a look that would use up the delivery
// limit, or would most likely end like an earlier one.
func (c *Client) lookBegins(ctx context.Context, s *source) error {
	plan := &s.plan
	var looked model.Looked
	c.remember(ctx, plan.Queue, func(l *model.Looked) { looked = *l })
	empty := s.depth == 0 && plan.Method != peek.Stream
	switch {
	case empty && looked.Ended.Any() && time.Since(looked.Ended.At) < forgetAfter:
		return nil
	case empty:
		if plan.Counts || looked.Ended.Any() {
			c.forget(ctx, plan.Queue)
		}
		return nil
	case !plan.Considers(looked.Ended):
		return &peek.LookEnded{Type: plan.Type, Ended: looked.Ended}
	}

	if plan.ApplyEnded(looked); !plan.Counts {
		return nil
	}
	c.remember(ctx, plan.Queue, func(l *model.Looked) {
		looked = *l
		if s.noted = l.Highest <= plan.MostCounted(); s.noted {
			l.Highest, l.Limit = l.Highest+1, plan.Budget
		}
	})

	if ctx.Err() != nil {
		return ctx.Err()
	}
	if !s.noted {
		return plan.Weigh(looked.Highest)
	}

	return nil
}

// forgetAfter is how long an empty queue must not forget how a look at it ended: what that look held may still be on
// its way back.
const forgetAfter = time.Minute

func (c *Client) forget(ctx context.Context, queue model.QueueRef) {
	c.remember(ctx, queue, func(l *model.Looked) { *l = model.Looked{} })
}

// lookEnds records what a look has cost, and how it ended, and returns the highest delivery count that a message of the
// queue may have now.
func (c *Client) lookEnds(s *source) (highest int64) {
	end := s.brink.end(s)
	if !s.noted && !end.Ended.Any() && !s.plan.Ended.Any() {
		return 0
	}
	const limit = 4 * time.Second // for a slow disk
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := c.memory().Change(ctx, c.clusterName(), s.plan.Queue, func(l *model.Looked) {
		l.Highest, l.Ended = end.After(l.Highest), end.Then(l.Ended)
		highest = l.Highest
	}); err != nil {
		c.forgets(err)
		highest = end.Highest
	}

	return highest
}

// clusterName returns the name under which the looks at a broker's queues are remembered.
func (c *Client) clusterName() string {
	return cmp.Or(c.KnownCluster(), c.Address())
}
