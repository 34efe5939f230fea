package plan

import (
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
)

// A copy that comes with another key than its message names may be acknowledged unseen, where its queue is bound for
// the other key only: it is refused. An application's own way is not.
func TestCopiesKeepTheKeyThatTheyName(t *testing.T) {
	bus := build.Exchange("topic", "bus")
	orders := build.Queue("orders", build.Consumers(1))
	created := build.Bind("bus", "order.created", "orders")
	audit := build.Queue("audit", build.Consumers(1))
	all := build.Bind("bus", "order.*", "audit")
	failed := build.Queue("orders.failed")
	shared := []build.Part{bus, orders, created, audit, all, failed}

	const refused = "the message names the routing key order.created ("
	for _, c := range []struct {
		name, body string
		parts      []build.Part
		headers    model.Table
		deaths     []message.Death
		to, want   string
	}{
		{
			name: "a header", parts: shared, headers: model.Table{"x-original-routing-key": "order.created"},
			want: refused + "x-original-routing-key)",
		},
		{
			name: "a header of any name", parts: shared, headers: model.Table{"routeKey": "order.created"},
			want: refused + "routeKey)",
		},
		{name: "the body", parts: shared, body: `{"id":1,"event":"order.created"}`, want: refused + "body.event)"},
		{
			name: "chosen by the user", parts: shared, body: `{"event":"order.created"}`, to: "queue:orders",
			want: "to orders",
		},
		{name: "another text", parts: shared, body: `{"event":"order.created.eu"}`, want: "to orders"},
		{name: "a nested text", parts: shared, body: `{"order":{"state":"order.created"}}`, want: "to orders"},

		{
			name: "an exchange leads there alone", parts: []build.Part{bus, orders, created, failed},
			body: `{"event":"order.created"}`, want: "to orders",
		},
		{
			name: "no bindings", parts: []build.Part{orders, failed},
			headers: model.Table{"x-original-routing-key": "order.created"}, want: "to orders",
		},
		{
			name: "bound by its name, too",
			parts: append([]build.Part{build.Text(`
				bind bus orders orders
				bind bus orders audit
			`)}, shared...),
			body: `{"event":"order.created"}`, want: "to orders",
		},
		{
			name:  "its retries come so",
			parts: append([]build.Part{build.Buffer("orders.wait", "orders", 1000)}, shared...),
			body:  `{"event":"order.created"}`, want: "to orders",
		},

		{
			name: "it failed there with that key", parts: shared, body: `{"event":"order.created"}`,
			deaths: []message.Death{diedIn("orders", model.Rejected, "orders")}, want: "to orders",
		},
	} {
		m := message.Message{RoutingKey: "orders.failed", Headers: c.headers, Body: []byte(c.body), Deaths: c.deaths}

		p := newRun(build.TopologyOf("4.0.5", c.parts...), replayOf("orders.failed", c.to, m))
		assert.Contains(t, outcomeOf(p), c.want, "%s", c.name)
		_, err := p.Publishing(&m)
		assert.Equal(t, err != nil, p.Refusal.Refused(), "%s: the run agrees", c.name)

		want := replayOf("orders.failed", c.to, m)
		want.Insist = true
		assert.Equal(t, outcomeOf(newRun(build.TopologyOf("4.0.5", c.parts...), want)), "to orders", "%s: insisting", c.name)
	}
}

// An application that makes the key of its failures from the key that it got loses a copy's second failure, when no
// queue is bound for that key.
func TestSecondFailuresThatAnApplicationPublishes(t *testing.T) {
	parts := func(bound string) []build.Part {
		return []build.Part{
			build.Text(`
				exchange topic bus
				queue orders consumers=1
				bind bus order.created orders
				queue audit consumers=1
				bind bus order.# audit
				exchange topic errors
				queue orders.failed
			`), build.Bind("errors", bound, "orders.failed"),
		}
	}

	const lost = "its application publishes its failures to the exchange errors, and no queue is bound for the key "
	for _, c := range []struct {
		name, key, bound string
		headers          model.Table
		deaths           []message.Death
		want             string
	}{
		{name: "before it", key: "error.order.created", bound: "error.order.created", want: lost + "error.orders"},
		{name: "behind it", key: "order.created.failed", bound: "order.created.failed", want: lost + "orders.failed"},
		{
			name: "of a key in a header", key: "error:shop.new", bound: "error:shop.new",
			headers: model.Table{"first-key": "shop.new"}, want: lost + "error:orders",
		},

		{name: "a pattern is bound", key: "error.order.created", bound: "error.#", want: "to orders"},
		{name: "of the queue's name", key: "error.orders", bound: "error.orders", want: "to orders"},
		{name: "a fixed key", key: "failed", bound: "failed", want: "to orders"},
		{name: "another word", key: "terrororder.created", bound: "terrororder.created", want: "to orders"},
		{
			name: "RabbitMQ published it", key: "error.order.created", bound: "error.order.created",
			deaths: []message.Death{diedIn("orders", model.Rejected, "order.created")}, want: "to orders",
		},
	} {
		m := message.Message{Exchange: "errors", RoutingKey: c.key, Headers: c.headers, Deaths: c.deaths}
		p := newRun(build.TopologyOf("4.0.5", parts(c.bound)...), replayOf("orders.failed", "auto", m))
		assert.Contains(t, outcomeOf(p), c.want, "%s", c.name)
	}
}
