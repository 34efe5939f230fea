package broker_test

import (
	"context"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
)

func TestReplayAtARate(t *testing.T) {
	a, c := newApp(t), client(t)
	from, to := described(a.queue("failed", model.Classic), model.Classic),
		described(a.queue("worker", model.Classic), model.Classic)
	a.publish(from.QueueRef, numbered(10)...)
	made := replayTo(t, from, to, plan.Selection{})
	made.Rate = 20
	account := execute(t, c, made)
	wantOutcome(t, account, outcome{Planned: 10, Moved: 10})
	assert.That(t, account.Elapsed >= 400*time.Millisecond, "10 messages at 20/s took %s", account.Elapsed)
}

// Many small acknowledgements are brought to the queue before the end, and what was looked at before stays as it lies
// there.
func TestActingAtARateKeepsTheOrder(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		a, c := newApp(t), client(t)
		c.SetComeback(patience)
		from := described(a.queue("failed", kind), kind)
		const n, first = 100, 40
		a.publish(from.QueueRef, numbered(n)...)
		peekAt(t, c, planPeek(from, peek.Want{Limit: n}))
		made := dropPlan(t, from, plan.Selection{Limit: first}, first)
		made.Rate = 400
		wantOutcome(t, execute(t, c, made), outcome{Planned: first, Dropped: first})
		wantIDs(t, "kept", a.drain(from.QueueRef, n-first), count(n)[first:])
	})
}

// TestSlowRateHoldsFewMessages: RabbitMQ closes the channel of who holds a message for 30 minutes, so that a replay at
// a low rate takes no more than it sends in 15.
func TestSlowRateHoldsFewMessages(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		a, c := newApp(t), client(t)
		c.SetComeback(patience)
		from, to := described(a.queue("failed", kind), kind), described(a.queue("worker", kind), kind)
		const n, most = 100, 18
		a.publish(from.QueueRef, numbered(n)...)
		made := replayTo(t, from, to, plan.Selection{})
		made.Planned, made.Rate = n, most/(15*60.)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		held := 0
		go func() {
			defer cancel()
			a.await(to.QueueRef, 1)
			held = n - a.ready(from.QueueRef)
		}()
		account, err := c.Execute(ctx, made, nil)
		<-ctx.Done()
		must.That(t, err == nil && account.Stopped != "" && account.Moved == 1, "%+v %v", account, err)
		assert.That(t, held >= 1 && held <= most, "it held %d messages, want %d at most", held, most)
		wantIDs(t, "kept", a.drain(from.QueueRef, n-1), count(n)[1:])
	})
}
