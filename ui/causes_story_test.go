package ui

import (
	"fmt"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// storyCause is why messages in a worker's failed queue failed, and what is done about it.
type storyCause struct {
	worker  string
	said    func(i int) amqp.Table // as its framework writes it
	text    string                 // of the cause
	n       int
	key     string // replay or drop
	several bool   // further queues have the cause, too
}

// storyCauses returns 1,000 messages that failed for seven causes, in five queues of five frameworks.
func storyCauses() []storyCause {
	spring := func(i int) amqp.Table {
		return amqp.Table{
			"x-exception-message":    fmt.Sprintf("421 4.7.0 <user%d@example.com>: try again in %d s", i, i),
			"x-exception-stacktrace": fmt.Sprintf("org.mail.MailException: 421 4.7.0 <user%d@example.com>\n\tat a.B.c()", i),
		}
	}

	const timeout = "the database did not answer in %d ms"

	two := func(kindHeader, textHeader string) func(kind, text string) func(i int) amqp.Table {
		return func(kind, text string) func(i int) amqp.Table {
			return func(i int) amqp.Table { return amqp.Table{kindHeader: kind, textHeader: fmt.Sprintf(text, i)} }
		}
	}

	massTransit := two("MT-Fault-ExceptionType", "MT-Fault-Message")
	nServiceBus := two("NServiceBus.ExceptionInfo.ExceptionType", "NServiceBus.ExceptionInfo.Message")
	wolverine := two("exception-type", "exception-message")
	rebus := func(i int) amqp.Table {
		return amqp.Table{"rbs2-error-details": fmt.Sprintf("System.IO.IOException: index %d is read-only\n   at S.E.A()", i)}
	}

	return []storyCause{
		{"mail", spring, "MailException: 421", 250, "r", false},
		{"stock", massTransit("System.TimeoutException", timeout), "TimeoutException: the database", 120, "r", true},
		{"invoice", nServiceBus("System.TimeoutException", timeout), "TimeoutException: the database", 80, "r", false},
		{"stock", massTransit("System.ArgumentException", "no article %d"), "ArgumentException: no article", 200, "d", false},
		{"invoice", nServiceBus("Tax.RateException", "no rate for country %d"), "RateException: no rate", 100, "d", false},
		{"search", rebus, "IOException: index", 150, "r", false},
		{"orders", wolverine("Shop.OrderException", "order %d was paid twice"), "OrderException: order", 60, "d", false},
		{"orders", wolverine("Shop.LockException", "order %d is locked"), "LockException: order", 40, "r", false},
	}
}

// storyVHost creates a vhost for a test, with these queues, and the program's options for it.
func storyVHost(t *testing.T, queues ...string) (Options, *amqp.Channel) {
	t.Helper()
	node, vhost, at := ownVHost(t)
	o, channel := optionsOn(t, node, vhost, at)
	o.VHost, o.Consent = vhost, peek.AskEach
	for _, name := range queues {
		must.Get(channel.QueueDeclare(name, true, false, false, false, nil))(t)
	}

	return o, channel
}

// TestStoryOfCauses: 1,000 failed messages of five frameworks have seven causes; each is dealt with, and in the end the
// failed queues are empty and the workers have what was replayed, each message once.
func TestStoryOfCauses(t *testing.T) {
	storySizes(t, func(t *testing.T, width, height int) {
		o, channel := storyVHost(t)
		wanted, left := map[string]int{}, 0
		for _, c := range storyCauses() {
			dial.Queue(t, channel, c.worker, nil)
			dial.Queue(t, channel, c.worker+".failed", nil)
			dial.Publish(t, channel, c.worker+".failed", many(c.n, func(i int) amqp.Publishing {
				return amqp.Publishing{MessageId: fmt.Sprint(c.text, i), Headers: c.said(i), Body: []byte("{}")}
			})...)
			left += c.n
			if c.key == "r" {
				wanted[c.worker] += c.n
			}
		}

		screen := o.open(t, width, height).await("mail ")
		screen.press("3").await("   "+model.Count(int64(left))+" read", "all 7")
		for todo := storyCauses(); len(todo) > 0; {
			now := todo[:1]
			if now[0].several {
				now = todo[:2]
			}
			todo = todo[len(now):]
			workDown(screen, now...)
			for _, c := range now {
				left -= c.n
			}
			screen.press(keyCtrlR).await("   " + model.Count(int64(left)) + " read")
		}

		screen.await("the failed queues are empty")
		for _, c := range storyCauses() {
			holds(t, channel, c.worker+".failed", 0)
			holds(t, channel, c.worker, wanted[c.worker])
		}
	})
}

// workDown acts on all messages of a cause, and goes back to the causes. A cause that was in several queues is marked
// as resolved.
func workDown(screen *terminal, queues ...storyCause) {
	screen.t.Helper()
	c := queues[0]
	kind, _, _ := strings.Cut(c.text, ":")
	screen.press("/", c.text, keyEnter).awaitRow(kind)
	if c.several {
		workDownSeveral(screen, queues)
	} else {
		workDownOne(screen, c)
	}

	screen.await("5 failed queues   ").press(keyEsc).awaitGone("esc clears")
}

// words returns what the key of a cause does, and the message afterwards.
func (c *storyCause) words() (does, done string) {
	if c.key == "d" {
		return "drop", "dropped"
	}
	return "replay", "moved"
}

func workDownOne(screen *terminal, c storyCause) {
	screen.t.Helper()
	does, done := c.words()
	screen.press(c.key)
	screen.await(fmt.Sprintf("%s%s %d messages", strings.ToUpper(does[:1]), does[1:], c.n), "all of the cause, as read at")
	if c.n > shell.TypedAbove {
		screen.press(fmt.Sprint(c.n))
	}

	screen.agree(does, fmt.Sprintf("%d messages %s", c.n, done)).await("What happened")
	screen.press(keyEnter).await("none of this cause is left here").press("q")
}

func workDownSeveral(screen *terminal, queues []storyCause) {
	screen.t.Helper()
	c, all := queues[0], 0
	does, done := c.words()
	for _, c := range queues {
		all += c.n
	}

	screen.press(keyEnter).await(fmt.Sprintf("%d found", all), "complete").press("q").await("5 failed queues   ")
	screen.press(c.key)
	screen.await(fmt.Sprintf("%s %d messages of %d queues, as read at", does, all, len(queues)),
		fmt.Sprintf("type %d:", all))
	screen.press(fmt.Sprint(all))
	screen.agree(fmt.Sprintf("%s %d messages", does, all), fmt.Sprintf(" %d messages %s", all, done))
	screen.await("esc close").press("o").await("marked as resolved").press(keyEsc)
}

// TestStoryOfManyQueues: the failed queues of three workers, classic and quorum, share one cause. A program mends all
// of it but one message, which stays. That one, and later ones in the other queues, are then moved to one queue, and an
// undo brings back what came from one of them, byte for byte.
func TestStoryOfManyQueues(t *testing.T) {
	const each = 20
	storySizes(t, func(t *testing.T, width, height int) {
		o, channel := storyVHost(t)
		manyFailing(t, o, channel, each)
		queues := []string{"mail.failed", "sms.failed", "push.failed", "parking"}
		hold := func(ready ...int) {
			t.Helper()
			for i, name := range queues {
				holds(t, channel, name, ready[i])
			}
		}

		screen := o.open(t, width, height).await("mail ").press("3").readFailed(3 * each)
		screen.press("E").await("Edit 60 messages with jq", "all of the cause in 3 queues")
		screen.press(`if .body.to == "sms-7" then error("unknown") else .body.to += "@example.com" end`, keyEnter)
		screen.await("59 of 60 messages are changed, 1 stays in the queue", "to the replay")
		screen.press(keyEnter).await("replay 60 messages of 3 queues")
		screen.agree("replay 60 messages", "59 of 60 messages moved").await("esc close")
		hold(0, 1, 0, 0)
		screen.press(keyEsc).await("CAUSE")

		dial.Publish(t, channel, "mail.failed", unaddressed("mail-later"))
		dial.Publish(t, channel, "push.failed", unaddressed("push-later"))
		screen.press(keyCtrlR).readFailed(3).press("m").await("Move 3 messages")
		screen.press("parking", keyEnter).await("move 3 messages of 3 queues")
		screen.agree("move 3 messages", "3 messages moved").await("esc close")
		hold(0, 0, 0, 3)
		screen.press("u").await("Undo all 3: bring back 3 messages")
		screen.agree("bring back", "3 of 3 messages brought back to 3 queues")
		hold(1, 1, 1, 0)

		for _, name := range queues {
			for _, d := range dial.Drain(t, channel, name) {
				want := fmt.Sprintf(`{"to":  "%s"}`, d.MessageId)
				assert.That(t, string(d.Body) == want, "%s holds %s, want %s", name, d.Body, want)
			}
		}
	})
}

// manyFailing makes three workers that acknowledge mended messages, a queue to move to, and some failed messages of
// each worker.
func manyFailing(t *testing.T, o Options, channel *amqp.Channel, each int) {
	t.Helper()
	dial.Queue(t, channel, "parking", nil)
	for i, w := range []string{"mail", "sms", "push"} {
		dial.Queue(t, channel, w, deadTo(w+".failed"))
		dial.Queue(t, channel, w+".failed", amqp.Table{"x-queue-type": []string{"classic", "quorum"}[i%2]})
		for n := range each {
			dial.Publish(t, channel, w+".failed", unaddressed(fmt.Sprintf("%s-%d", w, n)))
		}

		works(t, o, w, func(d amqp.Delivery) {
			if string(d.Body) == fmt.Sprintf(`{"to":  "%s@example.com"}`, d.MessageId) {
				acknowledge(d)
			} else {
				reject(d)
			}
		})
	}
}

// unaddressed returns a message that failed for the one cause of this story.
func unaddressed(id string) amqp.Publishing {
	return amqp.Publishing{
		MessageId: id, ContentType: "application/json", Body: fmt.Appendf(nil, `{"to":  "%s"}`, id),
		Headers: amqp.Table{"x-exception-message": fmt.Sprintf("ValueError: no address '%s'", id)},
	}
}

// readFailed waits until this many messages of the failed queues were read, and agrees to the cost if asked.
func (term *terminal) readFailed(n int) *terminal {
	term.t.Helper()
	term.answer(fmt.Sprintf("   %d read", n), "enter read them", keyEnter, "i reads ", "i")
	if strings.Contains(term.screen(), "enter read them") { // it was asked again while they were read
		term.press(keyEsc).awaitGone("enter read them")
	}
	return term
}

// storySizes are the screen sizes of a story; a sample has the first.
func storySizes(t *testing.T, story func(t *testing.T, width, height int)) {
	t.Parallel()
	at(t, allSizes[:size.Of(1, len(allSizes))], story)
}

// TestStoryOfMending: 600 bodies have one mistake. A first program does not mend it: the canary comes back with a cause
// of its own, and the other 599 stay. The results of the second one all arrive, and its undo brings back the originals,
// byte for byte.
func TestStoryOfMending(t *testing.T) {
	const n = 600
	storySizes(t, func(t *testing.T, width, height int) {
		o, channel := storyVHost(t, "orders.failed")
		dial.Queue(t, channel, "orders", deadTo("orders.failed"))
		body := func(i int) string { return fmt.Sprintf(`{"order": %d,  "amount": "%d,50"}`, i, i) }
		dial.Publish(t, channel, "orders.failed", many(n, func(i int) amqp.Publishing {
			return amqp.Publishing{
				MessageId: fmt.Sprint(i), ContentType: "application/json", Body: []byte(body(i)),
				Headers: amqp.Table{"x-exception-message": fmt.Sprintf("ValueError: no amount: '%d,50'", i)},
			}
		})...)

		end := works(t, o, "orders", reject)
		screen := o.open(t, width, height).await("orders ").press("3").await("   600 read", "all 1")
		mendAll(screen, n, `.body.amount = 0`)
		screen.await("c canary").press("c").await("c no canary").agree("replay", "1 of 600 messages moved")
		screen.await("What happened", "1 of 1 came back", "untouched 599")
		end()
		screen.press(keyEsc).awaitGone("enter close").press("q").await("CAUSE").press(keyCtrlR).await("   600 read", "all 2")
		mendAll(screen, n-1, `.body.amount |= (tostring | sub(","; ".") | tonumber)`)
		screen.agree("replay", "599 messages moved").await("What happened")
		holds(t, channel, "orders.failed", 1)
		holds(t, channel, "orders", n-1)
		screen.press("u").await("bring back 599 messages", "type 599:").press("599")
		screen.agree("bring back", "599 of 599 messages brought back")
		changed, back := 0, 0

		screen.awaitThat("all are back", func(string) bool { // a look may hold some of them
			for d, ok, err := channel.Get("orders.failed", true); ok; d, ok, err = channel.Get("orders.failed", true) {
				must.Do(t, err)
				var i int
				if _, err := fmt.Sscan(d.MessageId, &i); err != nil || string(d.Body) != body(i) {
					changed++ // the canary's: it was a different one when it came back
				}
				back++
			}

			return back == n
		})

		assert.Equal(t, changed, 1, "messages that are not what they were")
		holds(t, channel, "orders", 0)
	})
}

// mendAll opens the replay of all messages of the only cause, changed by a program.
func mendAll(screen *terminal, n int, program string) {
	screen.t.Helper()
	screen.awaitRow("ValueError: no amount")
	screen.press("E").await(fmt.Sprintf("Edit %d messages with jq", n), "all of the cause")
	screen.press(program, keyEnter).await(fmt.Sprintf("%d of %[1]d messages are changed", n), "to the replay")
	screen.press(keyEnter).await(fmt.Sprintf("Replay %d messages", n), fmt.Sprintf("type %d:", n))
	screen.press(fmt.Sprint(n)).await("enter replay")
}

// TestStoryOfOneOrder: one order's id in 200 queues of 500 messages is found by its text, while the search continues,
// and enter goes to the message in its queue.
func TestStoryOfOneOrder(t *testing.T) {
	storySizes(t, func(t *testing.T, width, height int) {
		o, channel := storyVHost(t)
		queues := size.Of(20, 200)
		each := size.Of(50, 500)
		wanted := queues * 2 / 3
		for q := range queues {
			name := fmt.Sprintf("orders-%03d.failed", q)
			dial.Queue(t, channel, name, nil)
			dial.Publish(t, channel, name, many(each, func(i int) amqp.Publishing {
				id := fmt.Sprintf("A-%06d", q*each+i)
				if q == wanted && i == each/2 {
					id = "B-4711"
				}
				return amqp.Publishing{MessageId: fmt.Sprint(q*each + i), Body: fmt.Appendf(nil, `{"order":%q}`, id)}
			})...)
		}

		screen := o.open(t, width, height).await("No flows here").command("find b-4711", "▸ find b-4711")
		screen.press(keyEnter)
		queue := fmt.Sprintf("orders-%03d.failed", wanted)
		screen.await("1 found", queue).await(fmt.Sprintf("%d queues", queues))
		screen.press(keyEnter).await(queue+"   ", fmt.Sprintf("▸ %6d ", each/2+1))
	})
}
