package ui

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/built"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/trouble"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// withQueue opens a queue's messages.
func withQueue(name string) func(*app) {
	return with(func(a *app) shell.Screen { return messages.NewScreen(a.Env, ref(name)) })
}

func (o Options) onQueue(t *testing.T, name string, size ...int) *terminal {
	t.Helper()
	return o.openWith(t, size, withQueue(name))
}

// onFailed waits until all messages of the failed queue are there.
func (o Options) onFailed(t *testing.T, size ...int) *terminal {
	t.Helper()
	n := len(o.Broker.(*recordedBroker).messages[ref(failedQueue)])
	return o.onQueue(t, failedQueue, size...).await(model.Plural(n, "message"))
}

const failedQueue = "ucenter@user@failed"

func failedOptions(n int) (Options, *recordedBroker, *clock) {
	c := newClock()
	b := failing(c, n)
	s := later(busyBroker(), 0, map[string]int64{failedQueue: int64(n)})
	return Options{Source: &recorded{snapshot: s}, Broker: b, Title: "prod", Now: c.now}, b, c
}

func failed(n int) Options {
	o, _, _ := failedOptions(n)
	return o
}

// showing returns options of a broker with a snapshot.
func showing(s *model.Snapshot) (Options, *recordedBroker, *clock) {
	c := newClock()
	b := newRecordedBroker(c)
	return Options{Source: &recorded{snapshot: s}, Broker: b, Title: "prod", Now: c.now}, b, c
}

// at runs a test at sizes like 120x36.
func at(t *testing.T, sizes []string, test func(t *testing.T, width, height int)) {
	for _, size := range sizes {
		t.Run(size, func(t *testing.T) {
			var width, height int
			must.Get(fmt.Sscanf(size, "%dx%d", &width, &height))(t)
			test(t, width, height)
		})
	}
}

// holding returns options of the busy broker, with messages in the failed queue.
func holding(messages ...message.Message) Options {
	o, b, _ := showing(busyBroker())
	b.put(failedQueue, messages...)
	return o
}

// atSizes runs a test at the sizes that everything must fit.
func atSizes(t *testing.T, test func(t *testing.T, width, height int)) { at(t, allSizes[:2], test) }

// allSizes begin with the usual ones, and end with a wide one.
var allSizes = []string{"120x36", "80x24", "200x50"}

func TestMessageDetailPanes(t *testing.T) {
	term := failed(3).onFailed(t, 80, 24).press(keyEnter).await("▸ Story", "published  user.created")
	term.press(keyTab).await("▸ Headers", "x-orig-routing-key", "message_id")
	term.press(keyTab).await("▸ Body", `"email": "user0@example.com"`)
	term.press("l").await("message 2 of 3", `"email": "user1@example.com"`).press(keyTab, "q").await("FAILURE")
	term.awaitRow(" 2 ")
}

// longMessage has 200 lines, and a needle after two of them if it has a mark.
func longMessage(mark string) message.Message {
	var body strings.Builder
	for i := range 200 {
		fmt.Fprintf(&body, "line %d\n", i)
		if mark != "" && (i == 100 || i == 150) {
			fmt.Fprintf(&body, "the %s Needle %d\n", mark, i)
		}
	}

	return message.Message{
		RoutingKey: "k", Body: []byte(body.String()), Properties: message.Properties{ContentType: "text/plain"},
	}
}

func TestLongBodyScrolls(t *testing.T) {
	term := holding(longMessage("")).onFailed(t, 80, 24)
	term.press(keyEnter, keyTab, keyTab).await("▸ Body", "line 0").press("G").await("line 199")
	term.press("g").await("line 0")
}

// The column with the name of a message is there for those whose routing key does not say it.
func TestNamesOfMessages(t *testing.T) {
	named := func(name string) message.Message {
		return message.Message{RoutingKey: "order.placed", Properties: message.Properties{Type: name}}
	}

	holding(named("order.placed"), named("App.OrderPlaced")).onFailed(t, 120, 24).await(" NAME ", " App.OrderPlaced ")
	holding(named("order.placed")).onFailed(t, 120, 24).await("ROUTING KEY").lacks(" NAME ", "the key says the same")
}

