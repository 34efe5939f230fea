package broker

import (
	"errors"
	"fmt"

	amqp "github.com/rabbitmq/amqp091-go"

	"dlxtop/model"
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
