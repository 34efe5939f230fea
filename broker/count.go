package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker/link"
	"github.com/dlxtop/dlxtop/model"
)

const (
	// countLanes is how many queues are counted in parallel: the library waits for each answer on its channel.
	countLanes = 8
	// countTries is how often a queue is asked if it does not answer, a quarter of a second each time.
	countTries = 3
	// refusedFor is how long a missing or exclusive queue is not asked again: each such answer closes a channel, and the
	// broker logs it.
	refusedFor = 30 * time.Second
	// settledAfter is how long after dlxtop returned messages a count may still lack some of them.
	settledAfter = comeback + 100*time.Millisecond
)

// counter keeps the channels on which queues are counted. One count runs at a time.
type counter struct {
	turn    chan struct{} // full while one runs
	running sync.WaitGroup
	lanes   map[string]*[countLanes]*amqp.Channel // by vhost; its owner has the turn
	// lanes at most, where a limit allows no more; its owner has the turn
	most    map[string]int
	refused map[model.QueueRef]time.Time // until when; its owner has the turn
	permits map[model.ExchangeRef]permit // its owner has the turn
}

// Count counts queues exactly and immediately: their ready messages and their consumers. It keeps its channels, so that
// up to eight queues take one round trip. A queue that does not exist, or is exclusive to another connection, is left
// out, and is not asked again for some time; one that does not answer has no figures. Do not count streams, for which a
// broker answers 0 (all versions), nor classic queues with x-expires, whose lease it renews.
//
// If dlxtop itself held messages of a queue meanwhile, its count says so (Held): ready is then less than what is there.
func (c *Client) Count(ctx context.Context, refs []model.QueueRef) (model.CountsByQueue, error) {
	var counts model.CountsByQueue
	var err error
	if late := c.counter.inTurn(ctx, "count queues", func() { counts, err = c.count(ctx, refs) }); late != nil {
		return nil, late
	}

	return counts, err
}

// inTurn does something with the turn. Its error says that the broker has not answered in time: then it still runs.
func (c *counter) inTurn(ctx context.Context, attempt string, do func()) error {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("%s: the last count was not answered yet: %w", attempt, ctx.Err())
	}

	done := make(chan struct{})
	c.running.Go(func() {
		defer close(done)
		do()
		<-c.turn
	})

	select {
	case <-done:
		return nil
	case <-ctx.Done(): // a channel's call ignores the context: it ends with the answer, or with the connection
		return fmt.Errorf("%s: %w", attempt, ctx.Err())
	}
}

// CountInTurn is Count of one queue while no other dlxtop of this machine holds messages of it. decides: an action
// follows.
func (c *Client) CountInTurn(
	ctx context.Context, queue model.QueueRef, decides bool,
) (model.CountsByQueue, error) {
	t, err := c.takeTurn(ctx, queue, decides)
	if err != nil {
		return nil, fmt.Errorf("count: %w", err)
	}
	defer t.end()

	return c.Count(ctx, []model.QueueRef{queue})
}

// silent returns the error of a queue that is there and did not answer.
func silent(counts model.CountsByQueue, ref model.QueueRef) error {
	if q, there := counts[ref]; there && !q.Ready.Known() {
		return link.QueueError("count", ref, model.ErrQueueSilent)
	}
	return nil
}

// count is Count for the owner of the turn.
func (c *Client) count(ctx context.Context, refs []model.QueueRef) (model.CountsByQueue, error) {
	began := time.Now()
	byVHost := map[string][]model.QueueRef{}
	for _, ref := range refs {
		if until, ok := c.counter.refused[ref]; !ok || began.After(until) {
			delete(c.counter.refused, ref)
			byVHost[ref.VHost] = append(byVHost[ref.VHost], ref)
		}
	}

	counts := make(model.CountsByQueue, len(refs))
	var failed error
	for vhost, own := range byVHost {
		err := link.Patiently(ctx, link.IsChannelLimit, func() error { return c.countIn(ctx, vhost, own, counts) })
		if err != nil {
			failed = err
		}
	}

	if err := ctx.Err(); err != nil && failed == nil {
		failed = fmt.Errorf("count queues: %w", err)
	}

	for ref, q := range counts {
		q.Held = c.holds.since(ref, began.Add(-settledAfter))
		counts[ref] = q
	}

	return counts, failed
}

