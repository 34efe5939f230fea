package demo

import (
	"context"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// retryQueue is a system with one queue for each delay and one fanout behind them all. Its worker rejects what fails
// without a dead-letter exchange: these messages are lost, and dlxtop has to say so.
func retryQueue() Scenario {
	delay := func(name string, ttl time.Duration) queue {
		return queue{name: name, arguments: amqp.Table{
			"x-dead-letter-exchange": "RetryExchange",
			"x-message-ttl":          ttl.Milliseconds(),
		}}
	}
	mail := func(ctx context.Context, p *publisher, queue string) error {
		return p.publish(ctx, "", queue, message("mailer", "mail.send", mailBody()))
	}
	return Scenario{
		Name:    "retry-queue",
		Summary: "delay queues of 10 s and 60 s into one retry exchange; the worker loses messages that it rejects",
		topology: topology{
			exchanges: []exchange{{"RetryExchange", amqp.ExchangeFanout}},
			queues:    []queue{{name: "RetryQueue"}, delay("default-delay", time.Minute), delay("test-delay", 10*time.Second)},
			bindings:  []binding{{"RetryExchange", "", "RetryQueue"}},
		},
		seed: func(ctx context.Context, conn *amqp.Connection) error {
			if ready, err := depth(conn, "default-delay"); err != nil || ready > 0 {
				return err
			}
			p, err := newPublisher(conn)
			if err != nil {
				return err
			}
			defer p.channel.Close()
			for range 8 {
				if err := mail(ctx, p, "default-delay"); err != nil {
					return err
				}
			}
			return nil
		},
		filled: map[string]int{"default-delay": 8},
		actors: []actor{
			repeatedly(5*time.Second, func(ctx context.Context, p *publisher) error { return mail(ctx, p, "default-delay") }),
			repeatedly(2*time.Second, func(ctx context.Context, p *publisher) error { return mail(ctx, p, "test-delay") }),
		},
		workers: []worker{
			workerOf("RetryQueue", 300*time.Millisecond, func(_ context.Context, _ *publisher, d amqp.Delivery) error {
				if fate("RetryQueue", d.MessageId) < 10 {
					return d.Reject(false)
				}
				return d.Ack(false)
			}),
		},
	}
}
