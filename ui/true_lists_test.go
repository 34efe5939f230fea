package ui

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/body"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/ui/act"
)

// failInto publishes messages that failed with an error, and declares their queue.
func failInto(t *testing.T, channel *amqp.Channel, queue, kind, text string, n int) {
	t.Helper()
	arguments := amqp.Table{"x-queue-type": kind}
	if kind == "quorum" && !model.ParseVersion(testNode.Get(t).Version()).AtLeast(4, 0) {
		arguments["x-delivery-limit"] = 20 // from 4.0 it is the default
	}
	dial.Queue(t, channel, queue, arguments)
	dial.Publish(t, channel, queue, failures(queue, text, n)...)
}

func failures(id, text string, n int) []amqp.Publishing {
	return many(n, func(i int) amqp.Publishing {
		return amqp.Publishing{MessageId: fmt.Sprint(id, text, i), Headers: amqp.Table{"x-error": text}, Body: []byte("{}")}
	})
}

// After each action the lists say what is there, and a row has the cursor.
func TestListsStayTrue(t *testing.T) {
	storySizes(t, func(t *testing.T, width, height int) {
		o, channel := storyVHost(t, "mail", "sms")
		failInto(t, channel, "mail.failed", "classic", "ValueError: no address", 9)
		failInto(t, channel, "sms.failed", "classic", "ValueError: no address", 8)
		failInto(t, channel, "sms.failed", "classic", "TimeoutError: too late", 7)
		screen := o.open(t, width, height).await("mail ")
		screen.press("3").await("   24 read", "ValueError", "TimeoutError").press(keyEnter).await("17 found", "complete")
		replayAll := func() {
			screen.press("R").await("replay 17 messages of 2 queues").agree("replay 17 messages", "17 messages moved")
			screen.await("u undo all 2", "esc close")
		}

		replayAll()
		screen.press("u") // one action, of two records
		screen.await("Undo all 2: bring back 17 messages", "back to   "+o.VHost+"/mail.failed: 9 messages")
		screen.agree("bring back", "17 of 17 messages brought back to 2 queues").press(keyEnter).await("u undo all 2")
		screen.press(keyEsc).await("17 found", "complete")
		replayAll()
		screen.press(keyEsc).await("0 found", "none of this cause is left")
		screen.press("R").await("no message of this cause is in its queues any more").press("q").await("   7 read")
		screen.awaitRow("TimeoutError")

		screen.press(keyEnter).await("cause: TimeoutError", "7 messages", "(basic.consume)")
		screen.press("D").await("Drop 7 messages").agree("drop", "7 messages dropped").await("What happened")
		screen.press(keyEnter).await("the queue is empty").press("u").await("bring back 7 messages")
		screen.agree("bring back", "7 of 7 messages brought back").press(keyEnter)

		screen.awaitThat("what came back is listed", func(s string) bool {
			return strings.Contains(s, "7 messages ") && !strings.Contains(s, "the queue is empty") &&
				screen.cursorRow() != ""
		})

		s := screen.screen()
		assert.That(t, !strings.Contains(s, "now 0"), "a count from before the undo counts\n%s", s)
		screen.press("q").await("   7 read")
		assert.Contains(t, screen.screen(), "7 messages   7 read", "a count from before the undo counts")
		screen.awaitRow("TimeoutError")
	})
}

// Where a look has a cost, earlier readings stay when an action took messages, and no look is spent.
func TestCostlyListStaysTrue(t *testing.T) {
	storySizes(t, func(t *testing.T, width, height int) {
		o, channel := storyVHost(t, "mail")
		failInto(t, channel, "mail.failed", "quorum", "TimeoutError: too late", 3)
		failInto(t, channel, "mail.failed", "quorum", "ValueError: no address", 9)
		screen := o.open(t, width, height).await("mail ").press("3")
		screen.awaitThat("it is read, or has a cost", func(s string) bool {
			return strings.Contains(s, "   12 read") || strings.Contains(s, "i reads ")
		})
		free := strings.Contains(screen.screen(), "   12 read")
		screen.readFailed(12)

		if free { // from 4.3 on: it is read automatically, and only a key sorts
			screen.press(keyCtrlR)
		}

		screen.awaitThat("the most frequent is first", func(s string) bool {
			return strings.Index(s, "ValueError") < strings.Index(s, "TimeoutError")
		})
		screen.press("g", "r").await("Replay 9 messages").agree("replay", "9 messages moved").await("What happened")
		screen.press(keyEnter).await("none of this cause is left here")
		screen.press("q").await("   "+model.Count(3)+" read", "TimeoutError").awaitRow("TimeoutError")
		polls := screen.screen()
		assert.That(t, !strings.Contains(polls, "≥ "), "what was read is forgotten\n%s", polls)
	})
}

