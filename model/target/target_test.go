package target

import (
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
)

// shop is a worker orders with a failed queue, whose exchange leads to an audit, too.
func shop(parts ...build.Part) *model.Topology {
	return build.TopologyOf("4.0.5", append([]build.Part{
		build.Text(`
			exchange topic shop
			queue orders consumers=1 dlx=dead key=orders.failed
			exchange direct dead
			queue orders.failed
			bind dead orders.failed orders.failed
			bind shop order.* orders
			queue audit consumers=1
			bind shop # audit
		`),
	}, parts...)...)
}

// died is a message that orders rejected, where it had this address.
func died(exchange, key string, more ...message.Death) message.Message {
	m := message.Message{Exchange: "dead", RoutingKey: "orders.failed", Headers: model.Table{}}
	m.Deaths = append(m.Deaths, message.Death{
		Queue: "orders", Reason: model.Rejected, Count: 1, Exchange: exchange, RoutingKeys: []string{key},
	})
	m.Deaths = append(m.Deaths, more...)
	return m
}

func with(m message.Message, headers model.Table) message.Message {
	m.Headers = headers
	return m
}

// reminders delay messages on purpose, and give them a key of their own.
var reminders = []build.Part{
	build.Text(`
		exchange direct later
		bind later order.reminder orders
		queue orders.remind dlx=later key=order.reminder ttl=60000
	`),
}

// ladder is a retry buffer behind the dead-letter exchange of orders.
func ladder(kind string, key ...string) []build.Part {
	return []build.Part{
		build.Exchange(kind, "back"), build.Bind("back", "again", "orders"),
		build.Queue("orders.retry", build.DLX("back", key...), build.TTL(5000)),
		build.Bind("dead", "orders.failed", "orders.retry"),
	}
}

// What the ways of auto are, and which keys they change.
func TestKeysOfWays(t *testing.T) {
	const mark = "count=1; time=2026-11-27T10:00:00Z; replay=A; via=orders; key=order.created; exchange=shop"
	narrow := []build.Part{build.Text(`
		exchange direct in
		bind in order.created orders
	`)}
	delay := message.Death{
		Queue: "orders.remind", Reason: model.Expired, Count: 1, RoutingKeys: []string{"orders.remind"},
	}

	retried := message.Death{
		Queue: "orders.retry", Reason: model.Expired, Count: 3, RoutingKeys: []string{"orders.failed"},
	}

	for _, test := range []struct {
		name    string
		parts   []build.Part
		m       message.Message
		to      string // "" is auto
		goes    string // exchange and key
		changes string // "" if the worker has seen the key
	}{
		{
			name: "a key of reminders is not that of an order", parts: reminders, m: died("shop", "order.created"),
			goes: " orders", changes: "order.created -> orders",
		},
		{name: "a reminder", parts: reminders, m: died("later", "order.reminder", delay), goes: "later order.reminder"},
		{
			name: "it was delayed, and does not say with which key it left", parts: reminders, goes: "later order.reminder",
			m: message.Message{RoutingKey: "orders.failed", Deaths: []message.Death{delay}},
		},
		{
			name: "retries that have a key of their own", parts: ladder("direct", "again"), m: died("shop", "order.created"),
			goes: "back again", changes: "order.created -> again",
		},

		{
			name: "the message went round with that key", parts: ladder("direct", "again"),
			m: died("shop", "order.created", retried), goes: "back again",
		},
		{
			name: "retries that keep the key", parts: ladder("fanout"), m: died("shop", "order.created"),
			goes: "back order.created",
		},
		{
			name: "retries before reminders", parts: append(ladder("direct", "again"), reminders...),
			m: died("shop", "order.created"), goes: "back again", changes: "order.created -> again",
		},
		{
			name: "another exchange for the same key", parts: append(narrow, reminders...), m: died("shop", "order.created"),
			goes: "in order.created",
		},
		{
			name: "the application says the key", parts: narrow, goes: "in order.created",
			m: with(message.Message{}, model.Table{"x-original-routingKey": "order.created"}),
		},

		{
			name: "it was published by name", parts: append(ladder("direct", "again"), reminders...), m: died("gone", "orders"),
			goes: " orders",
		},
		{
			name: "x-death has the key of the replay, the mark that of the message", parts: narrow,
			m: with(died("", "orders"), model.Table{message.ReplayHeader: mark}), goes: "in order.created",
		},
		{
			name: "the worker wrote the key of the replay over its own", parts: narrow, goes: "in order.created",
			m: with(message.Message{}, model.Table{
				message.ReplayHeader: mark, "x-original-exchange": "", "x-original-routingKey": "orders",
			}),
		},
		{
			name: "the worker kept what it had written", parts: append(narrow, build.Bind("in", "order.paid", "orders")),
			goes: "in order.paid", m: with(message.Message{}, model.Table{
				message.ReplayHeader: mark, "x-original-exchange": "shop", "x-original-routingKey": "order.paid",
			}),
		},

		{
			name: "a mark, and no way that keeps the key", m: with(died("", "orders"), model.Table{message.ReplayHeader: mark}),
			goes: " orders", changes: "order.created -> orders",
		},
		{
			name: "by hand, into a buffer that gives a key", parts: reminders, to: "queue:orders.remind",
			m: died("shop", "order.created"), goes: " orders.remind", changes: "order.created -> order.reminder",
		},
		{
			name: "by hand, into a buffer that keeps the key", parts: ladder("fanout"), to: "queue:orders.retry",
			m: died("shop", "order.created"), goes: " orders.retry", changes: "order.created -> orders.retry",
		},
		{
			name: "by hand, with another key", to: "exchange:shop/order.paid", m: died("shop", "order.created"),
			goes: "shop order.paid", changes: "order.created -> order.paid",
		},
	} {
		topology := shop(test.parts...)
		mode, fixed, err := Parse(test.to, model.Unknown[string]())
		assert.Succeeds(t, err)

		if mode == ToExchange {
			fixed, err = Split(topology, build.Ref("orders.failed"), fixed.Exchange)
			assert.Succeeds(t, err)
		}

		to := New(topology, build.Ref("orders.failed"), mode, fixed)
		way := to.WayOf(topology, &test.m, message.Opening(&test.m))
		if way.Problem != nil {
			t.Errorf("%s: %s", test.name, way.Problem.Words())
			continue
		}

		assert.Equal(t, way.Exchange+" "+way.RoutingKey, test.goes, "%s", test.name)
		key, was, differs := to.OtherKey(topology, &test.m, nil, &way)
		change := ""
		if differs {
			change = was.Or("?") + " -> " + key
		}

		assert.Equal(t, change, test.changes, "%s: key", test.name)
	}
}