// countIn counts the queues of a vhost. If a limit allows fewer channels than needed, it says so, and from then on this
// client uses half as many.
func (c *Client) countIn(
	ctx context.Context, vhost string, own []model.QueueRef, counts model.CountsByQueue,
) error {
	connection, err := c.Connection(ctx, vhost)
	if err != nil {
		return err
	}
	kept := c.counter.lanes[vhost]
	if kept == nil {
		kept = &[countLanes]*amqp.Channel{}
		c.counter.lanes[vhost] = kept
		c.counter.most[vhost] = min(countLanes, max(1, int(connection.Config.ChannelMax)-link.ChannelsNeeded+1))
	}

	var mu sync.Mutex // guards counts, refused and failed
	var failed error
	var lanes sync.WaitGroup
	most := min(c.counter.most[vhost], len(own))
	for lane := range most {
		lanes.Go(func() {
			for i := lane; i < len(own) && ctx.Err() == nil; i += most {
				q, err := c.countOne(ctx, &kept[lane], own[i])
				mu.Lock()
				switch {
				case err == nil:
					counts[own[i]] = q
				case errors.Is(err, model.ErrQueueGone), errors.Is(err, model.ErrQueueDown),
					errors.Is(err, model.ErrQueueExclusive):
					c.counter.refused[own[i]] = time.Now().Add(refusedFor)
				case !link.IsLimit(failed): // the others then lost their connection
					failed = err
				}

				stop := failed != nil
				mu.Unlock()
				if stop {
					return
				}
			}
		})
	}

	lanes.Wait()
	if link.IsChannelLimit(failed) {
		c.counter.most[vhost] = max(1, most/2)
	}

	return failed
}

// countOne counts a queue on a kept channel, which is opened when missing. A silent queue is asked again, and then
// unknown.
func (c *Client) countOne(ctx context.Context, channel **amqp.Channel, ref model.QueueRef) (model.QueueCounts, error) {
	if *channel == nil || (*channel).IsClosed() {
		opened, err := c.KeptChannel(ctx, ref.VHost)
		if err != nil {
			return model.QueueCounts{}, err
		}
		*channel = opened
	}

	for range countTries {
		q, answered, err := c.Declared(*channel, ref.Name)
		if err != nil {
			return model.QueueCounts{}, link.QueueError("count", ref, err)
		}
		if answered {
			return model.QueueCounts{Ready: model.Some(int64(q.Messages)), Consumers: model.Some(int64(q.Consumers))}, nil
		}
	}

	return model.QueueCounts{}, nil
}

// holds knows of which queues this client holds messages, or did so recently: counts taken meanwhile are too low.
type holds struct {
	sync.Mutex
	now   map[model.QueueRef]int       // the number of sources
	ended map[model.QueueRef]time.Time // the end of the last one
}

// begin records that messages of a queue are held until end is called. end may be called again.
func (h *holds) begin(queue model.QueueRef) (end func()) {
	h.Lock()
	defer h.Unlock()
	h.now[queue]++

	return sync.OnceFunc(func() {
		h.Lock()
		defer h.Unlock()
		if h.now[queue]--; h.now[queue] == 0 {
			delete(h.now, queue)
		}
		h.ended[queue] = time.Now()
	})
}

// since reports whether messages of a queue were held at any time since then.
func (h *holds) since(queue model.QueueRef, then time.Time) bool {
	h.Lock()
	defer h.Unlock()
	return h.now[queue] > 0 || h.ended[queue].After(then)
}

// Held returns the queues whose messages this client held at any time since then: the broker's counts of that time show
// them as unacknowledged, and the client as a consumer.
func (c *Client) Held(since time.Time) model.QueueSet {
	c.holds.Lock()
	defer c.holds.Unlock()
	held := make(model.QueueSet, len(c.holds.now))
	for queue := range c.holds.now {
		held[queue] = true
	}

	for queue, ended := range c.holds.ended {
		if ended.After(since) {
			held[queue] = true
		}
	}

	return held
}
