package broker_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/mgmt"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
)

// beside returns another program of dlxtop on this machine.
func beside(t *testing.T, command string) *broker.Client {
	t.Helper()
	return newClient(t, broker.Options{URL: node.AMQP(), Turns: journal.NewTurns(command)})
}

// sees returns a program that sees what others hold, by the management API.
func sees(t *testing.T, first model.CountsByQueue) *broker.Client {
	t.Helper()
	source := must.Get(mgmt.New(mgmt.Options{URL: node.API(), Timeout: patience}))(t)
	t.Cleanup(source.Close)
	return newClient(t, broker.Options{
		URL: node.AMQP(), Turns: journal.NewTurns("dlxtop drop"),
		Totals: func(ctx context.Context) (model.CountsByQueue, error) {
			if old := first; old != nil {
				first = nil
				return old, nil
			}
			return source.Counts(ctx)
		},
	})
}

// An action waits until another one on the same queue has ended, says which one, and finds what that one gave back.
func TestActionsTakeTurns(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		const n = 5
		a := newApp(t)
		q := a.filled("q", kind, numbered(n)...)
		to := a.queue("to", kind)
		slow := planned(t, topology([]*model.Queue{q, to}), plan.ActionWant{
			Operation: plan.Move, From: q.QueueRef, Mode: "queue", Fixed: model.Address{RoutingKey: to.Name}, Planned: n,
			Options: plan.Options{Rate: 0.5, Insist: true}, User: "guest",
		})

		ctx, stop := context.WithCancel(t.Context())
		var moves sync.WaitGroup
		moving := make(chan bool)

		moves.Go(func() {
			began := sync.OnceFunc(func() { close(moving) })
			account, err := beside(t, "dlxtop move").Execute(ctx, slow, func(a plan.Account) {
				if a.Moved > 0 {
					began()
				}
			})
			assert.Succeeds(t, err)
			assert.That(t, account.Moved < n, "%+v: it was not stopped in the middle", account)
		})

		<-moving
		var waited string

		account := must.Get(beside(t, "dlxtop drop").Execute(t.Context(), dropPlan(t, q, plan.Selection{}, n),
			func(a plan.Account) {
				if a.Waiting != "" && waited == "" {
					waited = a.Waiting
					stop()
				}
			}))(t)

		stop()
		moves.Wait()

		for _, part := range []string{"`dlxtop move`", "(process ", "since "} {
			assert.Contains(t, waited, part)
		}

		left := a.drain(to, a.ready(to))
		assert.Equal(t, account.Dropped+len(left), n, "%+v, and %d were moved", account, len(left))
		assert.Equal(t, account.Unknown, 0)
	})
}

// A look that waits in vain says who has its turn.
func TestLookSaysForWhomItWaits(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	q := a.filled("q", model.Classic, numbered(1)...)
	c := newClient(t, broker.Options{URL: node.AMQP(), Turns: takenTurns{journal.NewTurns("dlxtop peek")}})
	_, err := c.Peek(t.Context(), planLook(q, model.Settings{}, false, false))
	var used *model.InUse
	must.That(t, errors.As(err, &used), "%v", err)
	assert.Equal(t, used.Queue, q.QueueRef)
	assert.Contains(t, err.Error(), "is in use by `dlxtop replay` of ann (process 42, since ")
}

// takenTurns are always another program's.
type takenTurns struct{ broker.Turns }

func (takenTurns) Try(string) (func(), model.Holder, error) {
	return nil, model.Holder{Command: "dlxtop replay", User: "ann", PID: 42, Since: time.Unix(0, 0)}, nil
}

// What a consumer holds that is no program of this machine is not called gone, as soon as a count shows it, nor where a
// count from before the first message agrees with what an action has left.
func TestMessagesHeldByOthersAreNotGone(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		const n, held = 6, 2
		a := newApp(t)
		q := a.filled("q", kind, numbered(n)...)
		chosen := message.Twins{}
		c := sees(t, model.CountsByQueue{q.QueueRef: {Ready: model.Some(int64(0)), Unacked: model.Some(int64(0))}})
		must.Get(c.Read(t.Context(), planLook(q, model.Settings{}, true, true), func(m *message.Message) error {
			chosen[m.Fingerprint]++
			return nil
		}))(t)

		channel, deliveries := a.consumer(q, held)
		for range held {
			<-deliveries
		}

		a.await(q, n-held)
		drop := func(dropped, held, gone int) {
			t.Helper()
			account := execute(t, c, dropPlan(t, q, plan.Selection{Fingerprints: chosen}, n))
			assert.Equal(t, account.Dropped, dropped, "%+v", account)
			assert.Equal(t, account.Held, held)
			assert.Equal(t, account.Gone, gone)
		}

		drop(n-held, held, 0)
		must.Do(t, channel.Close())
		a.await(q, held)
		drop(held, 0, n-held)
	})
}
