package broker

import (
	"context"
	"fmt"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

const (
	acksEvery = time.Second // between two readings of what was acknowledged
	// acksPatience is how long at least an acknowledgement may take, behind the wait itself
	acksPatience = 3 * model.StatisticsLag
)

// countAcks notes what was acknowledged before a stage. Without statistics a canary trusts deliveries.
func (c *canary) countAcks(ctx context.Context) {
	c.acksBefore = map[model.QueueRef]*model.Queue{}
	t, err := c.topology(ctx)
	if err != nil || t == nil {
		return
	}
	for _, r := range c.execution.plan.Recipients {
		if q, ok := t.Queue(r.Queue); ok && q.Type != model.Stream {
			c.acksBefore[r.Queue] = q
		}
	}
}

// topology is what the management API tells now; nil when it tells no statistics.
func (c *canary) topology(ctx context.Context) (*model.Topology, error) {
	if c.execution.client.reread == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, guardTimeout)
	defer cancel()
	t, err := c.execution.client.reread(ctx)
	if err != nil || t.Snapshot.Overview.StatsOff {
		return nil, err
	}
	return t, nil
}

// acknowledged waits until what was sent is acknowledged, and reports whether it was.
func (c *canary) acknowledged(ctx context.Context) bool {
	var acks []*plan.CanaryAcks
	for _, t := range c.targets {
		if c.acksBefore[t.queue] != nil {
			acks = append(acks, &plan.CanaryAcks{Queue: t.queue, Sent: t.sent})
		}
	}
	var missing *plan.CanaryAcks
	try := func() verdict {
		if missing = c.unacknowledged(ctx, acks); missing == nil {
			return passed
		}
		c.execution.ledger.watch(c.unsettled(missing))
		if missing.Loops() {
			c.refuseUnsettled(missing)
			return failed
		}
		return undecided
	}
	if v := try(); v != undecided {
		return v == passed && ctx.Err() == nil
	}
	return c.wait(ctx, acksEvery, max(acksPatience, c.plan.Wait), try, func() bool {
		c.refuseUnsettled(missing)
		return false
	})
}

// unacknowledged is the first queue in which what was sent is not acknowledged as far as is known; nil when it is in
// all of them.
func (c *canary) unacknowledged(ctx context.Context, acks []*plan.CanaryAcks) *plan.CanaryAcks {
	if len(acks) == 0 {
		return nil
	}
	t, err := c.topology(ctx)
	if err != nil || t == nil {
		return acks[0]
	}
	now := time.Now()
	for _, a := range acks {
		before := c.acksBefore[a.Queue]
		q, ok := t.Queue(a.Queue)
		if !ok {
			continue // it is gone, and what was in it
		}
		if a.Count(before, q, now); !a.Passed(before, now) {
			return a
		}
	}
	return nil
}

func (c *canary) unsettled(a *plan.CanaryAcks) plan.CanaryState {
	return plan.CanaryState{Phase: plan.CanaryUnsettled, Sent: c.sent, Wait: c.plan.Wait, Acks: a}
}

// refuseUnsettled ends it: what was sent was taken, and nobody says that it was processed.
func (c *canary) refuseUnsettled(a *plan.CanaryAcks) {
	state := c.unsettled(a)
	c.judged = true
	c.execution.ledger.watch(state)
	c.execution.end(fmt.Errorf("the canary has not passed: %s", state.Words()))
}