// A copy of what was replayed from another failed queue stays, until `b` says otherwise.
func TestCopiesAreReplayedWhenAsked(t *testing.T) {
	o, channel := storyVHost(t, "mail", "mail.failed", "mail.failed.copy")
	for _, failed := range []string{"mail.failed", "mail.failed.copy"} {
		dial.Publish(t, channel, failed, amqp.Publishing{MessageId: "one", Body: []byte("{}"), Headers: amqp.Table{
			"x-death": []any{amqp.Table{
				"queue": "mail", "reason": "rejected", "count": int64(1), "exchange": "", "routing-keys": []any{"mail"},
			}},
		}})
	}

	screen := o.open(t, 80, 24).await("mail ").press(":queue mail.failed", keyEnter).await("1 message ")
	screen.press("r").await("Replay 1 message").agree("replay", "1 message moved")
	screen.press(keyEsc, ":queue mail.failed.copy", keyEnter).await("1 message ", "mail.failed.copy")
	screen.press("r").await("b copies, too", "a copy from").press("b").await("b leave copies")
	screen.agree("replay", "1 message moved")
	holds(t, channel, "mail", 2)
}

// orders returns options of a broker with an order in three queues, and one costly queue.
func orders() Options {
	const n = 3
	o, b, _ := failedOptions(n)
	limited := func(q *model.Queue) {
		q.Type = model.Quorum
		q.Arguments["x-delivery-limit"] = int64(20)
	}

	s := later(busyBroker(), 0, map[string]int64{failedQueue: int64(n)})
	queue("lots", limited, ready(5))(s)
	o.Source = &recorded{snapshot: s}

	order := func(id, body string) message.Message {
		return message.Message{
			RoutingKey: "order.created", Properties: message.Properties{MessageID: id}, Body: []byte(body),
			Headers: model.Table{"x-tenant": "acme"},
		}
	}

	b.put("RetryQueue", order("r-1", `{"order":"A-4710"}`), order("r-2", `{"lines":[1,2,3],"order":"A-4711","user":"Zoë"}`))
	b.put("test-delay", order("t-1", "order a-4711 again, \x1b[31mred\u202e"))
	b.put("lots", order("l-1", `{"order":"A-4711"}`))
	b.put("worker-queue", order("A-4711", "{}"))

	return o
}

// Enter goes to the message in its queue, and costly queues are searched on request.
func TestFindOpens(t *testing.T) {
	term := orders().open(t).await("ucenter@user")
	term.command("find =json.order == 'A-4711'", "▸ find =json.order")
	term.press(keyEnter).await("1 found", "not all was read", "expression").press("i").await("2 found", "lots  ")
	term.press(keyEnter).await("RetryQueue   2 messages", "▸      2  ?").press(keyEsc).await("2 found")
	term.broker.leave("RetryQueue", 0, 1)
	term.press(keyEnter).await("the message that was found is not in the queue any more")
}

// An invalid filter is reported while it is typed, and does nothing.
func TestFindSaysWhatIsWrong(t *testing.T) {
	term := orders().open(t, 80, 24).await("ucenter@user").command("find", "▸ find TEXT")
	term.press(keyEnter).await(" : find ", "▸ find TEXT")
	term.press("=nam").await("✗ the filter cannot be read at character 1").press(keyEnter).settle()
	term.await("✗ the filter cannot be read at character 1").press(keyEsc).awaitGone("cannot be read")
}

// pausing is a broker that waits before the second message of a queue.
type pausing struct {
	*recordedBroker
	queue model.QueueRef
}