func TestRereadKeepsCursorAndSelection(t *testing.T) {
	term := failed(30).onFailed(t)
	term.press(keyDown, keyDown, " ", keyDown) // selects #3, and goes on to #5
	term.awaitRow(" 5  4m 56s")
	term.await("1 selected")
	aimed := term.cursorRow()

	// Two messages leave the head, one arrives at the end.
	kept := slices.Clone(term.broker.messages[ref(failedQueue)][2:])
	term.broker.leave(failedQueue, 0, 0)
	term.broker.put(failedQueue, append(kept, failedMessage(99))...)
	term.clock.advance(12 * time.Second)
	term.press(keyCtrlR).await("29 messages", "1 selected")
	now := term.cursorRow()
	body := func(row string) string { return row[strings.Index(row, `{"id"`):] }
	assert.Contains(t, now, " 3 ")
	assert.Equal(t, body(now), body(aimed), "the cursor is on another message:\nbefore %q\nafter  %q", aimed, now)
	term.press("r").await("Replay 1 message", "the selection: #1, id 0f3c9a02-user")
}

func TestNoReadWithoutAsking(t *testing.T) {
	o, b, c := failedOptions(47)
	source := o.Source.(*recorded)
	o.Interval = 10 * time.Millisecond
	term := o.onQueue(t, failedQueue).await("47 messages", "read 0s ago")
	c.advance(12 * time.Second)
	source.tell(countedAt(c, later(busyBroker(), 12*time.Second, map[string]int64{failedQueue: 49})))
	term.await("47 messages", "read 12s ago, now 49")
	assert.Equal(t, b.peeked(), 1, "the queue was read")
}

func TestMoreMessages(t *testing.T) {
	term := failed(700).onQueue(t, failedQueue).await("500 of 700 read")
	term.press("R").await("Replay 500 messages", "the other 200 in the queue").press(keyEsc).awaitGone("Replay 500")
	term.press("M").awaitGone("read of").await("700 messages")
	assert.Equal(t, term.broker.peeks[1].Limit, 5000, "more asked for")
}

func TestFilter(t *testing.T) {
	terms := failed(40).onFailed(t).press("/", "valueerror").await("match 1 of 20 in 40", "showing 20")
	terms.press(keyEnter, "R").await("Replay 20 messages", "all that the filter shows", "enter replay")
	terms.press(keyEnter).await("20 messages moved to ucenter@user")
	terms.press(keyEnter, keyEsc).await("20 messages", "20 taken out")
	terms.ran(func(p plan.Run) bool { return p.Planned == 20 && len(p.Selection.Fingerprints) == 20 })
	terms.press("/", "= body_bytes +")
	terms.awaitThat("the expression is complained about", func(screen string) bool {
		return strings.Contains(screen, term.MarkWarning+" ") && strings.Contains(screen, "cannot be read")
	})
	terms.press(keyEnter, "D").await("the filter is not complete")
}

func TestSort(t *testing.T) {
	term := failed(5).onFailed(t).press("S")
	term.awaitThat("the last message stands first", func(screen string) bool {
		return strings.Index(screen, `{"id":124`) < strings.Index(screen, `{"id":120`)
	})
}

func TestEmptyQueue(t *testing.T) {
	term := holding().onQueue(t, "ucenter@enterprise@failed", 80, 24).await("the queue is empty", "0 messages")
	term.press("r", "d", "R", "D", keyEnter, "y", "*", " ", "v", "s").await("the queue is empty")
}

// A queue is called empty only while nothing newer says otherwise.
func TestNoLongerEmpty(t *testing.T) {
	o, _, c := showing(busyBroker())
	o.Interval = 10 * time.Millisecond
	term := o.onQueue(t, "ucenter@enterprise@failed", 80, 24).await("the queue is empty", "0 messages")
	c.advance(12 * time.Second)
	next := later(busyBroker(), 12*time.Second, map[string]int64{"ucenter@enterprise@failed": 3})
	o.Source.(*recorded).tell(countedAt(c, next))
	term.await("now 3", "3 messages in the queue now: ctrl-r reads it again").awaitGone("the queue is empty")
}

// hostile has everything that could move a cursor or change a terminal.
const hostile = "\x1b[2J\x1b]0;owned\x07\u202eevil\r\n\x00\u200b\x9b31m"

