package ui

import (
	"sync/atomic"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/story"
	"github.com/dlxtop/dlxtop/ui/messages"
)

// readings are messages that count how often one was read.
type readings struct {
	message.MessageList
	reads atomic.Int64
}

func (c *readings) At(i, body int) (message.Message, error) {
	c.reads.Add(1)
	return c.MessageList.At(i, body)
}

// TestALookReadsItsMessagesOnce: the rows, when each message leaves and what they tell together come of one reading, in
// queues in which messages wait and in others.
func TestALookReadsItsMessagesOnce(t *testing.T) {
	topology := model.NewTopology(busyBroker())
	for _, queue := range []string{failedQueue, "ucenter@user@retry"} {
		const n = 50
		list := &readings{}
		for i := range n {
			m := failedMessage(i)
			m.Position = i + 1
			list.MessageList = append(list.MessageList, m)
		}
		at := newClock().now()
		look := messages.PeekedMsg{Queue: ref(queue), Peeked: peek.Peeked{Messages: list, TakenAt: at}}
		must.Do(t, look.Read(topology, story.Sight{}, nil, messages.OfCause{}))
		assert.Equal(t, list.reads.Load(), n, "%s", queue)
		if waits := queue != failedQueue; len(look.Rows) != n || waits != (look.Waits != nil) {
			t.Errorf("%s: %d rows, waits %v", queue, len(look.Rows), look.Waits)
		}
	}
}