func (b *pausing) Read(ctx context.Context, p peek.Plan, each message.Visit) (peek.Read, error) {
	n := 0
	return b.recordedBroker.Read(ctx, p, func(m *message.Message) error {
		if n++; n == 2 && p.Queue == b.queue {
			<-ctx.Done()
			return fmt.Errorf("read: %w", ctx.Err())
		}
		return each(m)
	})
}

// Hits are shown while a queue is read, and esc stops the search: what was not read is reported.
func TestFindStops(t *testing.T) {
	o := orders()
	o.Broker = &pausing{o.Broker.(*recordedBroker), ref("RetryQueue")}
	term := o.open(t).await("ucenter@user").command("find a-471", "▸ find a-471")
	term.press(keyEnter).await("A-4710", "2 found", "esc stop", "not read: 5 messages of lots")
	term.press(keyEsc).await("stopped", "2 found", "the search was ended")
	term.press(keyEsc).awaitGone("the search was ended")
}

func TestCommonEnds(t *testing.T) {
	for _, c := range []struct {
		a, b          string
		before, after int
	}{
		{"", "", 0, 0},
		{"abc", "abc", 3, 0},
		{"abc", "axc", 1, 1},
		{"aa", "aaa", 2, 0},
		{"é1", "è1", 0, 1},
		{"世界", "世", 3, 0},
	} {
		before, after := act.CommonEnds(c.a, c.b)
		assert.Equal(t, before, c.before, "%q, %q: %d and %d", c.a, c.b, before, after)
		assert.Equal(t, after, c.after, "%v", c.a)
	}

	rows := body.Compare(nil, nil)
	assert.That(t, rows == nil, "%v", rows)
}

// Keys of CC bring messages into a buffer and out of it, which no binding shows. After a look at messages that the
// worker sent there, the picture has the way from the worker through the buffer back to it.
func TestTheWorkerFillsItsBuffer(t *testing.T) {
	snapshot := func(parts ...build.Part) *model.Snapshot {
		return recording(append([]build.Part{
			exchange("topic", "service"), exchange("topic", "delay"), exchange("topic", "retry"),
			queue("user:save", consumers(1)), bind("service", "created.#", "user:save"),
			queue("delay:5s", ttl(5000), dlx("retry"), ready(2)), bind("delay", "delay.5s", "delay:5s"),
			bind("retry", "user:save.#", "user:save"),
		}, parts...)...)
	}

	looked := snapshot(func(s *model.Snapshot) {
		s.Seen = model.Seen{
			To:      map[model.QueueRef][]model.QueueRef{ref("delay:5s"): {ref("user:save")}},
			From:    map[model.QueueRef][]model.QueueRef{ref("delay:5s"): {ref("user:save")}},
			Counted: model.QueueSet{ref("delay:5s"): true},
		}
	})

	options := func(s *model.Snapshot) Options {
		o, _, _ := showing(s)
		o.Interval, o.Title = time.Hour, ""
		return o
	}

	before := options(snapshot()).onFlow(t, "user:save").await("delayed 5s", "╭ delay ╮", "╭ retry ")
	text := before.screen()
	assert.That(t, !strings.Contains(text, "via delay"), "by the bindings, publishers fill it:\n%s", text)
	atSizes(t, func(t *testing.T, width, height int) {
		options(looked).onFlow(t, "user:save", width, height).await("via delay", "retry 5s", "service").golden()
	})
}

