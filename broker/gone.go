package broker

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/broker/link"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

const (
	// Missing heartbeats show that a machine was cut off. Until then the broker keeps what its program held.
	goneLimit = 3 * link.Heartbeat
	listEvery = 250 * time.Millisecond
	// newLimit is how long a list of connections may take to show a new one. After that the list is believed without it
	// (its node may collect no statistics).
	newLimit = 10 * time.Second
	// still is how long the counts of queues stay unchanged once everything held by a connection is back. A connection
	// leaves the list before its channels end, and a queue requeues what these held when they have ended (3.10.8): on a
	// machine with a load of 8 on 2 cores that took more than 300 ms.
	still      = time.Second
	countEvery = 50 * time.Millisecond
	stillLimit = 3 * time.Second
	backLimit  = 10 * time.Second // while fewer messages are there than expected: others may have taken them
)

// AwaitGone waits until the broker has noticed that the connections of a record, identified by name, are gone, and the
// queues have back what these held: before that a look would miss messages, and messages in flight may still arrive.
// connections are the names of all that the user may see. Without them it only waits for the queues' counts.
func (c *Client) AwaitGone(
	ctx context.Context, r *plan.Record, connections func(context.Context) ([]string, error), queues ...model.QueueRef,
) error {
	if r.Session != "" && r.Session != c.Session() {
		if err := c.awaitUnlisted(ctx, r, connections); err != nil {
			return err
		}
	}
	return c.awaitStill(ctx, r, queues)
}

// awaitUnlisted waits until none of a record's connections is listed. The list lacks the newest connections (up to 1 s
// on 3.10.8, 4.0.5 and 4.3.6, longer on a busy machine), so that of a program killed right after publishing may be
// missing while the broker still reads from it: a list counts only once it has a connection made just now.
func (c *Client) awaitUnlisted(
	ctx context.Context, r *plan.Record, connections func(context.Context) ([]string, error),
) error {
	held := func(name string) bool { return strings.HasSuffix(name, " "+r.Session) }
	if !r.Unfinished() { // its program may continue with other work, on its other connections
		held = func(name string) bool { return name == publishes+" "+r.Session }
	}
	newest := "dlxtop resume " + rand.Text()
	marker, err := c.Dial(ctx, r.From.VHost, newest)
	if err != nil {
		return err
	}
	defer marker.HangUp()
	for began := time.Now(); ; {
		names, err := connections(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return nil // only the counts are available
		}
		current := slices.Contains(names, newest) || time.Since(began) > newLimit
		if current && !slices.ContainsFunc(names, held) {
			return nil
		}
		if time.Since(began) > goneLimit {
			return fmt.Errorf(
				"RabbitMQ still has a connection of %s %d: end its program, or wait until RabbitMQ notices that it is gone",
				r.Operation,
				r.ID,
			)
		}
		if err := pause(ctx, listEvery); err != nil {
			return err
		}
	}
}

// awaitStill waits until everything that a record left is there, and the counts of queues stay unchanged for a moment,
// but not for long: others may be using them.
func (c *Client) awaitStill(ctx context.Context, r *plan.Record, queues []model.QueueRef) error {
	before, since, limit := int64(-1), time.Now(), backLimit
	for began := time.Now(); time.Since(began) < limit && (limit == backLimit || time.Since(since) < still); {
		counts, err := c.Count(ctx, queues)
		if err != nil {
			return err
		}
		ready, answered := int64(0), true
		for _, count := range counts {
			ready += count.Ready.Or(0)
			answered = answered && count.Ready.Known()
		}
		if ready != before {
			before, since = ready, time.Now()
		}
		if limit == backLimit && answered && r.IsBack(counts) {
			limit = time.Since(began) + stillLimit
		}
		if err := pause(ctx, countEvery); err != nil {
			return err
		}
	}
	return nil
}
