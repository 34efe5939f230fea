package target

import (
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
)

// shop returns a worker orders with a failed queue, whose exchange leads to an audit, too.
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

// died returns a message that orders rejected, where it had this address.
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

// What the ways of auto are, and which keys they change.
func TestKeysOfWays(t *testing.T) {
	type expected struct {
		Name    string
		Parts   []build.Part
		M       message.Message
		To      string // "" is auto
		Goes    string // exchange and key
		Changes string // "" if the worker has seen the key
	}

	for _, test := range must.Cases[expected](t, "testdata/keys_of_ways.toml") {
		topology := shop(test.Parts...)
		mode, fixed, err := Parse(test.To, model.Unknown[string]())
		assert.Succeeds(t, err)

		if mode == ToExchange {
			fixed, err = Split(topology, build.Ref("orders.failed"), fixed.Exchange)
			assert.Succeeds(t, err)
		}

		to := New(topology, build.Ref("orders.failed"), mode, fixed)
		way := to.WayOf(topology, &test.M, message.Opening(&test.M))
		if way.Problem != nil {
			t.Errorf("%s: %s", test.Name, way.Problem.Words())
			continue
		}

		assert.Equal(t, way.Exchange+" "+way.RoutingKey, test.Goes, "%s", test.Name)
		key, was, differs := to.OtherKey(topology, &test.M, nil, &way)
		change := ""
		if differs {
			change = was.Or("?") + " -> " + key
		}

		assert.Equal(t, change, test.Changes, "%s: key", test.Name)
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
		assert.Lacks(t, text, "via=", "by its own address")
		p.RoutingKey = "mended"
		p.Mark(&m, nil, "A", true)
		text, _ = p.Headers.Text(message.ReplayHeader)
		assert.Lacks(t, text, "via=", "an edit gave it another")
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