// The keys that people try first work as elsewhere: tab goes through the screens, n and N through matches, and ":q"
// quits.
func TestKeysAreThoseOfOtherPrograms(t *testing.T) {
	storySizes(t, func(t *testing.T, width, height int) {
		o, channel := storyVHost(t, "mail", "sms")
		failInto(t, channel, "mail.failed", "classic", "ValueError: no address", 9)
		failInto(t, channel, "sms.failed", "classic", "TimeoutError: too late", 8)
		failInto(t, channel, "sms.failed", "classic", "TimeoutError: much too late", 7)

		body := strings.Repeat("line\n", 60) + "a needle\n" + strings.Repeat("line\n", 60) + "another needle\n"
		for i := range 2 {
			dial.Publish(t, channel, "mail.failed", amqp.Publishing{
				MessageId: fmt.Sprint("long ", i), ContentType: "text/plain",
				Headers: amqp.Table{"x-error": "KeyError: 'needle'"}, Body: []byte(body),
			})
		}

		screen := o.open(t, width, height).await("mail ")
		screen.press("3").await("   26 read", "ValueError", "TimeoutError", "KeyError", "f queues")
		screen.press("n", "N", "/", "Timeout", keyEnter).await("2 of 4", "n next  N previous")
		screen.awaitRow("too late")
		screen.press("n").awaitRow("much too late")
		screen.press("n").awaitRow("TimeoutError: too late")
		screen.press("N").awaitRow("much too late")
		screen.press(keyEsc).awaitGone("esc clears").press(keyTab).await("No findings").press(keyTab)
		screen.await("Nothing was done yet").press(keyBackTab, keyBackTab, "f").await("FAILED QUEUE").press(keyTab)
		screen.await("No findings")

		screen.press(":queue mail.failed", keyEnter).await("11 messages").press("/", "needle", keyEnter)
		screen.await("match 1 of 2 in 11").press(keyEnter).await("message 1 of 2")

		if !strings.Contains(screen.screen(), "▸ Story") {
			screen.press(keyTab) // with a list above, it begins with the body
		}

		screen.await("▸ Story")
		for _, step := range []struct{ key, message, pane string }{
			{"n", "1", "Headers"}, {"n", "1", "Body"}, {"n", "1", "Body"}, {"n", "2", "Story"}, {"N", "1", "Body"},
		} {
			screen.press(step.key).await("message "+step.message+" of 2", "▸ "+step.pane)
		}

		screen.await("another needle").press("/", "a needle", keyEnter).await("line 1 of 1", "a needle")
		screen.press("n", "N", "n").await("message 1 of 2", "line 1 of 1").press(":q", keyEnter)
		screen.awaitEnd()
	})
}

// The tabs and the header show how much is there, and the lists do not confuse that with how much was read: 1,939
// messages of a cause of which 1,000 were read are at least 1,000.
func TestWhatIsThereAndWhatWasRead(t *testing.T) {
	storySizes(t, func(t *testing.T, width, height int) {
		o, channel := storyVHost(t)
		for worker, n := range map[string]int{"alpha": 3, "mail": 1939, "zulu": 5} {
			dial.Queue(t, channel, worker, nil)
			dial.Queue(t, channel, worker+".failed", nil)
			dial.Publish(t, channel, worker+".failed", failures(worker, worker+"Error: no address", n)...)
		}

		dial.Queue(t, channel, "pool", amqp.Table{"x-message-ttl": int32(600_000)})
		dial.Queue(t, channel, "ring", amqp.Table{"x-message-ttl": int32(600_000), "x-dead-letter-exchange": "none"})
		screen := o.open(t, width, height).await("3 Failed 1,947", "4 Findings 2")
		screen.awaitThat("the flow with the most failed messages is the first of its kind", func(s string) bool {
			at := func(worker string) int { return strings.Index(s, o.VHost+"/"+worker+" ") }
			return 0 < at("mail") && at("mail") < at("zulu") && at("zulu") < at("alpha")
		})

		grouped := func() {
			t.Helper()
			s := screen.screen()
			assert.Lacks(t, s, "1939")
			assert.Lacks(t, s, "1947")
		}

		screen.press("4")
		screen.await("messages are lost when they expire", "the dead-letter exchange does not", "enter what it means")
		screen.press(keyEnter)
		screen.await("enter messages") // below the page
		screen.press(keyEnter).await("the queue is empty", o.VHost+"/ring").press("q", "q", "3")
		screen.await("1,008 of 1,947 read; M reads the rest", "≥ 1,000", o.VHost+"/mail.failed ≥ 1,000").press(keyEnter)
		screen.await("1,000 of 1,939 read; M reads the rest").press("/", "error", keyEnter).await("in 1,000 read")
		screen.press("M").await("1,939 messages", "in 1,939").press("G").awaitRow("1,939")
		grouped()
		screen.press(keyEsc).awaitGone("esc clears").press("q").await("≥ 1,000").press("M")
		screen.await("1,947 messages   1,947 read").awaitGone("≥")
		grouped()

		// The first counts may be late, so that it rang: here its line has been seen.
		header, _, _ := strings.Cut(screen.screen(), "\n")
		assert.That(t, width <= 80 || strings.Contains(header, "1,947 failed"), "the header says %q", header)
	})
}
