package plan

import (
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
)

// A copy that comes with another key than its message names may be acknowledged unseen, where its queue is bound for
// the other key only: it is refused. An application's own way is not.
func TestCopiesKeepTheKeyThatTheyName(t *testing.T) {
	type expected struct {
		Name, Body string
		Parts      []build.Part
		Headers    model.Table
		Deaths     []message.Death
		To, Want   string
	}

	for _, c := range must.Cases[expected](t, "testdata/copies_keep_the_key_that_they_name.toml") {
		m := message.Message{RoutingKey: "orders.failed", Headers: c.Headers, Body: []byte(c.Body), Deaths: c.Deaths}

		p := newRun(build.TopologyOf("4.0.5", c.Parts...), replayOf("orders.failed", c.To, m))
		assert.Contains(t, outcomeOf(p), c.Want, "%s", c.Name)
		_, err := p.Publishing(&m)
		assert.Equal(t, err != nil, p.Refusal.Refused(), "%s: the run agrees", c.Name)

		want := replayOf("orders.failed", c.To, m)
		want.Insist = true
		assert.Equal(t, outcomeOf(newRun(build.TopologyOf("4.0.5", c.Parts...), want)), "to orders", "%s: insisting", c.Name)
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
