package broker

import (
	"errors"
	"fmt"
	"strings"

	amqp "github.com/rabbitmq/amqp091-go"

	"dlxtop/model"
)

// queueError puts the broker's refusal of an attempt on a queue into a sentence, with the model's error that a caller looks for.
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
	switch {
	case e.Code == amqp.NotFound:
		kind = model.ErrQueueGone
	case e.Code == amqp.ResourceLocked && strings.Contains(e.Reason, "single active consumer"):
		kind = model.ErrQueueBusy
	case e.Code == amqp.ResourceLocked:
		kind = model.ErrQueueExclusive
	case e.Code == amqp.AccessRefused && strings.Contains(e.Reason, "exclusive use"):
		kind = model.ErrConsumeRefused
	case e.Code == amqp.AccessRefused:
		return fmt.Errorf("%s %s: %w", attempt, name, failure(model.NotAllowed, "the user may not read it (%s)",
			"grant read permission on it (rabbitmqctl set_permissions), or use another user", words(err)))
	case e.Code == amqp.ConnectionForced:
		return fmt.Errorf("%s %s: %w", attempt, name, lost(err))
	}
	return fmt.Errorf("%s %s: %w (%s)", attempt, name, kind, words(err))
}
