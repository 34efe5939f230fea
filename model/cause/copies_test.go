package cause

import (
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// Copies in several queues are one message for the same worker, by their id or by their deaths; an index
// of them says the same.
func TestCopiesInSeveralQueuesAreOneMessage(t *testing.T) {
	g := NewGroups()
	add := func(queue model.QueueRef, id, worker string) {
		deaths := []any{model.Table{"queue": worker, "reason": "rejected", "count": int64(1)}}
		m := &message.Message{Headers: model.Table{"x-death": deaths, "x-error": "ValueError: no"}}
		m.Properties.MessageID, m.Exchange = id, queue.Name
		m.Deaths, _ = message.ParseDeaths(m.Headers)
		m.Identify()
		g.Add(queue, m)
	}
	for _, queue := range []model.QueueRef{mail, stock} {
		add(queue, "m1", "w")
		add(queue, "m2", "w")
		add(queue, "", "w") // twice there: they may be two
		add(queue, "", "w")
	}
	add(stock, "m1", "v") // failed on a copy of its own
	add(stock, "m1", "w")
	check := func(g *Groups) {
		t.Helper()
		list := g.List()
		assert.That(t, len(list) == 1 && list[0].Messages == 10 && list[0].Different == 5, "%+v", list)
	}
	check(g)
	kept := NewGroups()
	for _, queue := range []model.QueueRef{mail, stock} {
		must.Get(kept.Recall(g.Keep("b", queue, Earlier{}), "b", queue))(t)
	}
	check(kept)
}
