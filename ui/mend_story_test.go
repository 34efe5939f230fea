package ui

import (
	"fmt"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/depth"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
)

// storySizes are the sizes of a story's screen; a sample has the first.
func storySizes(t *testing.T, story func(t *testing.T, width, height int)) {
	sizes := []struct{ width, height int }{{120, 36}, {80, 24}, {200, 50}}
	for _, s := range sizes[:size.Of(1, len(sizes))] {
		t.Run(fmt.Sprintf("%dx%d", s.width, s.height), func(t *testing.T) { story(t, s.width, s.height) })
	}
}

// TestStoryOfMending: 600 bodies have one mistake. A first program does not mend it: the canary comes back, for a
// cause of its own, and the other 599 stay. What the second one makes of them arrives, all of it, and its undo brings
// back what was there, byte for byte.
func TestStoryOfMending(t *testing.T) {
	const n = 600
	storySizes(t, func(t *testing.T, width, height int) {
		o, channel := storyVHost(t)
		fails := amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "orders.failed"}
		for name, arguments := range map[string]amqp.Table{"orders": fails, "orders.failed": nil} {
			must.Get(channel.QueueDeclare(name, true, false, false, false, arguments))(t)
		}
		body := func(i int) string { return fmt.Sprintf(`{"order": %d,  "amount": "%d,50"}`, i, i) }
		messages := make([]amqp.Publishing, n)
		for i := range messages {
			messages[i] = amqp.Publishing{
				MessageId: fmt.Sprint(i), ContentType: "application/json", Body: []byte(body(i)),
				Headers: amqp.Table{"x-exception-message": fmt.Sprintf("ValueError: no amount: '%d,50'", i)},
			}
		}
		publish(t, channel, "orders.failed", messages...)
		consumes := must.Get(channel.Consume("orders", "worker", false, false, false, false, nil))(t)
		over := make(chan struct{})
		go func() {
			defer close(over)
			for d := range consumes {
				_ = d.Reject(false)
			}
		}()
		screen := newTerminal(t, o, width, height)
		screen.await("orders ")
		screen.press("3")
		screen.await("   600 read", "all 1")
		mendAll(screen, n, `.body.amount = 0`)
		screen.await("c canary")
		screen.press("c")
		screen.await("c no canary")
		screen.agree("replay", "1 of 600 messages moved")
		screen.await("What happened", "1 of 1 came back", "untouched 599")
		must.Do(t, channel.Cancel("worker", false))
		<-over
		screen.press(keyEnter, "q")
		screen.await("CAUSE")
		screen.press(keyCtrlR)
		screen.await("   600 read", "all 2")
		mendAll(screen, n-1, `.body.amount |= (tostring | sub(","; ".") | tonumber)`)
		screen.agree("replay", "599 messages moved")
		screen.await("What happened")
		here, there := depth.Of(t, channel, "orders.failed"), depth.Of(t, channel, "orders")
		must.That(t, here == 1 && there == n-1, "%d are in the failed queue, %d in the worker's", here, there)
		screen.press("u")
		screen.await("bring back 599 messages", "type 599:")
		screen.press("599")
		screen.agree("bring back", "599 of 599 messages brought back")
		changed := 0
		for range n {
			d, ok, err := channel.Get("orders.failed", true)
			must.That(t, err == nil && ok, "a message is missing: %v", err)
			var i int
			if _, err := fmt.Sscan(d.MessageId, &i); err != nil || string(d.Body) != body(i) {
				changed++ // the canary's: it was another one when it came back
			}
		}
		if left := depth.Of(t, channel, "orders"); changed != 1 || left != 0 {
			t.Errorf("%d are not what they were, %d are left in the worker's queue", changed, left)
		}
	})
}

// mendAll opens the replay of all messages of the one cause, as a program changes them.
func mendAll(screen *terminal, n int, program string) {
	screen.t.Helper()
	screen.awaitThat("the cause is under the cursor", func(string) bool {
		return strings.Contains(screen.cursorRow(), "ValueError: no amount")
	})
	screen.press("E")
	screen.await(fmt.Sprintf("Edit %d messages with jq", n), "all of the cause")
	screen.press(program, keyEnter)
	screen.await(fmt.Sprintf("%d of %[1]d messages are changed", n), "to the replay")
	screen.press(keyEnter)
	screen.await(fmt.Sprintf("Replay %d messages", n), fmt.Sprintf("type %d:", n))
	screen.press(fmt.Sprint(n))
	screen.await("enter replay")
}
