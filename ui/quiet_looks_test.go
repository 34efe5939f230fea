package ui

import (
	"context"
	"errors"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/ui/causes"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// stuckBroker holds messages of a queue for as long as it may when they are read for their causes.
type stuckBroker struct {
	*recordedBroker
	began chan struct{} // holds one: that such a look has begun
}

func (b stuckBroker) Peek(ctx context.Context, plan peek.Plan) (peek.Peeked, error) {
	if plan.Limit != causes.Page {
		return b.recordedBroker.Peek(ctx, plan)
	}
	select {
	case b.began <- struct{}{}:
	default:
	}
	<-ctx.Done()
	return peek.Peeked{Plan: plan}, ctx.Err()
}

// A queue that is opened while it is read for its causes is read at once, and whole.
func TestQuietLooksGiveWay(t *testing.T) {
	o, b, _ := failedOptions(5)
	stuck := stuckBroker{b, make(chan struct{}, 1)}
	o.Broker = stuck
	term := newTerminal(t, o, 120, 36)
	term.await("ucenter@user ")
	term.press("3")
	<-stuck.began
	term.press("f")
	term.await("FAILED QUEUE")
	term.press(keyEnter)
	term.await("5 messages", "TimeoutError")
}

// Who asks goes on when the messages are back, not before.
func TestGivingWayWaits(t *testing.T) {
	var q shell.QuietLooks
	q.GiveWay()() // there is none
	began, back := make(chan struct{}), false
	go func() {
		_ = q.Run(t.Context(), func(ctx context.Context) error {
			close(began)
			<-ctx.Done()
			back = true
			return ctx.Err()
		})
	}()
	<-began
	defer q.GiveWay()()
	assert.That(t, back, "it did not wait")
}

// What is asked for does not wait for what was asked for before, and a quiet look waits for all of it, or until it is
// given up.
func TestQuietLooksWait(t *testing.T) {
	var q shell.QuietLooks
	first := q.GiveWay()
	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan error)
	go func() { given <- q.Run(ctx, func(context.Context) error { return nil }) }()
	ran := make(chan error)
	go func() { ran <- q.Run(t.Context(), func(context.Context) error { return nil }) }()
	second := q.GiveWay()
	cancel()
	err := <-given
	assert.That(t, errors.Is(err, context.Canceled), "given up: %v", err)
	first()
	select {
	case <-ran:
		t.Error("it ran beside what was asked for")
	default:
	}
	second()
	assert.Succeeds(t, <-ran)
}

// TestAWishOutlivesGivingWay: a quiet look that was asked for with a key, or whose cost was agreed to, begins again
// after it has given way; one that failed does not.
func TestAWishOutlivesGivingWay(t *testing.T) {
	o, _, c := failedOptions(5)
	for _, test := range []struct {
		err  error
		want bool
	}{{context.Canceled, true}, {errors.New("the queue's node is down"), false}, {nil, false}} {
		reading := causes.NewReading(newApp(t.Context(), o).env)
		q := &causes.Queue{Ref: ref(failedQueue), Limit: 10 * causes.Page, Read: causes.Page, ReadAt: c.now()}
		q.Wanted, q.Agreed = true, true
		reading.Look(q)
		reading.Answered(causes.ReadMsg{Request: reading.Request, Looked: true, Err: test.err})
		assert.That(t, q.Wanted == test.want && q.Agreed == test.want, "after %v it is wanted: %t, and agreed to: %t",
			test.err, q.Wanted, q.Agreed)
	}
}

// TestMoreIsOfferedAgain: more that could not be read can be asked for again, and is no more than was asked for.
func TestMoreIsOfferedAgain(t *testing.T) {
	o, _, c := failedOptions(5)
	reading := causes.NewReading(newApp(t.Context(), o).env)
	q := &causes.Queue{
		Ref: ref(failedQueue), Limit: causes.Page, Read: causes.Page, ReadAt: c.now(),
		Plan: peek.Plan{Method: peek.Stream, Free: true}, Depth: model.Some[int64](50_000),
	}
	reading.Queues[q.Ref] = q
	for range 2 {
		must.That(t, reading.More() == 1, "more is not offered")
		reading.Extend()
		assert.That(t, q.Limit == causes.Page*messages.PeekFactor && q.Wanted, "%d messages are asked for, and wanted: %t",
			q.Limit, q.Wanted)
		reading.Look(q)
		err := errors.New("the queue's node is down")
		reading.Answered(causes.ReadMsg{Request: reading.Request, Looked: true, Err: err})
	}
}
