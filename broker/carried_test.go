package broker_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
)

// carried lets the delivery limit of a quorum queue dead-letter n messages into another one with the same limit,
// through a buffer of a type, "" being none.
func (a *app) carried(via model.QueueType, limit, n int) (failed *model.Queue, from model.QueueRef, s model.Settings) {
	a.Helper()
	failed, s = a.limited("failed", limit)
	next := failed.QueueRef
	if via != "" {
		next = a.queue("via", via, "x-message-ttl", int32(50), "x-dead-letter-exchange", "",
			"x-dead-letter-routing-key", failed.Name)
	}
	work, _ := a.limited("work", limit, "x-dead-letter-exchange", "", "x-dead-letter-routing-key", next.Name)
	a.publish(work.QueueRef, numbered(n)...)
	a.deliver(work.QueueRef, n, limit)
	last := a.open()
	a.consume(last, work.QueueRef, n)
	must.Do(a, last.Close())
	a.await(failed.QueueRef, n)
	return failed, work.QueueRef, s
}

// TestCarriedCounts: what another quorum queue's delivery limit dead-lettered comes with its count from 4.3 on, through
// queues of any type, and any return loses it where that is above the limit. A look ends at the first one, which is
// rescued; who insists has all rescued, and what was rescued begins to count again.
func TestCarriedCounts(t *testing.T) {
	t.Parallel()
	const limit, n = 3, 5
	for _, via := range []model.QueueType{"", model.Classic, model.Quorum} {
		t.Run("via "+string(via), func(t *testing.T) {
			t.Parallel()
			a := newApp(t)
			c, _ := journaled(t, false)
			failed, work, s := a.carried(via, limit, n)
			want := peek.Want{Carried: model.Carried{From: work, Count: limit + 1}}
			plan := peek.OfQueue(failed, s, behaviour(), want)
			if !behaviour().CarriesDeliveryCount {
				assert.That(t, !plan.Foreseen() && !strings.Contains(plan.Cost, work.Name), "%v", plan.Cost)
				return
			}
			if !plan.Allowed() || plan.Free || !strings.Contains(plan.Cost, "set its delivery-limit to 4 or more") {
				t.Fatalf("allowed %v, free %v: %s", plan.Allowed(), plan.Free, plan.Cost)
			}
			_, err := c.Peek(t.Context(), plan)
			var refused peek.RefusedLook
			must.That(t, errors.As(err, &refused) && refused.Refusal()[0].Kind == peek.CountCarried &&
				strings.Contains(err.Error(), work.Name+" keep delivery counts of up to 4"), "it goes on: %v", err)
			a.await(failed.QueueRef, n)
			want.Insist = true
			for look, rescued := range []int{n - 1, 0, 0} { // the first one was met before
				peeked := must.Get(c.Peek(t.Context(), peek.OfQueue(failed, s, behaviour(), want)))(t)
				assert.That(t, peeked.Messages.Len() == n && peeked.Rescued.Copied == rescued && peeked.Rescued.Lost == 0,
					"look %d: %d messages, %+v", look+1, peeked.Messages.Len(), peeked.Rescued)
				a.await(failed.QueueRef, n)
			}
		})
	}
}

// TestUnforeseenCarriedCounts: messages that came with a count above the limit on a way that the topology does not have
// any more are rescued, although nothing was refused.
func TestUnforeseenCarriedCounts(t *testing.T) {
	t.Parallel()
	if !behaviour().CarriesDeliveryCount {
		return // a look there is counted, and begins with one message
	}
	const limit, n = 2, 4
	a := newApp(t)
	c, _ := journaled(t, false)
	failed, _, s := a.carried("", limit, n)
	peeked, err := c.Peek(t.Context(), peek.OfQueue(failed, s, behaviour(), peek.Want{}))
	must.That(t, err == nil && peeked.Rescued.Copied == n, "%v, %+v", err, peeked.Rescued)
	a.await(failed.QueueRef, n)
}
