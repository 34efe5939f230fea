package broker_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
)

// wantNothingLost drains both queues and checks that each of n messages is in one of them, and that the account is not
// contradicted: no more than its unknown ones are in both.
func wantNothingLost(t *testing.T, a *app, cable *cable, from, to model.QueueRef, n int, account plan.Account) {
	t.Helper()
	// What the broken connections had sent is in, and what they held is back: a connection leaves the list before its
	// channels give back.
	a.until(func() error {
		if err := cable.gone(t, node, "guest"); err != nil {
			return err
		}
		left, there := a.ready(from), a.ready(to)
		if left+there < n || left < n-account.Moved-account.Unknown {
			return fmt.Errorf("%d of %d messages are left, %d are there: %+v", left, n, there, account)
		}
		return nil
	})
	moved, kept := ids(a.empty(to)), ids(a.empty(from))
	seen := map[string]int{}
	for _, id := range append(slices.Clone(moved), kept...) {
		seen[id]++
	}
	twice := 0
	for _, times := range seen {
		if times > 1 {
			twice++
		}
	}
	assert.That(t, len(seen) == n, "%d of %d messages are left", len(seen), n)
	assert.That(t, twice <= account.Unknown,
		"%d messages are in both queues, the account knows of %d: %+v", twice, account.Unknown, account)
	assert.That(t, len(moved) >= account.Moved && len(moved) <= account.Moved+account.Unknown,
		"%d messages arrived: %+v", len(moved), account)
	assert.That(t, len(kept) <= n-account.Moved && len(kept) >= n-account.Moved-account.Unknown,
		"%d messages are kept: %+v", len(kept), account)
}

// awaitGoroutines waits until no more goroutines run than before.
func awaitGoroutines(t *testing.T, before int) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for runtime.NumGoroutine() > before {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, before %d:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestCableCutWhileReplaying(t *testing.T) {
	forEachKindAlone(t, func(t *testing.T, kind model.QueueType) {
		for _, limit := range []int64{3_000, 20_000, 100_000, 300_000, 330_000} {
			a := newApp(t)
			queue := func(name string) *model.Queue { return described(a.queue(fmt.Sprint(name, limit), kind), kind) }
			from, to := queue("failed"), queue("worker")
			const n = 3000
			a.publish(from.QueueRef, numbered(n)...)
			before := runtime.NumGoroutine()
			cable, address := newCable(t, limit)
			c, err := broker.New(broker.Options{URL: address})
			must.Do(t, err)
			account, err := c.Execute(t.Context(), replayTo(t, from, to, plan.Selection{}), nil)
			assert.That(t, err == nil, "limit %d: %v", limit, err)
			t.Logf("limit %d: moved %d, unknown %d: %s", limit, account.Moved, account.Unknown, account.Stopped)
			assert.That(t, account.Moved >= n || account.Stopped != "", "it does not say that it was stopped: %+v", account)
			c.Close()
			wantNothingLost(t, a, cable, from.QueueRef, to.QueueRef, n, account)
			awaitGoroutines(t, before+1) // the cable's own
		}
	})
}

// A broker that stops reading from the publishing connection, as it does in an alarm, must not hang a replay for ever.
func TestStalledReplayEnds(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		for _, cancelled := range []bool{false, true} {
			a := newApp(t)
			from, to := described(a.queue("failed", kind), kind), described(a.queue("worker", kind), kind)
			const n = 1500
			messages := numbered(n)
			for i := range messages {
				messages[i].Body = append(messages[i].Body, make([]byte, 20_000)...) // beyond what the sockets hold
			}
			a.publish(from.QueueRef, messages...)
			cable, address := newCable(t, 10_000_000)
			cable.stall = make(chan struct{})
			c, err := broker.New(broker.Options{URL: address})
			must.Do(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			if cancelled {
				c.SetPatience(time.Minute, time.Minute, 300*time.Millisecond)
				go func() { // when the cable carries no more
					for ctx.Err() == nil && cable.bytes.Load() < cable.limit {
						time.Sleep(time.Millisecond)
					}
					cancel()
				}()
			} else {
				c.SetPatience(time.Second, time.Minute, time.Minute)
			}
			account, err := c.Execute(ctx, replayTo(t, from, to, plan.Selection{}), nil)
			cancel()
			assert.Succeeds(t, err)
			t.Logf("moved %d, unknown %d: %s", account.Moved, account.Unknown, account.Stopped)
			assert.That(t, account.Stopped != "", "it does not say that it was stopped: %+v", account)
			close(cable.stall)
			c.Close()
			wantNothingLost(t, a, cable, from.QueueRef, to.QueueRef, n, account)
			a.deleteQueue(from.Name)
			a.deleteQueue(to.Name)
		}
	})
}

func TestCableCutWhilePeeking(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		a := newApp(t)
		q := described(a.queue("q", kind), kind)
		n := size.Of(3000, 20_000)
		a.publish(q.QueueRef, numbered(n)...)
		cable, address := newCable(t, 0)
		c, err := broker.New(broker.Options{URL: address})
		must.Do(t, err)
		defer c.Close()
		go func() {
			for a.ready(q.QueueRef) == n && t.Context().Err() == nil {
				time.Sleep(time.Millisecond)
			}
			cable.cut()
		}()
		peeked, err := c.Peek(t.Context(), planPeek(q, peek.Want{Limit: n}))
		assert.That(t, err != nil || peeked.Messages.Len() == n, "a cut peek is no error")
		t.Log(err)
		a.await(q.QueueRef, n)
		// Insisting, as the plan knows nothing of the cut.
		got := peekAt(t, c, planPeek(q, peek.Want{Limit: 10, Insist: true}))
		assert.That(t, len(got.Messages) == 10, "%d messages after the cut", len(got.Messages))
	})
}

func TestQueueDeletedWhileReplaying(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		a, c := newApp(t), client(t)
		from, to := described(a.queue("failed", kind), kind), described(a.queue("worker", kind), kind)
		n := size.Of(4000, 20_000)
		a.publish(from.QueueRef, numbered(n)...)
		p := replayTo(t, from, to, plan.Selection{})
		p.Planned = n
		var once sync.Once
		account := must.Get(c.Execute(t.Context(), p, func(account plan.Account) {
			if account.Moved > 0 {
				once.Do(func() { a.deleteQueue(from.Name) })
			}
		}))(t)
		t.Logf("%+v", account)
		assert.That(t, account.Moved >= n || account.Stopped != "", "it does not say that it was stopped: %+v", account)
		moved := a.ready(to.QueueRef)
		assert.That(t, moved >= account.Moved && moved <= account.Moved+account.Unknown, "%d arrived: %+v", moved, account)
	})
}