// The mark keeps an address that a replay goes around, whatever bytes it has, and through further replays.
func TestMarkKeepsTheOwnAddress(t *testing.T) {
	for _, own := range []model.Address{
		{Exchange: "shop", RoutingKey: "order.created"}, {RoutingKey: "a; key=b, ü\x00 %"},
	} {
		m := died(own.Exchange, own.RoutingKey)
		for range 3 {
			p := message.Publishing{Address: model.Address{RoutingKey: "orders"}}
			p.Mark(&m, nil, "A", false)
			m = with(died("", "orders"), p.Headers)
			got, _ := m.ToldOrigin(nil)
			assert.Equal(t, got, own)
		}

		p := message.Publishing{Address: own}
		p.Mark(&m, nil, "A", false)
		text, _ := p.Headers.Text(message.ReplayHeader)
		assert.That(t, !strings.Contains(text, "via="), "by its own address: %s", text)
		p.RoutingKey = "mended"
		p.Mark(&m, nil, "A", true)
		text, _ = p.Headers.Text(message.ReplayHeader)
		assert.That(t, !strings.Contains(text, "via="), "an edit gave it another: %s", text)
	}
}

// auto never sends a message back into the queue in which it is.
func TestNeverBackIntoItself(t *testing.T) {
	fault := model.Table{"MT-Fault-InputAddress": "rabbitmq://localhost/orders", "MT-Reason": "fault"}
	for _, test := range []struct {
		name, from string
		parts      []build.Part
		m          message.Message
		goes       string // "" if refused
	}{
		{name: "a worker", from: "orders", m: message.Message{Exchange: "shop", RoutingKey: "order.paid"}},
		{name: "a worker whose message says that it failed there", from: "orders", m: died("shop", "order.paid")},
		{
			name: "a framework names another queue", from: "mail", m: with(message.Message{}, fault), goes: " orders",
			parts: []build.Part{build.Text("queue mail consumers=1 dlx= key=orders.failed")},
		},

		{
			name: "the worker of one flow, and the failed queue of another", from: "review",
			parts: []build.Part{
				build.Text(`
					queue review consumers=1 dlx= key=review.failed
					queue review.failed
					queue mail consumers=1 dlx= key=review
				`),
			},
			m: message.Message{Deaths: []message.Death{{
				Queue: "mail", Reason: model.Rejected, Count: 1, RoutingKeys: []string{"mail"},
			}}},
			goes: " mail",
		},

		{
			name: "a policy for all queues", from: "mail.failed", m: with(message.Message{}, model.Table{"x-error": "no"}),
			parts: []build.Part{
				build.Text(`
					exchange fanout all.dlx
					queue all.dead
					bind all.dlx all.dead
					queue mail.failed policy=dlx,dead-letter-exchange=all.dlx
				`),
			},
		},
	} {
		topology := shop(test.parts...)
		to := New(topology, build.Ref(test.from), ToAuto, model.Address{})
		way := to.WayOf(topology, &test.m, message.Opening(&test.m))

		if test.goes == "" {
			assert.That(t, way.Problem != nil, "%s: to %+v", test.name, way)
			continue
		}

		assert.That(t, way.Problem == nil, "%s: %+v", test.name, way)
		assert.Equal(t, way.Exchange+" "+way.RoutingKey, test.goes, "%v", test.name)
	}
}
