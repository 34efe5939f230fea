package demo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// errEnded is why the actors of a scenario stop together; nobody sees it.
var errEnded = errors.New("the scenario's connection ended")

// confirmPatience is how long a publish may wait for the broker's confirm.
const confirmPatience = 10 * time.Second

// closeConnection closes without waiting for a broker that does not answer.
func closeConnection(conn *amqp.Connection) {
	_ = conn.CloseDeadline(time.Now().Add(2 * time.Second))
}

// publisher publishes on a channel of its own and waits for each confirm.
type publisher struct{ channel *amqp.Channel }

func newPublisher(conn *amqp.Connection) (*publisher, error) {
	channel, err := conn.Channel()
	if err != nil {
		return nil, fmt.Errorf("open a channel: %w", err)
	}
	if err := channel.Confirm(false); err != nil {
		return nil, fmt.Errorf("ask for confirms: %w", err)
	}
	return &publisher{channel}, nil
}

// publish returns when the broker has the message.
func (p *publisher) publish(ctx context.Context, exchange, key string, message amqp.Publishing) error {
	confirmation, err := p.channel.PublishWithDeferredConfirmWithContext(ctx, exchange, key, false, false, message)
	if err != nil {
		return fmt.Errorf("publish to %q by %q: %w", exchange, key, err)
	}
	ctx, cancel := context.WithTimeout(ctx, confirmPatience)
	defer cancel()
	ack, err := confirmation.WaitContext(ctx)
	if err == nil && !ack {
		err = errors.New("the broker refused it")
	}
	if err != nil {
		return fmt.Errorf("publish to %q by %q: %w", exchange, key, err)
	}
	return nil
}

// repeatedly makes an actor that publishes what next makes, pausing about as long as told in between.
func repeatedly(pause time.Duration, next func(ctx context.Context, p *publisher) error) actor {
	return func(ctx context.Context, conn *amqp.Connection) error {
		p, err := newPublisher(conn)
		if err != nil {
			return err
		}
		for {
			if err := next(ctx, p); err != nil {
				return err
			}
			if !wait(ctx, roughly(pause)) {
				return nil
			}
		}
	}
}

// worker is an actor that consumes a queue.
type worker struct {
	queue string
	work  actor
}

// workerOf makes a worker that consumes with a small prefetch, takes some time for each message, and hands it to
// handle, which has to acknowledge or reject it.
func workerOf(
	queue string, effort time.Duration, handle func(ctx context.Context, p *publisher, d amqp.Delivery) error,
) worker {
	return worker{queue, func(ctx context.Context, conn *amqp.Connection) error {
		p, err := newPublisher(conn)
		if err != nil {
			return err
		}
		channel, err := conn.Channel()
		if err != nil {
			return fmt.Errorf("open a channel: %w", err)
		}
		if err := channel.Qos(5, 0, false); err != nil {
			return fmt.Errorf("set the prefetch: %w", err)
		}
		deliveries, err := channel.ConsumeWithContext(ctx, queue, "worker of "+queue, false, false, false, false, nil)
		if err != nil {
			return fmt.Errorf("consume %s: %w", queue, err)
		}
		for delivery := range deliveries {
			if !wait(ctx, roughly(effort)) {
				return nil
			}
			if err := handle(ctx, p, delivery); err != nil {
				return err
			}
		}
		return errEnded
	}}
}

// roughly returns d, a fifth more or less: systems do not tick like clocks.
func roughly(d time.Duration) time.Duration {
	return d*4/5 + rand.N(d*2/5+1)
}

// depth returns how many messages are ready in a queue that exists.
func depth(conn *amqp.Connection, queue string) (int, error) {
	channel, err := conn.Channel() // of its own: a missing queue closes it
	if err != nil {
		return 0, fmt.Errorf("open a channel: %w", err)
	}
	defer channel.Close()
	state, err := channel.QueueDeclarePassive(queue, true, false, false, false, nil)
	if err != nil {
		return 0, fmt.Errorf("count %s: %w", queue, err)
	}
	return state.Messages, nil
}
