package broker

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
)

// Looks remembers, for every dlxtop on a machine, what looks have cost where returns count towards a delivery limit,
// and how looks ended that dlxtop did not end. Its errors are one sentence.
type Looks interface {
	// Lock waits until no other look at a queue runs, and excludes others until unlock is called, or the program ends.
	Lock(ctx context.Context, cluster string, queue model.QueueRef) (unlock func(), err error)
	// Change updates with how what is remembered of a queue, and excludes other changes meanwhile. how may be called
	// several times, and the last call counts.
	Change(ctx context.Context, cluster string, queue model.QueueRef, how func(*model.Looked)) error
	// Looked is what is remembered of the queues of a cluster.
	Looked(ctx context.Context, cluster string) (map[model.QueueRef]model.Looked, error)
	Close() error
}

// ownLooks remembers what this program did, if nothing can be kept on disk.
type ownLooks struct {
	mu     sync.Mutex
	looked map[model.QueueRef]model.Looked
	locks  map[model.QueueRef]chan struct{} // full during a look
}

// Lock waits for the other looks of this program at a queue; the error is that of ctx.
func (l *ownLooks) Lock(ctx context.Context, _ string, queue model.QueueRef) (unlock func(), err error) {
	l.mu.Lock()
	lock := l.locks[queue]
	if lock == nil {
		lock = make(chan struct{}, 1)
		l.locks[queue] = lock
	}
	l.mu.Unlock()
	select {
	case lock <- struct{}{}:
		return func() { <-lock }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *ownLooks) Change(_ context.Context, _ string, queue model.QueueRef, how func(*model.Looked)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	looked := l.looked[queue]
	if how(&looked); looked == (model.Looked{}) {
		delete(l.looked, queue)
	} else {
		l.looked[queue] = looked
	}
	return nil
}

func (l *ownLooks) Close() error { return nil }

func (l *ownLooks) Looked(context.Context, string) (map[model.QueueRef]model.Looked, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.looked), nil
}

// memory is where looks are remembered. After a disk error this program remembers only its own.
func (c *Client) memory() Looks {
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

func (c *Client) Looked(ctx context.Context, cluster string) (map[model.QueueRef]model.Looked, error) {
	looked, err := c.memory().Looked(ctx, cmp.Or(cluster, c.Address()))
	if err != nil && ctx.Err() == nil {
		c.forgets(err)
		looked, _ = c.own.Looked(ctx, cluster)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return looked, c.looksFailed
}

// turn is how long a look waits for another one if messages could be lost, and how long an action waits, which would
// otherwise miss messages. courtesy is for the rest, where order or completeness may suffer: an action may hold part of
// the queue for a long time.
const (
	turn     = 10 * time.Second
	courtesy = 2 * time.Second
)

// lock keeps other looks of this program away from a queue, and from a quorum queue those of other dlxtop on this
// machine: a second look does not see what the first one holds. On a quorum queue it would also change the order,
// because each look returns its part when it ends (3.10.8, 4.0.5, 4.3.6). Where returns count, messages can be lost: a
// waiting consumer receives what the other look returns, and if it is cancelled at that moment, RabbitMQ counts one
// more return (3.10.8, 4.0.5) and drops what is at its limit. File locks would not do for classic queues: queues share
// them, and an action on a classic queue would block looks at a quorum queue. lock needs a connection, because the lock
// is named after the cluster, whose name only the broker knows.
func (c *Client) lock(ctx context.Context, s *source) (unlock func(), err error) {
	plan := &s.plan
	if plan.Method == peek.Stream {
		return func() {}, nil
	}
	if _, err := c.Connection(ctx, plan.Queue.VHost); err != nil {
		return nil, err
	}
	limit := courtesy
	if plan.Limited() || s.acts {
		limit = turn
	}
	waiting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	locks := c.looks // even if the memory on disk has failed: other dlxtop take turns with this one
	if locks == nil || plan.Type != model.Quorum {
		locks = c.own
	}
	unlock, err = locks.Lock(waiting, c.clusterName(), plan.Queue)
	if err != nil && waiting.Err() == nil {
		c.forgets(err)
		unlock, err = c.own.Lock(waiting, c.clusterName(), plan.Queue)
	}
	switch {
	case ctx.Err() != nil:
		if err == nil { // it was free at once
			unlock()
		}
		return nil, ctx.Err()
	case err != nil && plan.Limited() && !s.shares():
		return nil, fmt.Errorf("%s: %w", model.Printable(plan.Queue.String()), model.ErrBeingRead)
	case err != nil:
		return func() {}, nil
	}
	return sync.OnceFunc(unlock), nil
}

// shares reports whether other looks may run beside the later pages of an action, which can take hours: only if
// returning messages neither loses one nor changes the order.
func (s *source) shares() bool { return s.acts && (s.plan.TakesAll || s.plan.Type != model.Quorum) }

// lookBegins records that a look counts, before anything is taken. It refuses a look that would use up the delivery
// limit, or would most likely end like an earlier one.
func (c *Client) lookBegins(ctx context.Context, s *source) error {
	plan := &s.plan
	var looked model.Looked
	c.remember(ctx, plan.Queue, func(l *model.Looked) { looked = *l })
	switch empty := s.depth == 0 && plan.Method != peek.Stream; {
	case empty && looked.Ended.Any() && time.Since(looked.Ended.At) < forgetAfter:
		return nil
	case empty:
		if plan.Counts || looked.Ended.Any() {
			c.forget(ctx, plan.Queue)
		}
		return nil
	case !plan.Heeds(looked.Ended):
		return &peek.LookEnded{Type: plan.Type, Ended: looked.Ended}
	}
	if plan.Heed(looked); !plan.Counts {
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

// clusterName is the name under which the looks at a broker's queues are remembered.
func (c *Client) clusterName() string {
	return cmp.Or(c.KnownCluster(), c.Address())
}
