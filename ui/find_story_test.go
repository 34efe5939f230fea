package ui

import (
	"fmt"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
)

// TestStoryOfOneOrder: one order's id in 200 queues of 500 messages is found by its text, while the search goes on, and
// enter goes to the message in its queue.
func TestStoryOfOneOrder(t *testing.T) {
	storySizes(t, func(t *testing.T, width, height int) {
		o, channel := storyVHost(t)
		queues, each := size.Of(20, 200), size.Of(50, 500)
		wanted := queues * 2 / 3
		for q := range queues {
			name := fmt.Sprintf("orders-%03d.failed", q)
			must.Get(channel.QueueDeclare(name, true, false, false, false, nil))(t)
			messages := make([]amqp.Publishing, each)
			for i := range messages {
				id := fmt.Sprintf("A-%06d", q*each+i)
				if q == wanted && i == each/2 {
					id = "B-4711"
				}
				messages[i] = amqp.Publishing{MessageId: fmt.Sprint(q*each + i), Body: fmt.Appendf(nil, `{"order":%q}`, id)}
			}
			publish(t, channel, name, messages...)
		}
		screen := newTerminal(t, o, width, height)
		screen.await("No flows here")
		screen.command("find b-4711", "▸ find b-4711")
		screen.press(keyEnter)
		queue := fmt.Sprintf("orders-%03d.failed", wanted)
		screen.await("1 found", queue)
		screen.await(fmt.Sprintf("%d queues", queues))
		screen.press(keyEnter)
		screen.await(queue+"   ", fmt.Sprintf("▸ %6d ", each/2+1))
	})
}
