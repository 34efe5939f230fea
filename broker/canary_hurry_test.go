package broker_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

// TestCanaryHurriedOnce: who does not want to wait for the first message ends that wait alone: what follows it has to
// be acknowledged.
func TestCanaryHurriedOnce(t *testing.T) {
	a := newApp(t)
	from, to := canaryStage(t, a, model.Classic)
	a.publish(from.QueueRef, numbered(20)...)
	var read atomic.Int64
	c := newClient(t, broker.Options{URL: node.AMQP(), Reread: func(context.Context) (*model.Topology, error) {
		now := *to // it gives each message back, again and again
		now.Acked, now.Redelivered = model.Some[int64](0), model.Some(1000*read.Add(1))
		return topology([]*model.Queue{from, &now}), nil
	}})
	goOn := make(chan struct{})
	p := canaryPlan(t, plan.Replay, from, to, 20)
	p.GoOn = goOn
	began := false
	account := must.Get(c.Execute(t.Context(), p, func(account plan.Account) {
		switch {
		case account.Canary.Sent > 1 && !began:
			began = true
			a.work(to.QueueRef, succeed)
		case account.Canary.Sent == 1:
			select {
			case goOn <- struct{}{}:
			default:
			}
		}
	}))(t)
	wantOutcome(t, account, outcome{Planned: 20, Moved: 11, Stopped: true})
	assert.Contains(t, account.Stopped, "the canary has not passed: 11 taken, none acknowledged")
}
