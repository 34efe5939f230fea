package demo

import (
	"context"
	"maps"
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// line is one chain of delayed consumption: an exchange, a buffer, the buffer's DLX, a worker's queue.
type line struct {
	out, outKey, buffer, dlx, dlxKey, work string
	ttl                                    time.Duration // of the buffer; 0: every message has its own
}

func (l line) topology() topology {
	arguments := amqp.Table{"x-dead-letter-exchange": l.dlx, "x-dead-letter-routing-key": l.dlxKey}
	if l.ttl > 0 {
		arguments["x-message-ttl"] = l.ttl.Milliseconds()
	}

	return topology{
		exchanges: []exchange{{l.out, amqp.ExchangeDirect}, {l.dlx, amqp.ExchangeDirect}},
		queues:    []queue{{name: l.buffer, arguments: arguments}, {name: l.work}},
		bindings:  []binding{{l.out, l.outKey, l.buffer}, {l.dlx, l.dlxKey, l.work}},
	}
}

func (t topology) and(other topology) topology {
	return topology{
		exchanges: append(t.exchanges, other.exchanges...),
		queues:    append(t.queues, other.queues...),
		bindings:  append(t.bindings, other.bindings...),
	}
}

// delayed is delayed consumption in both ways. Where each message has its own TTL, rounds alternate: 1, 2, 3, 4, 5 s,
// which arrive one by one, and 5, 4, 3, 2, 1 s, which all wait behind the first: head-of-line blocking.
func delayed() Scenario {
	own := line{
		out:    "out.exchange",
		outKey: "out.routing.key",
		buffer: "buffer-queue",
		dlx:    "dlx.exchange",
		dlxKey: "dlx.routing.key",
		work:   "worker-queue",
	}

	queueTTL := line{
		out:    "out.exchange-5s",
		outKey: "out.routing.key-5s",
		buffer: "buffer-queue-5s",
		dlx:    "dlx.exchange-5s",
		dlxKey: "dlx.routing.key-5s",
		work:   "worker-queue-5s",
		ttl:    5 * time.Second,
	}

	order := func() amqp.Publishing {
		order := message("shop", "order.placed", orderBody())
		// Publishers do that when they need more than AMQP's whole seconds.
		order.Headers = amqp.Table{"timestamp_in_ms": time.Now().UnixMilli()}
		return order
	}

	round := func(ctx context.Context, p *publisher, seconds ...int) error {
		for _, ttl := range seconds {
			order := order()
			order.Expiration = strconv.Itoa(1000 * ttl)
			if err := p.publish(ctx, own.out, own.outKey, order); err != nil {
				return err
			}
		}
		return nil
	}

	done := func(_ context.Context, _ *publisher, d amqp.Delivery) error { return d.Ack(false) }

	return Scenario{
		Name:     "delayed",
		Summary:  "orders that wait before the worker gets them, by a TTL of each message and by one of the queue",
		topology: own.topology().and(queueTTL.topology()),
		actors: []actor{
			repeatedly(7*time.Second, func(ctx context.Context, p *publisher) error {
				if err := round(ctx, p, 1, 2, 3, 4, 5); err != nil {
					return err
				}
				if !wait(ctx, 7*time.Second) {
					return nil
				}
				return round(ctx, p, 5, 4, 3, 2, 1)
			}),
			repeatedly(1500*time.Millisecond, func(ctx context.Context, p *publisher) error {
				return p.publish(ctx, queueTTL.out, queueTTL.outKey, order())
			}),
		},
		workers: []worker{
			workerOf(own.work, 100*time.Millisecond, done),
			workerOf(queueTTL.work, 100*time.Millisecond, done),
		},
	}
}

// delayedRetry is delayed consumption whose worker sends failures back to the buffer. Some messages succeed at the
// second try, some at the third. The worker counts in its own header, x-tries, because from 4.0 the broker's count
// starts again with every publish.
func delayedRetry() Scenario {
	loop := line{
		out:    "retry.out.exchange",
		outKey: "retry.out.routing.key",
		buffer: "retry.buffer-queue",
		dlx:    "retry.dlx.exchange",
		dlxKey: "retry.dlx.routing.key",
		work:   "retry.worker-queue",
		ttl:    10 * time.Second,
	}

	order := func(ctx context.Context, p *publisher) error {
		return p.publish(ctx, loop.out, loop.outKey, message("shop", "payment.capture", orderBody()))
	}

	return Scenario{
		Name:     "delayed-retry",
		Summary:  "payments that the worker sends back to a buffer of 10 s until they succeed",
		topology: loop.topology(),
		seed: func(ctx context.Context, conn *amqp.Connection) error {
			return seeded(ctx, conn, loop.buffer, 3, order)
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
				headers := amqp.Table{}
				maps.Copy(headers, d.Headers)
				headers["x-tries"] = tries
				headers["x-error"] = "GatewayError: card processor answered 503 Service Unavailable"
				if err := p.publish(ctx, loop.out, loop.outKey, republishing(d, headers)); err != nil {
					return err
				}
				return d.Ack(false)
			}),
		},
	}
}

// triesNeeded returns at which try a payment succeeds: six of ten at the first, two each at the second and third.
func triesNeeded(messageID string) int64 {
	n := fate("payments", messageID)
	switch {
	case n < 20:
		return 3
	case n < 40:
		return 2
	default:
		return 1
	}
}

// lifecycle passes ten messages from one exclusive queue to another, one each second, without consumers. Every round
// begins by emptying the second queue.
func lifecycle() Scenario {
	const life, heaven, dlx = "example.delay.life", "example.delay.heaven", "example.dlx.exchange"
	return Scenario{
		Name:    "lifecycle",
		Summary: "exclusive queues and fanouts: ten messages, one of which expires each second",
		topology: topology{
			exchanges: []exchange{{dlx, amqp.ExchangeFanout}},
			queues: []queue{
				{name: life, exclusive: true, arguments: amqp.Table{"x-dead-letter-exchange": dlx}},
				{name: heaven, exclusive: true},
			},
			bindings: []binding{{"amq.fanout", "", life}, {dlx, "", heaven}},
		},
		actors: []actor{
			repeatedly(12*time.Second, func(ctx context.Context, p *publisher) error {
				if _, err := p.channel.QueuePurge(heaven, false); err != nil {
					return err
				}
				for i := range 10 {
					soul := message("example", "life.begin", object{"number": i, "lives_ms": 1000 * i})
					soul.Expiration = strconv.Itoa(1000 * i)
					if err := p.publish(ctx, "amq.fanout", "", soul); err != nil {
						return err
					}
				}

				return nil
			}),
		},
	}
}

// retryQueue returns a system with one queue for each delay and one fanout behind them all. Its worker rejects failures
// without a dead-letter exchange: these messages are lost, and dlxtop must say so.
func retryQueue() Scenario {
	delay := func(name string, ttl time.Duration) queue {
		return queue{name: name, arguments: amqp.Table{
			"x-dead-letter-exchange": "RetryExchange",
			"x-message-ttl":          ttl.Milliseconds(),
		}}
	}

	mailTo := func(queue string) func(context.Context, *publisher) error {
		return func(ctx context.Context, p *publisher) error {
			return p.publish(ctx, "", queue, message("mailer", "mail.send", mailBody()))
		}
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
			return seeded(ctx, conn, "default-delay", 8, mailTo("default-delay"))
		},
		filled: map[string]int{"default-delay": 8},
		actors: []actor{
			repeatedly(5*time.Second, mailTo("default-delay")),
			repeatedly(2*time.Second, mailTo("test-delay")),
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