func TestHostileMessage(t *testing.T) {
	atSizes(t, func(t *testing.T, width, height int) {
		term := holding(
			message.Message{
				Exchange: hostile, RoutingKey: hostile, Body: []byte(hostile + strings.Repeat("\xff\xfe", 50)),
				Properties: message.Properties{MessageID: hostile, ContentType: hostile, Type: hostile},
				Headers: model.Table{
					hostile: hostile, "nested": model.Table{hostile: []any{model.Table{"a": []byte(hostile)}, hostile}},
					"x-error": hostile, "x-death": "not a list",
				},
			},
			message.Message{RoutingKey: "plain", Body: []byte("after it")},
		).onFailed(t, width, height).await("malformed")

		term.press(keyEnter).await("message 1 of 2")

		if width < 100 {
			term.await("x-death:").press(keyTab, keyTab)
		}

		term.await("▸ Body").press(keyEsc).await("malformed").press("r").await("Replay 1 message")
		lines := strings.Split(term.screen(), "\n")
		assert.That(t, strings.HasPrefix(lines[0], " dlxtop"), "the message moved the screen:\n%s", term.screen())
		assert.That(t, !strings.ContainsAny(term.screen(), "\u202e\u200b\x00"), "hidden characters reached the screen")
	})
}

func TestCopy(t *testing.T) {
	var copied built.Buffer
	term := newTerminal(t, failed(3), 120, 36, withQueue(failedQueue), func(a *app) { a.Clipboard = &copied })
	term.await("3 messages")
	for _, test := range []struct{ key, want string }{
		{"b", `{"id":120,"name":"guan yu","email":"user0@example.com","roles":["admin","mail"],"active":true}`},
		{"i", "0f3c9a00-user"},
		{"h", "x-orig-routing-key: user.created"},
		{"j", `"routing_key": "ucenter@user@failed"`},
	} {
		before := len(copied.String())
		term.press("y").await("b body  h headers  i message id  j JSON").press(test.key).await("copied")
		sequence := copied.String()[before:]
		payload := strings.TrimSuffix(strings.TrimPrefix(sequence, "\x1b]52;c;"), "\x07")
		text, err := base64.StdEncoding.DecodeString(payload)
		must.That(t, err == nil, "y %s copied %q (%v), want %q", test.key, text, err, test.want)
		assert.Contains(t, string(text), test.want, "%v", test.key)
	}

	term.press("y", keyEsc, "j").awaitRow(" 2 ")
}

func TestManyMessagesScrollQuickly(t *testing.T) {
	many := make([]message.Message, size.Of(5000, 20_000))
	for i := range many {
		m := failedMessage(i % 100)
		m.Properties.MessageID = fmt.Sprint(i)
		many[i] = m
	}

	term := newTerminal(t, holding(many...), 120, 36, withQueue(failedQueue), func(a *app) {
		a.tabs[0].stack[1].Screen.(*messages.Screen).Limit = len(many)
	})

	term.await(model.Count(int64(len(many))) + " messages")
	for range 100 {
		term.press(keyDown)
	}

	term.awaitRow(" 101 ")
	term.press("/", "valueerror").await(
		fmt.Sprintf("of %s in %s", model.Count(int64(len(many)/2)), model.Count(int64(len(many)))))
}

func TestResizeWithDialog(t *testing.T) {
	term := failed(47).onFailed(t).press("r").await("Replay 1 message")
	for _, size := range [][2]int{{80, 24}, {200, 60}, {40, 10}, {1, 1}, {120, 36}} {
		term.resize(size[0], size[1])
	}
	term.await("Replay 1 message", "ucenter@user, 3 consumers")
}

// runs returns an executor controlled by a test: it waits for a signal after each message.
func runs(step chan struct{}) func(context.Context, plan.Run, plan.Progress) (plan.Account, error) {
	return func(ctx context.Context, p plan.Run, progress plan.Progress) (plan.Account, error) {
		a := plan.Account{Operation: p.Operation, From: p.From, Planned: p.Planned}
		for a.Done() < a.Planned {
			select {
			case <-ctx.Done():
				a.Stopped = "you stopped it"
				progress(a)
				return a, ctx.Err()
			case <-step:
				a.Moved++
				progress(a)
			}
		}

		return a, nil
	}
}

