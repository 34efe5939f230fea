package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/depth"
	"github.com/dlxtop/dlxtop/internal/must"
)

// TestStoryOfManyQueues: one cause is in the failed queues of three workers, classic and quorum. A program mends all of
// it but one message, which stays. That one, and what came later in the other queues, is then moved to one queue, and
// an undo brings back what came from one of them, byte for byte.
func TestStoryOfManyQueues(t *testing.T) {
	const each = 20
	storySizes(t, func(t *testing.T, width, height int) {
		o, channel := storyVHost(t)
		manyFailing(t, channel, each)
		depths := func() (ready [4]int) {
			for i, name := range []string{"mail.failed", "sms.failed", "push.failed", "parking"} {
				ready[i] = depth.Of(t, channel, name)
			}
			return ready
		}
		screen := newTerminal(t, o, width, height)
		screen.await("mail ")
		screen.press("3")
		screen.readFailed(3 * each)
		screen.press("E")
		screen.await("Edit 60 messages with jq", "all of the cause in 3 queues")
		screen.press(`if .body.to == "sms-7" then error("unknown") else .body.to += "@example.com" end`, keyEnter)
		screen.await("59 of 60 messages are changed, 1 stays in the queue", "to the replay")
		screen.press(keyEnter)
		screen.await("replay 60 messages of 3 queues")
		screen.agree("replay 60 messages", "59 of 60 messages moved")
		screen.await("esc close")
		screen.awaitThat("one is left", func(string) bool { return depths() == [4]int{0, 1, 0, 0} })
		screen.press(keyEsc)
		screen.await("CAUSE")

		publish(t, channel, "mail.failed", unaddressed("mail-later"))
		publish(t, channel, "push.failed", unaddressed("push-later"))
		screen.press(keyCtrlR)
		screen.readFailed(3)
		screen.press("m")
		screen.await("Move 3 messages")
		screen.press("parking", keyEnter)
		screen.await("move 3 messages of 3 queues")
		screen.agree("move 3 messages", "3 messages moved")
		screen.await("esc close")
		screen.awaitThat("all are moved", func(string) bool { return depths() == [4]int{0, 0, 0, 3} })
		screen.press("u")
		screen.await("Undo all 3: bring back 3 messages")
		screen.agree("bring back", "3 of 3 messages brought back to 3 queues")
		assert.Equal(t, depths(), [4]int{1, 1, 1, 0}, "after the undo the failed queues and parking hold")
		for _, name := range []string{"mail.failed", "sms.failed", "push.failed", "parking"} {
			for {
				d, ok, err := channel.Get(name, true)
				must.Do(t, err)
				if !ok {
					break
				}
				want := fmt.Sprintf(`{"to":  "%s"}`, d.MessageId)
				assert.That(t, string(d.Body) == want, "%s holds %s, want %s", name, d.Body, want)
			}
		}
	})
}

// manyFailing makes three workers that acknowledge what is mended, a queue to move to, and so many failed messages of
// each worker.
func manyFailing(t *testing.T, channel *amqp.Channel, each int) {
	t.Helper()
	declare := func(name, kind string, more amqp.Table) {
		t.Helper()
		arguments := amqp.Table{"x-queue-type": kind}
		for k, v := range more {
			arguments[k] = v
		}
		_, err := channel.QueueDeclare(name, true, false, false, false, arguments)
		must.That(t, err == nil, "%v", err)
	}
	declare("parking", "classic", nil)
	for i, w := range []string{"mail", "sms", "push"} {
		declare(w, "classic", amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": w + ".failed"})
		declare(w+".failed", []string{"classic", "quorum"}[i%2], nil)
		for n := range each {
			publish(t, channel, w+".failed", unaddressed(fmt.Sprintf("%s-%d", w, n)))
		}
		consumes, err := channel.Consume(w, w, false, false, false, false, nil)
		must.Do(t, err)
		go func() {
			for d := range consumes {
				if string(d.Body) == fmt.Sprintf(`{"to":  "%s@example.com"}`, d.MessageId) {
					_ = d.Ack(false)
				} else {
					_ = d.Reject(false)
				}
			}
		}()
	}
}

// unaddressed is a message that failed for the one cause of this story.
func unaddressed(id string) amqp.Publishing {
	return amqp.Publishing{
		MessageId: id, ContentType: "application/json", Body: fmt.Appendf(nil, `{"to":  "%s"}`, id),
		Headers: amqp.Table{"x-exception-message": fmt.Sprintf("ValueError: no address '%s'", id)},
	}
}

// readFailed waits until so many messages of the failed queues were read, and agrees to the cost of that where it is
// asked for.
func (term *terminal) readFailed(n int) {
	term.t.Helper()
	var pressed time.Time
	term.awaitThat(fmt.Sprintf("%d are read", n), func(screen string) bool {
		if strings.Contains(screen, fmt.Sprintf("   %d read", n)) {
			return true
		}
		switch {
		case time.Since(pressed) < time.Second:
		case strings.Contains(screen, "enter read them"):
			pressed = time.Now()
			term.press(keyEnter)
		case strings.Contains(screen, "a look has a cost"):
			pressed = time.Now()
			term.press("i")
		}
		return false
	})
}
