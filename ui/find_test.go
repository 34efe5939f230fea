package ui

import (
	"context"
	"fmt"
	"testing"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

// manySizes are those of a screen with a wide one.
func manySizes(t *testing.T, test func(t *testing.T, width, height int)) {
	atSizes(t, test)
	t.Run("200x50", func(t *testing.T) { test(t, 200, 50) })
}

// ordersInMany are options of a broker with an order in three queues, and one queue that costs.
func ordersInMany(n int) (Options, *recordedBroker, *clock) {
	o, b, c := failedOptions(n)
	limited := func(q *model.Queue) {
		q.Type, q.Arguments["x-delivery-limit"] = model.Quorum, int64(20)
	}
	s := later(busyBroker(), 0, map[string]int64{failedQueue: int64(n)})
	queue("lots", limited, ready(5))(s)
	o.Source = &recorded{snapshot: s}
	order := func(id, body string) message.Message {
		m := message.Message{
			RoutingKey: "order.created", Properties: message.Properties{MessageID: id}, Body: []byte(body),
			Headers: model.Table{"x-tenant": "acme"},
		}
		m.Fingerprint = message.FingerprintOf(&m)
		return m
	}
	b.put("RetryQueue", order("r-1", `{"order":"A-4710"}`), order("r-2", `{"lines":[1,2,3],"order":"A-4711","user":"Zoë"}`))
	b.put("test-delay", order("t-1", "order a-4711 again, \x1b[31mred\u202e"))
	b.put("lots", order("l-1", `{"order":"A-4711"}`))
	b.put("worker-queue", order("A-4711", "{}"))
	return o, b, c
}

func TestFindGolden(t *testing.T) {
	manySizes(t, func(t *testing.T, width, height int) {
		o, _, _ := ordersInMany(3)
		term := newTerminal(t, o, width, height)
		term.await("ucenter@user")
		term.command("find a-4711", "▸ find a-4711")
		term.press(keyEnter)
		term.await("3 found", "not all was read")
		term.await("order a-4711 again, \\x1b[31mred")
		term.press(keyDown)
		term.await("── RetryQueue   r-2")
		term.settle()
		term.golden()
	})
}

// Enter goes to the message in its queue, and what costs is searched when asked for.
func TestFindOpens(t *testing.T) {
	o, b, _ := ordersInMany(3)
	term := newTerminal(t, o, 120, 36)
	term.await("ucenter@user")
	term.command("find =json.order == 'A-4711'", "▸ find =json.order")
	term.press(keyEnter)
	term.await("1 found", "not all was read", "expression")
	term.press("i")
	term.await("2 found", "lots  ")
	term.press(keyEnter)
	term.await("RetryQueue   2 messages", "▸      2  ?")
	term.press(keyEsc)
	term.await("2 found")
	b.mu.Lock()
	b.messages[ref("RetryQueue")] = b.messages[ref("RetryQueue")][:1]
	b.mu.Unlock()
	term.press(keyEnter)
	term.await("the message that was found is not in the queue any more")
}

// A filter that cannot be read is told while it is typed, and does nothing.
func TestFindSaysWhatIsWrong(t *testing.T) {
	o, _, _ := ordersInMany(3)
	term := newTerminal(t, o, 80, 24)
	term.await("ucenter@user")
	term.command("find", "▸ find TEXT")
	term.press(keyEnter)
	term.await(" : find ", "▸ find TEXT")
	term.press("=nam")
	term.await("✗ the filter cannot be read at character 1")
	term.press(keyEnter)
	term.settle()
	term.await("✗ the filter cannot be read at character 1")
	term.press(keyEsc)
	term.awaitGone("cannot be read")
}

// pausing is a broker that waits before the second message of a queue.
type pausing struct {
	*recordedBroker
	queue model.QueueRef
}

func (b *pausing) Read(ctx context.Context, p peek.Plan, each func(*message.Message) error) (peek.Read, error) {
	n := 0
	return b.recordedBroker.Read(ctx, p, func(m *message.Message) error {
		if n++; n == 2 && p.Queue == b.queue {
			<-ctx.Done()
			return fmt.Errorf("read: %w", ctx.Err())
		}
		return each(m)
	})
}

// What is found is shown while a queue is read, and esc stops the search: what was not read is told.
func TestFindStops(t *testing.T) {
	o, b, _ := ordersInMany(3)
	o.Broker = &pausing{b, ref("RetryQueue")}
	term := newTerminal(t, o, 120, 36)
	term.await("ucenter@user")
	term.command("find a-471", "▸ find a-471")
	term.press(keyEnter)
	term.await("A-4710", "2 found", "esc stop", "not read: 5 messages of lots")
	term.press(keyEsc)
	term.await("stopped", "2 found", "the search was ended")
	term.press(keyEsc)
	term.awaitGone("the search was ended")
}
