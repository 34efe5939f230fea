package ui

import (
	"fmt"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
)

// failInto publishes messages that failed with an error, and their queue.
func failInto(t *testing.T, channel *amqp.Channel, queue, kind, text string, n int) {
	t.Helper()
	arguments := amqp.Table{"x-queue-type": kind}
	must.Get(channel.QueueDeclare(queue, true, false, false, false, arguments))(t)
	for i := range n {
		publish(t, channel, queue, amqp.Publishing{
			MessageId: fmt.Sprint(queue, text, i), Headers: amqp.Table{"x-error": text}, Body: []byte("{}"),
		})
	}
}

// TestListsStayTrue: after what the operator did each list says what is there, and a row has the cursor.
func TestListsStayTrue(t *testing.T) {
	storySizes(t, func(t *testing.T, width, height int) {
		o, channel := storyVHost(t)
		for _, name := range []string{"mail", "sms"} {
			must.Get(channel.QueueDeclare(name, true, false, false, false, nil))(t)
		}
		failInto(t, channel, "mail.failed", "classic", "ValueError: no address", 9)
		failInto(t, channel, "sms.failed", "classic", "ValueError: no address", 8)
		failInto(t, channel, "sms.failed", "classic", "TimeoutError: too late", 7)
		screen := newTerminal(t, o, width, height)
		screen.await("mail ")
		screen.press("3")
		screen.await("   24 read", "ValueError", "TimeoutError")
		screen.press(keyEnter)
		screen.await("17 found", "complete")
		replayAll := func() {
			screen.press("R")
			screen.await("replay 17 messages of 2 queues")
			screen.agree("replay 17 messages", "17 messages moved")
			screen.await("u undo all 2", "esc close")
		}
		replayAll()
		screen.press("u") // one action, of two records
		screen.await("Undo all 2: bring back 17 messages", "back to   story/mail.failed: 9 messages")
		screen.agree("bring back", "17 of 17 messages brought back to 2 queues")
		screen.press(keyEnter)
		screen.await("u undo all 2")
		screen.press(keyEsc)
		screen.await("17 found", "complete")
		replayAll()
		screen.press(keyEsc)
		screen.await("0 found", "none of this cause is left")
		screen.press("R")
		screen.await("no message of this cause is in its queues any more")
		screen.press("q")
		screen.await("   7 read")
		screen.awaitThat("the next cause has the cursor", func(string) bool {
			return strings.Contains(screen.cursorRow(), "TimeoutError")
		})

		screen.press(keyEnter)
		screen.await("cause: TimeoutError", "7 messages", "(basic.consume)")
		screen.press("D")
		screen.await("Drop 7 messages")
		screen.agree("drop", "7 messages dropped")
		screen.await("What happened")
		screen.press(keyEnter)
		screen.await("the queue is empty")
		screen.press("u")
		screen.await("bring back 7 messages")
		screen.agree("bring back", "7 of 7 messages brought back")
		screen.press(keyEnter)
		screen.awaitThat("what came back is listed", func(s string) bool {
			return strings.Contains(s, "7 messages ") && !strings.Contains(s, "the queue is empty") &&
				screen.cursorRow() != ""
		})
		if s := screen.screen(); strings.Contains(s, "now 0") {
			t.Errorf("a count from before the undo counts\n%s", s)
		}
		screen.press("q")
		screen.await("   7 read")
		assert.Contains(t, screen.screen(), "7 messages   7 read", "a count from before the undo counts")
		screen.awaitThat("the cause has the cursor", func(string) bool {
			return strings.Contains(screen.cursorRow(), "TimeoutError")
		})
	})
}

// TestCostlyListStaysTrue: where a look costs, what was read stays when an action took messages, and no look is spent.
func TestCostlyListStaysTrue(t *testing.T) {
	storySizes(t, func(t *testing.T, width, height int) {
		o, channel := storyVHost(t)
		must.Get(channel.QueueDeclare("mail", true, false, false, false, nil))(t)
		failInto(t, channel, "mail.failed", "quorum", "TimeoutError: too late", 3)
		failInto(t, channel, "mail.failed", "quorum", "ValueError: no address", 9)
		screen := newTerminal(t, o, width, height)
		screen.await("mail ")
		screen.press("3")
		screen.awaitThat("it is read, or has a cost", func(s string) bool {
			return strings.Contains(s, "   12 read") || strings.Contains(s, "a look has a cost")
		})
		free := strings.Contains(screen.screen(), "   12 read")
		screen.readFailed(12)
		if free { // from 4.3 on: it is read by itself, and only a key sorts
			screen.press(keyCtrlR)
		}
		screen.awaitThat("the most frequent is first", func(s string) bool {
			return strings.Index(s, "ValueError") < strings.Index(s, "TimeoutError")
		})
		screen.press("g", "r")
		screen.await("Replay 9 messages")
		screen.agree("replay", "9 messages moved")
		screen.await("What happened")
		screen.press(keyEnter)
		screen.await("none of this cause is left here")
		screen.press("q")
		screen.await("   "+model.Count(3)+" read", "TimeoutError")
		screen.awaitThat("the other cause has the cursor", func(string) bool {
			return strings.Contains(screen.cursorRow(), "TimeoutError")
		})
		polls := screen.screen()
		assert.That(t, !strings.Contains(polls, "≥ "), "what was read is forgotten\n%s", polls)
	})
}

