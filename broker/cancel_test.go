package broker_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

func TestCancelledReplayTellsTheTruth(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		for _, after := range []int{0, 1, 300, 1000} {
			t.Run(fmt.Sprint(after), func(t *testing.T) {
				t.Parallel()
				a, c := newApp(t), client(t)
				from, to := described(a.queue("failed", kind), kind), described(a.queue("worker", kind), kind)
				n := size.Of(1500, 5000)
				a.publish(from.QueueRef, numbered(n)...)
				made := replayTo(t, from, to, plan.Selection{})
				made.Planned = n
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go func() { // cancels when so many have arrived
					for ctx.Err() == nil && a.ready(to.QueueRef) < after {
						time.Sleep(time.Millisecond)
					}
					cancel()
				}()
				account, err := c.Execute(ctx, made, nil)
				<-ctx.Done()
				must.That(t, err == nil || ctx.Err() != nil, "%v", err)
				if account.Moved == n {
					t.Log("it was faster than the cancel")
				} else if err == nil && account.Stopped == "" {
					t.Error("it does not say that it was stopped")
				}
				assert.That(t, account.Unknown+account.Refused+account.Returned+account.Gone == 0, "%+v", account)
				wantIDs(t, "moved", a.drain(to.QueueRef, account.Moved), count(n)[:account.Moved])
				wantIDs(t, "kept", a.drain(from.QueueRef, n-account.Moved), count(n)[account.Moved:])
			})
		}
	})
}