// After a look the screen shows what is left of a quorum queue's delivery limit, and a look that would use up the rest
// is refused.
func TestDeliveryBudget(t *testing.T) {
	s := recording(queue("orders.failed"))
	o, b, _ := showing(s)
	s.Queues[0].Type, s.Queues[0].Consumers = model.Quorum, build.Some(0)
	put := func(count int64) {
		b.leave("orders.failed", 0, 0)
		b.put("orders.failed", message.Message{RoutingKey: "k", Headers: model.Table{"x-delivery-count": count}},
			message.Message{RoutingKey: "k"})
	}

	put(3)
	term := o.onQueue(t, "orders.failed").await("i reads it, at a cost").press("i")
	term.await("2 messages", "16 looks left of 20")
	put(17)
	term.press(keyCtrlR).await("2 looks left of 20")
	term.press(keyCtrlR).await("not read: 2 looks left of 20 (default)", "i looks anyway")
	assert.Equal(t, b.peeked(), 2, "the queue was read")
	term.press("i").awaitThat("insisting reads it", func(string) bool { return b.peeked() == 3 })
}

// A look reads a limited number of messages: that the queue holds more than that is not a change of the queue.
func TestTheLimitOfALookIsNoGrowth(t *testing.T) {
	c := newClock()
	a := newApp(t.Context(), frozen(&recorded{snapshot: recording()}))
	s := messages.NewScreen(a.Env, ref("failed")).(*messages.Screen)
	list := message.MessageList{{Position: 1}, {Position: 2}, {Position: 3}}
	rows := must.Get(shell.MessageRows(list, ref("failed"), false, func(int, *message.Message) {}))(t)
	s.Rows, s.Limit = rows, messages.PeekMost
	s.Peeked = peek.Peeked{Messages: list, Depth: build.Some(300_000), TakenAt: c.now()}
	for _, step := range []struct {
		now     int64
		taken   int
		changed bool
	}{{300_000, 0, false}, {300_001, 0, true}, {299_999, 1, false}} {
		counted := recording(queue("failed", ready(step.now),
			func(q *model.Queue) { q.CountedAt = c.now().Add(time.Minute) }))
		s.Topology = model.NewTopology(counted)
		s.Taken = step.taken
		now, changed := s.ReadyNow()
		assert.Equal(t, now, step.now, "%+v: now %d, changed %t", step, now, changed)
		assert.Equal(t, changed, step.changed, "%v", step)
	}
}

func TestReadTroubles(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"gone":      {fmt.Errorf("peek: %w", model.ErrQueueGone), "the queue does not exist any more"},
		"exclusive": {fmt.Errorf("peek: %w", model.ErrQueueExclusive), "only that connection can read it"},
		"not allowed": {
			&trouble.Error{Kind: trouble.NotAllowed, Cause: "guest may not read this queue", Next: "ask for read permission"},
			"guest may not read this queue: ask for read permission",
		},
		"other": {errors.New("channel closed \x1b[2J"), `channel closed \x1b[2J`},
	} {
		t.Run(name, func(t *testing.T) {
			term := failed(4).onFailed(t)
			term.broker.fail(test.err)
			term.press(keyCtrlR).await(test.want, "below is what was read at", `{"id":120`)
		})
	}
}

func TestQueueVanishes(t *testing.T) {
	o := failed(4)
	o.Interval = 10 * time.Millisecond
	source := o.Source.(*recorded)
	term := o.onFailed(t, 80, 24)
	source.tell(recording(queue("another")))
	term.await("the queue does not exist any more", "5m 00s")
	term.press("r").await("not possible: there is no queue ucenter@user@failed")
}

func TestExclusiveQueueIsRefused(t *testing.T) {
	term := holding().onQueue(t, "example.delay.life", 80, 24).await("not read", "exclusive")
	assert.Equal(t, term.broker.peeked(), 0, "refused plans were run")
}

// Messages on disk are read by commands, without flicker: a line stays empty, and the detail stays as it was, until the
// answer comes.
func TestDetailStaysUntilTheNextMessageWasRead(t *testing.T) {
	o := failed(5)
	o.Broker = askedBroker{o.Broker}
	d := drive(t, o)
	d.await("ucenter@user")
	d.press("3")
	d.press("f")
	d.await("FAILED QUEUE")
	d.press(keyEnter)
	const first, second = "user0@example.com", "user1@example.com"
	d.await(`"email": "` + first)
	d.press(keyDown)
	assert.Contains(t, ansi.Strip(d.app.View()), `"email": "`+first, "the detail is gone before the next one was read")
	d.await(`"email": "` + second)
	view := ansi.Strip(d.app.View())
	assert.That(t, !strings.Contains(view, `"email": "`+first), "the detail is of two messages:\n%s", view)
}