// TestCostlyCauseIsNotZero: a cause that is listed does not open as none where a look has a cost.
func TestCostlyCauseIsNotZero(t *testing.T) {
	o, channel := storyVHost(t)
	for _, name := range []string{"mail", "sms"} {
		must.Get(channel.QueueDeclare(name, true, false, false, false, nil))(t)
		failInto(t, channel, name+".failed", "quorum", "ValueError: no address", 4)
	}
	screen := newTerminal(t, o, 80, 24)
	screen.await("mail ")
	screen.press("3")
	screen.readFailed(8)
	screen.press("g", keyEnter)
	screen.await("8 found", "complete") // by what the look at the causes read
	screen.press(keyEnter)
	screen.await("4 messages", "ValueError")
	screen.press("r")
	screen.await("Replay 1 message")
	screen.agree("replay", "1 message moved")
	screen.press(keyEnter, "q")
	screen.await("7 found")
	screen.press("q", ":queue mail.failed", keyEnter)
	screen.await("3 messages", "ValueError")
	screen.press("q", ":queue sms.failed", keyEnter)
	screen.await("4 messages", "ValueError")
	for queue, want := range map[string]int64{"mail.failed": 2, "sms.failed": 1} {
		delivery, ok, err := channel.Get(queue, false)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		if count, counted := delivery.Headers["x-delivery-count"].(int64); counted && count > want {
			t.Errorf("%s: delivered %d times, by a look and a replay at most %d", queue, count, want)
		}
	}
}

// TestOpeningAsksForWhatCosts: opening a queue looks at it by itself only where that has no cost.
func TestOpeningAsksForWhatCosts(t *testing.T) {
	o, channel := storyVHost(t)
	must.Get(channel.QueueDeclare("mail", true, false, false, false, nil))(t)
	failInto(t, channel, "mail.failed", "quorum", "ValueError: no address", 4)
	screen := newTerminal(t, o, 80, 24)
	screen.await("mail ")
	screen.press(":queue mail.failed", keyEnter)
	screen.awaitThat("it is read, or a key is named", func(s string) bool {
		return strings.Contains(s, "read 0s ago") || strings.Contains(s, "4 messages, not read; i reads it, at a cost")
	})
	if free := strings.Contains(screen.screen(), "read 0s ago"); !free { // else it is RabbitMQ 4.3
		screen.await("not read, for a look has a cost: ", "i read ")
		delivery, ok, err := channel.Get("mail.failed", false)
		count, counted := delivery.Headers["x-delivery-count"].(int64)
		if err != nil || !ok || counted && count > 0 {
			t.Fatal(ok, err, delivery.Headers)
		}
		must.Do(t, delivery.Nack(false, true))
		screen.press("i")
	}
	screen.await("read 0s ago", "ValueError")
}

// TestCopiesAreReplayedWhenAsked: a copy of what was replayed from another failed queue stays, until `b` says
// otherwise.
func TestCopiesAreReplayedWhenAsked(t *testing.T) {
	o, channel := storyVHost(t)
	must.Get(channel.QueueDeclare("mail", true, false, false, false, nil))(t)
	for _, failed := range []string{"mail.failed", "mail.failed.copy"} {
		must.Get(channel.QueueDeclare(failed, true, false, false, false, nil))(t)
		publish(t, channel, failed, amqp.Publishing{MessageId: "one", Body: []byte("{}"), Headers: amqp.Table{
			"x-death": []any{amqp.Table{
				"queue": "mail", "reason": "rejected", "count": int64(1), "exchange": "", "routing-keys": []any{"mail"},
			}},
		}})
	}
	screen := newTerminal(t, o, 80, 24)
	screen.await("mail ")
	screen.press(":queue mail.failed", keyEnter)
	screen.await("1 message ")
	screen.press("r")
	screen.await("Replay 1 message")
	screen.agree("replay", "1 message moved")
	screen.press(keyEsc, ":queue mail.failed.copy", keyEnter)
	screen.await("1 message ", "mail.failed.copy")
	screen.press("r")
	screen.await("b copies, too", "a copy from")
	screen.press("b")
	screen.await("b leave copies")
	screen.agree("replay", "1 message moved")
	q := must.Get(channel.QueueDeclarePassive("mail", true, false, false, false, nil))(t)
	assert.That(t, q.Messages == 2, "%d messages came", q.Messages)
}
