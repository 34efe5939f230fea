package broker

import (
	"errors"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/model"
)

// queueError puts the broker's refusal of an attempt on a queue into a sentence, with the model's error that a caller
// looks for.
func queueError(attempt string, queue model.QueueRef, err error) error {
	if err == nil {
		return nil
	}
	name := model.Printable(queue.String())
	var e *amqp.Error
	if !errors.As(err, &e) || !e.Server {
		return fmt.Errorf("%s %s: %w", attempt, name, lost(err))
	}
	kind := model.ErrQueueBusy
	switch reasonOf(onQueue, err) {
	case queueDown:
		kind = model.ErrQueueDown
	case noQueue:
		kind = model.ErrQueueGone
	case othersQueue:
		kind = model.ErrQueueExclusive
	case exclusiveConsume:
		kind = model.ErrConsumeRefused
	case noReadRight:
		return fmt.Errorf("%s %s: %w", attempt, name, model.AMQPMayNotRead.With(model.ConnectValues{Detail: words(err)}))
	case connectionEnded:
		return fmt.Errorf("%s %s: %w", attempt, name, lost(err))
	}
	return fmt.Errorf("%s %s: %w (%s)", attempt, name, kind, words(err))
}

// reason is why the holding channel was closed, when amqp091-go only says that it is.
func (s *source) reason(err error) error {
	if s.holding.IsClosed() && s.why.Load() == nil {
		select {
		case why := <-s.closed: // comes, or is closed, a moment after the channel counts as closed
			if why != nil {
				s.why.Store(why)
			}
		case <-time.After(time.Second):
		}
	}
	if why := s.why.Load(); why != nil {
		return why
	}
	return err
}

// gone tells why the broker ended a consumer.
func (s *source) gone() error {
	if s.holding.IsClosed() {
		return queueError("read", s.plan.Queue, s.reason(amqp.ErrClosed))
	}
	_, err := s.ready()
	for _, known := range []error{model.ErrQueueGone, model.ErrQueueDown} {
		if errors.Is(err, known) {
			return fmt.Errorf("read %s: %w", model.Printable(s.plan.Queue.String()), known)
		}
	}
	return fmt.Errorf("read %s: %w: the queue's node went down or was out of sight, or its leader moved",
		model.Printable(s.plan.Queue.String()), errForgotten)
}
