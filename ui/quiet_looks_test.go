package ui

import (
	"context"
	"errors"
	"testing"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
)

// stuckBroker holds messages of a queue for as long as it may when they are read for their causes.
type stuckBroker struct {
	*recordedBroker
	began chan struct{} // holds one: that such a look has begun
}

func (b stuckBroker) Peek(ctx context.Context, plan peek.Plan) (peek.Peeked, error) {
	if plan.Limit != causesPage {
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
	var q quietLooks
	q.giveWay()() // there is none
	began, back := make(chan struct{}), false
	go func() {
		_ = q.run(t.Context(), func(ctx context.Context) error {
			close(began)
			<-ctx.Done()
			back = true
			return ctx.Err()
		})
	}()
	<-began
	defer q.giveWay()()
	if !back {
		t.Error("it did not wait")
	}
}

// What is asked for does not wait for what was asked for before, and a quiet look waits for all of it, or until it is
// given up.
func TestQuietLooksWait(t *testing.T) {
	var q quietLooks
	first := q.giveWay()
	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan error)
	go func() { given <- q.run(ctx, func(context.Context) error { return nil }) }()
	ran := make(chan error)
	go func() { ran <- q.run(t.Context(), func(context.Context) error { return nil }) }()
	second := q.giveWay()
	cancel()
	if err := <-given; !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	first()
	select {
	case <-ran:
		t.Error("it ran beside what was asked for")
	default:
	}
	second()
	if err := <-ran; err != nil {
		t.Error(err)
	}
}

// TestAWishOutlivesGivingWay: a quiet look that was asked for with a key, or whose cost was agreed to, begins again
// after it has given way; one that failed does not.
func TestAWishOutlivesGivingWay(t *testing.T) {
	o, _, c := failedOptions(5)
	for _, test := range []struct {
		err  error
		want bool
	}{{context.Canceled, true}, {errors.New("the queue's node is down"), false}, {nil, false}} {
		reading := newCausesReading(newApp(t.Context(), o).env)
		q := &causesQueue{ref: ref(failedQueue), limit: 10 * causesPage, read: causesPage, readAt: c.now()}
		q.wanted, q.agreed = true, true
		reading.look(q)
		reading.answered(causesReadMsg{request: reading.request, looked: true, err: test.err})
		if q.wanted != test.want || q.agreed != test.want {
			t.Errorf("after %v it is wanted: %t, and agreed to: %t", test.err, q.wanted, q.agreed)
		}
	}
}

// TestMoreIsOfferedAgain: more that could not be read can be asked for again, and is no more than was asked for.
func TestMoreIsOfferedAgain(t *testing.T) {
	o, _, c := failedOptions(5)
	reading := newCausesReading(newApp(t.Context(), o).env)
	q := &causesQueue{
		ref: ref(failedQueue), limit: causesPage, read: causesPage, readAt: c.now(),
		plan: peek.Plan{Method: peek.Stream, Free: true}, depth: model.Some[int64](50_000),
	}
	reading.queues[q.ref] = q
	for range 2 {
		if reading.more() != 1 {
			t.Fatal("more is not offered")
		}
		reading.extend()
		if q.limit != causesPage*peekFactor || !q.wanted {
			t.Errorf("%d messages are asked for, and wanted: %t", q.limit, q.wanted)
		}
		reading.look(q)
		err := errors.New("the queue's node is down")
		reading.answered(causesReadMsg{request: reading.request, looked: true, err: err})
	}
}
