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
	parts := build.Text(`
		exchange topic bus
		queue orders consumers=1
		bind bus order.created orders
		queue audit consumers=1
		bind bus order.# audit
		exchange topic errors
		queue orders.failed
	`)

	for _, c := range must.Cases[struct {
		Name, Key, Bound, Want string
		Headers                model.Table
		Deaths                 []message.Death
	}](t, "testdata/published_failures.toml") {
		m := message.Message{Exchange: "errors", RoutingKey: c.Key, Headers: c.Headers, Deaths: c.Deaths}
		topology := build.TopologyOf("4.0.5", parts, build.Bind("errors", c.Bound, "orders.failed"))
		p := newRun(topology, replayOf("orders.failed", "auto", m))
		assert.Contains(t, outcomeOf(p), c.Want, "%s", c.Name)
	}
}
