package peek_test

import (
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

// What an undo brought back stands at the end of what a cached peek read, as in the queue, behind all others.
func TestWhatCameBackIsAtTheEndOfACachedPeek(t *testing.T) {
	queue := build.Ref("failed")
	list := make(message.MessageList, 4)
	for i := range list {
		list[i].Position, list[i].Fingerprint = i+1, message.Fingerprint{byte(i + 1)}
	}

	var c peek.Cache
	must.Do(t, c.Add(peek.Peeked{
		Plan: peek.Plan{Queue: queue, Limit: 10}, Messages: list, Depth: build.Some(4),
	}).Messages.Close())
	first := message.Twins{list[0].Fingerprint: 1}

	lent := func() (order []byte) {
		p, ok, err := c.Lend(queue, 10)
		must.Do(t, err)
		must.That(t, ok, "cached %v: %v", ok, err)
		must.Do(t, message.Each(p.Messages, 1, func(m *message.Message) { order = append(order, m.Fingerprint[0]) }))
		must.Do(t, p.Messages.Close())
		return order
	}

	assert.List(t, lent(), []byte{1, 2, 3, 4}, "as read")
	c.Apply(queue, peek.Change{Gone: first})
	assert.List(t, lent(), []byte{2, 3, 4}, "after a replay")
	c.Apply(queue, peek.Change{Came: first, Unclear: true})
	assert.List(t, lent(), []byte{2, 3, 4, 1}, "after its undo")
}
