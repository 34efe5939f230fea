package demo

import (
	"context"
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// line is one chain of a delayed consumption: an exchange, a buffer, the buffer's DLX, a worker's queue.
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

// and joins two topologies.
func (t topology) and(other topology) topology {
	return topology{
		exchanges: append(t.exchanges, other.exchanges...),
		queues:    append(t.queues, other.queues...),
		bindings:  append(t.bindings, other.bindings...),
	}
}

// delayed is delayed consumption in both ways. Where each message has a TTL of its own, rounds alternate: 1, 2, 3, 4, 5
// s, which arrive one by one, and 5, 4, 3, 2, 1 s, which all wait behind the first: head-of-line blocking.
func delayed() Scenario {
	own := line{
		out: "out.exchange", outKey: "out.routing.key", buffer: "buffer-queue",
		dlx: "dlx.exchange", dlxKey: "dlx.routing.key", work: "worker-queue",
	}
	queueTTL := line{
		out: "out.exchange-5s", outKey: "out.routing.key-5s", buffer: "buffer-queue-5s",
		dlx: "dlx.exchange-5s", dlxKey: "dlx.routing.key-5s", work: "worker-queue-5s", ttl: 5 * time.Second,
	}
	order := func() amqp.Publishing {
		order := message("shop", "order.placed", orderBody())
		// As publishers do that need more than AMQP's whole seconds.
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
