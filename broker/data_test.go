package broker_test

import (
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/target"
)

// TestPlanFromJSON: a replay by an expression, with a mark, is executed from what was written as JSON. So
// are all plans of these tests; this one has most of what a plan can have.
func TestPlanFromJSON(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		a, c := newApp(t), client(t)
		from, to := described(a.queue("failed", kind), kind), described(a.queue("worker", kind), kind)
		a.publish(from.QueueRef, numbered(5)...)
		condition := must.Get(filter.ParseExpression("position > 2"))(t)
		topology := topology([]*model.Queue{from, to})
		p := decoded(t, plan.New(topology, plan.ActionWant{
			Operation: plan.Replay, From: from.QueueRef, Selection: plan.Selection{Filter: condition}, Planned: 3,
			Mode: target.ToQueue, Fixed: model.Address{RoutingKey: to.Name}, User: "guest", Mark: true, Insist: true,
			Canary: time.Second,
		}))
		must.That(t, p.Canary != nil && !p.Refusal.Refused(), "%+v", p)
		p.Canary = nil // nobody consumes here: a canary would wait
		account := execute(t, c, p.On(topology))
		wantOutcome(t, account, outcome{Planned: 3, Moved: 3})
		wantIDs(t, "moved", a.drain(to.QueueRef, 3), count(5)[2:])
		a.drain(from.QueueRef, 2)

		_, err := c.Execute(t.Context(), p.On(nil), nil)
		assert.That(t, err != nil, "it runs without a topology, and nobody could tell where its messages go")
	})
}
