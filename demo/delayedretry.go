package demo

import (
	"context"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// delayedRetry is delayed consumption whose worker sends what fails back to the buffer. Some messages succeed at the
// second try, some at the third. The worker counts in a header of its own, x-tries, since from 4.0 the broker's count
// starts again with every publish.
func delayedRetry() Scenario {
	loop := line{
		out: "retry.out.exchange", outKey: "retry.out.routing.key", buffer: "retry.buffer-queue",
		dlx: "retry.dlx.exchange", dlxKey: "retry.dlx.routing.key", work: "retry.worker-queue", ttl: 10 * time.Second,
	}
	order := func(ctx context.Context, p *publisher) error {
		return p.publish(ctx, loop.out, loop.outKey, message("shop", "payment.capture", orderBody()))
	}
	return Scenario{
		Name:     "delayed-retry",
		Summary:  "payments that the worker sends back to a buffer of 10 s until they succeed",
		topology: loop.topology(),
		seed: func(ctx context.Context, conn *amqp.Connection) error {
			if ready, err := depth(conn, loop.buffer); err != nil || ready > 0 {
				return err
			}
			p, err := newPublisher(conn)
			if err != nil {
				return err
			}
			defer p.channel.Close()
			for range 3 {
				if err := order(ctx, p); err != nil {
					return err
				}
			}
			return nil
		},
		filled: map[string]int{loop.buffer: 1},
		actors: []actor{repeatedly(2*time.Second, order)},
		workers: []worker{
			workerOf(loop.work, 200*time.Millisecond, func(ctx context.Context, p *publisher, d amqp.Delivery) error {
				tries := int64(1)
				if before, ok := d.Headers["x-tries"].(int64); ok {
					tries += before
				}
				if tries >= triesNeeded(d.MessageId) {
					return d.Ack(false)
				}
				headers := copyTable(d.Headers)
				headers["x-tries"] = tries
				headers["x-error"] = "GatewayError: card processor answered 503 Service Unavailable"
				if err := p.publish(ctx, loop.out, loop.outKey, again(d, headers)); err != nil {
					return err
				}
				return d.Ack(false)
			}),
		},
	}
}

// triesNeeded returns at which try a payment succeeds: six of ten at the first, two each at the second and third.
func triesNeeded(messageID string) int64 {
	switch n := fate("payments", messageID); {
	case n < 20:
		return 3
	case n < 40:
		return 2
	default:
		return 1
	}
}

func copyTable(t amqp.Table) amqp.Table {
	c := amqp.Table{}
	for name, value := range t {
		c[name] = value
	}
	return c
}
