package ui

import (
	"context"
	"errors"
	"testing"

	"dlxtop/model/peek"
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
	term.press(keyTab)
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
