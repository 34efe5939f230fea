package ui

import (
	"fmt"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// A small language to write down what a broker told: recording(queue("a"), bind("x", "key", "a")).

type told func(*model.Snapshot)

func recording(parts ...told) *model.Snapshot {
	s := &model.Snapshot{
		TakenAt: newClock().now(), VHosts: []string{"/"},
		Overview: model.Overview{Node: "rabbit@mq1", Version: model.ParseVersion("4.0.5"), User: "guest"},
	}
	exchange("direct", "")(s)
	for _, p := range parts {
		p(s)
	}
	return s
}

// later is the same broker some seconds on: ready says what has changed.
func later(s *model.Snapshot, after time.Duration, ready map[string]int64) *model.Snapshot {
	next := *s
	next.TakenAt = s.TakenAt.Add(after)
	next.Queues = append([]model.Queue(nil), s.Queues...)
	for i := range next.Queues {
		if n, ok := ready[next.Queues[i].Name]; ok {
			next.Queues[i].Ready = model.Some(n)
		}
	}
	return &next
}

type trait func(*model.Queue)

func queue(name string, traits ...trait) told {
	return func(s *model.Snapshot) {
		q := model.Queue{
			QueueRef: ref(name), Type: model.Classic, Durable: true, Arguments: model.Table{},
			PolicyDefinition: model.Table{}, State: "running",
			Ready: model.Some[int64](0), Unacked: model.Some[int64](0), Consumers: model.Some[int64](0),
			Published: model.Some[int64](0), Acked: model.Some[int64](0), CountedAt: s.TakenAt,
		}
		for _, t := range traits {
			t(&q)
		}
		s.Queues = append(s.Queues, q)
	}
}

func ready(n int64) trait     { return func(q *model.Queue) { q.Ready = model.Some(n) } }
func consumers(n int64) trait { return func(q *model.Queue) { q.Consumers = model.Some(n) } }
func ttl(ms int64) trait      { return func(q *model.Queue) { q.Arguments["x-message-ttl"] = ms } }
func dlx(name string) trait {
	return func(q *model.Queue) { q.Arguments["x-dead-letter-exchange"] = name }
}

func deadKey(key string) trait {
	return func(q *model.Queue) { q.Arguments["x-dead-letter-routing-key"] = key }
}

func exclusive() trait { return func(q *model.Queue) { q.Exclusive, q.OwnedByAnother = true, true } }

func exchange(kind, name string) told {
	return func(s *model.Snapshot) {
		s.Exchanges = append(s.Exchanges, model.Exchange{
			ExchangeRef: model.ExchangeRef{VHost: "/", Name: name},
			Type:        kind, Durable: true,
		})
	}
}

func bind(from, key, to string) told {
	return func(s *model.Snapshot) {
		s.Bindings = append(s.Bindings, model.Binding{
			VHost: "/", Source: from, Destination: to, RoutingKey: key,
			PropertiesKey: key,
		})
	}
}

// service is a worker with a retry buffer and a failed queue, around topic exchanges.
func service(name string, consuming, waiting, failed int64) told {
	return func(s *model.Snapshot) {
		for _, p := range []told{
			queue(name, consumers(consuming)),
			queue(name+"@retry", ttl(30_000), dlx("master"), deadKey(name), ready(waiting)),
			queue(name+"@failed", ready(failed)),
			bind("master", "user.*", name), bind("master", name, name),
			bind("master.retry", name+"@retry", name+"@retry"), bind("master.failed", name+"@failed", name+"@failed"),
		} {
			p(s)
		}
	}
}

// busyBroker has flows of several kinds, and something wrong with some.
func busyBroker() *model.Snapshot {
	return recording(
		exchange("topic", "master"), exchange("topic", "master.retry"), exchange("topic", "master.failed"),
		service("ucenter@user", 3, 1204, 47), service("ucenter@enterprise", 1, 0, 0), service("user-monitor", 2, 3, 0),
		exchange("direct", "out.exchange"), exchange("direct", "dlx.exchange"),
		queue("buffer-queue", dlx("dlx.exchange"), deadKey("dlx.routing.key"), ready(5)),
		bind("out.exchange", "out.routing.key", "buffer-queue"),
		queue("worker-queue", consumers(1)), bind("dlx.exchange", "dlx.routing.key", "worker-queue"),
		exchange("fanout", "example.dlx.exchange"),
		queue("example.delay.life", dlx("example.dlx.exchange"), exclusive(), ready(9)),
		queue("example.delay.heaven", exclusive(), ready(1)), bind("example.dlx.exchange", "", "example.delay.heaven"),
		exchange("fanout", "RetryExchange"), queue("RetryQueue", consumers(2)), bind("RetryExchange", "", "RetryQueue"),
		queue("default-delay", ttl(60_000), dlx("RetryExchange"), ready(12)),
		queue("test-delay", ttl(10_000), dlx("RetryExchange"), ready(4)),
	)
}

// manyQueues is a broker with n queues, one flow in ten of them.
func manyQueues(n int) *model.Snapshot {
	s := recording(exchange("topic", "master"), exchange("topic", "master.retry"), exchange("topic", "master.failed"))
	for i := 0; len(s.Queues) < n; i++ {
		if i%8 == 0 {
			service(fmt.Sprintf("service.%05d", i), int64(i%4), int64(i%97), int64(i%13))(s)
			continue
		}
		queue(fmt.Sprintf("plain.%05d.events", i), ready(int64(i%1009)), consumers(int64(i%3)))(s)
	}
	s.Queues = s.Queues[:n]
	return s
}
