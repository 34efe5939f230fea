package ui

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/ui/picture"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// countedBroker is a broker that is counted: its queues change while a clock advances with each count.
type countedBroker struct {
	lock
	clock *clock
	ready map[string]int64
	err   error
	asked int
	last  []model.QueueRef
}

func (b *countedBroker) count(refs []model.QueueRef) (model.CountsByQueue, error) {
	b.Lock()
	defer b.Unlock()
	b.asked++
	b.last = refs
	b.clock.advance(250 * time.Millisecond)

	counts := model.CountsByQueue{}
	for _, r := range refs {
		if n, ok := b.ready[r.Name]; ok {
			counts[r] = model.QueueCounts{Ready: model.Some(n), Consumers: build.Some(0)}
		}
	}

	return counts, b.err
}

func (b *countedBroker) set(err error, ready map[string]int64) {
	b.change(func() { b.err, b.ready = err, ready })
}

func (b *countedBroker) times() int { return under(b, func() int { return b.asked }) }

// countedOptions returns those for movedBroker, whose queues are counted.
func countedOptions() (Options, *countedBroker) {
	before, _ := movedBroker()
	for i := range before.Queues { // a TTL that the test need not respect
		delete(before.Queues[i].Arguments, "x-message-ttl")
	}
	return countedOn(before, map[string]int64{"buffer-queue": 25, "worker-queue": 0})
}

func countedOn(s *model.Snapshot, ready map[string]int64) (Options, *countedBroker) {
	o, broker, c := showing(s)
	b := &countedBroker{clock: c, ready: ready}
	o.Interval, broker.count = time.Hour, b.count
	return o, b
}

// counting opens the flow of movedBroker, whose queues are counted.
func counting(t *testing.T, size ...int) (*terminal, *countedBroker) {
	t.Helper()
	o, b := countedOptions()
	return o.onFlow(t, "worker-queue", size...).await("live, 4 counts a second"), b
}

func TestAFlowIsCounted(t *testing.T) {
	term, b := counting(t)
	term.await("25 ready")
	b.set(nil, map[string]int64{"buffer-queue": 30, "worker-queue": 0})
	term.await("5 arrived in buffer-queue", "30 ready")
	b.set(nil, map[string]int64{"buffer-queue": 22, "worker-queue": 8})
	term.await("8 left buffer-queue, 8 arrived in worker-queue", "22 ready", "8 ready", picture.MarkDot)
}

func TestCountsStopWhenNoScreenNeedsThem(t *testing.T) {
	term, b := counting(t)
	still := func(why string) {
		t.Helper()
		term.settle()
		term.awaitInside("neither a count nor the wait for one "+why, func(a app) bool {
			return a.counters[0].inFlight == 0 && a.counters[0].timer == 0
		})
		asked := b.times()
		term.program.Send(tea.WindowSizeMsg{Width: 120, Height: 36}) // each message may begin a count
		term.settle()
		got := b.times()
		assert.That(t, got == asked, "counted %d times %s", got-asked, why)
	}

	term.press("2").await("QUEUE")
	still("while another tab is seen")
	term.press("1").awaitThat("it is counted again", func(string) bool { return b.times() > 6 })
	term.press("p").await("paused")
	still("while paused")
	term.press("p")
	asked := b.times()
	term.awaitThat("it is counted again", func(string) bool { return b.times() > asked+2 })
}

func TestACountThatFailsIsShownAndTriedSlower(t *testing.T) {
	t.Parallel()
	term, b := counting(t)
	b.set(errors.New("the connection \x1b[2Jto the broker was lost"), nil)
	term.await("followed by polls only: the connection", "25 ready")
	began, asked := time.Now(), b.times()
	term.awaitThat("two more counts", func(string) bool { return b.times() >= asked+2 })
	if took := time.Since(began); took < time.Second/2 { // a storm would have asked twice in half a second
		t.Errorf("asked twice in %v after an error", took)
	}

	b.set(nil, map[string]int64{"buffer-queue": 7})
	term.await("live, 4 counts a second", "7 ready")
}

// Queues that a passive declare would affect, or that refuse it, are counted by totals; streams by neither.
func TestHowQueuesAreCounted(t *testing.T) {
	o, b := countedOn(recording(
		queue("work", consumers(1)), queue("own", exclusive(), ttl(1000), dlx(""), deadKey("work"), ready(3)),
		queue("lease", ttl(2000), dlx(""), deadKey("work"),
			func(q *model.Queue) { q.Arguments["x-expires"] = int64(60_000) }),
		queue("plain", ttl(3000), dlx(""), deadKey("work")),
	), map[string]int64{})

	source := o.Source.(*recorded)
	term := o.onFlow(t, "work").await("live, 4 counts a second")
	term.awaitThat("totals were asked for", func(string) bool {
		return under(source, func() bool { return source.counted > 1 })
	})
	b.Lock()
	defer b.Unlock()
	assert.Equal(t, model.Plural(len(b.last), "queue"), "2 queues", "declared passively: %v", b.last)
	assert.Equal(t, b.last[0], ref("plain"))
	assert.Equal(t, b.last[1], ref("work"))
}

func TestChart(t *testing.T) {
	atSizes(t, func(t *testing.T, width, height int) {
		term, b := counting(t, width, height)
		for i := range int64(8) {
			b.set(nil, map[string]int64{"buffer-queue": 25 - 3*i, "worker-queue": 3 * i})
			asked := b.times()
			term.awaitThat("it was counted", func(string) bool { return b.times() > asked+1 })
		}

		term.press("c", "g").await("LAST 5 MINUTES  buffer-queue", "5m ago", "now", "MOVED", "0┤", "out ")
		for _, line := range strings.Split(term.screen(), "\n") {
			assert.That(t, !strings.Contains(line, "in 1") || strings.Contains(line, picture.MarkUnknown),
				"what was not known is drawn: %s", line)
		}

		term.press("c").awaitGone("LAST 5 MINUTES")
	})
}

// A slow broker is not asked all the time.
func TestPace(t *testing.T) {
	poll := shell.Pace{Least: 2 * time.Second, Most: slowestPoll, Share: pollShare - 1}
	for took, want := range map[time.Duration]time.Duration{
		50 * time.Millisecond: 2 * time.Second, 500 * time.Millisecond: 9500 * time.Millisecond,
		2 * time.Second: 15 * time.Second, time.Minute: 15 * time.Second,
	} {
		assert.Equal(t, poll.Every(took), want, "a poll that takes %v is made every", took)
	}

	assert.Equal(t, shell.DeclarePace.Every(time.Millisecond), 250*time.Millisecond, "counted every")
	assert.Equal(t, shell.DeclarePace.Every(200*time.Millisecond), 800*time.Millisecond,
		"over a slow line counted every")
}

const celeryLevels = 28

// levelKey returns the routing key with which kombu delays: a word for each level, highest first, then the task's own
// key.
func levelKey(seconds int, key string) string {
	return strings.Join(strings.Split(fmt.Sprintf("%0*b", celeryLevels, seconds), ""), ".") + "." + key
}

// celeryDelays returns the exchanges and queues of Celery's native delays, as kombu declares them, with the worker's
// queue "orders" behind.
func celeryDelays(waiting map[int]int64) build.Part {
	return func(s *model.Snapshot) {
		parts := append(build.DelayLevels("celery_delayed_%d", "celery_delayed_delivery", celeryLevels),
			exchange("topic", "celery"), queue("orders", consumers(1)), bind("celery", "#.orders", "orders"),
			build.BindExchange("celery_delayed_delivery", "#.orders", "celery"))
		for _, p := range parts {
			p(s)
		}

		for i := range s.Queues { // a look at them has no cost
			s.Queues[i].Type = model.Classic
			s.Queues[i].CountedAt = s.TakenAt
		}

		for level, n := range waiting {
			queueIn(s, fmt.Sprint("celery_delayed_", level)).Ready = model.Some(n)
		}
	}
}

// The levels of a native delay are one buffer: with everything that waits in it, the exchange that publishers use, and
// a way to open the level with messages.
func TestDelayLevels(t *testing.T) {
	atSizes(t, func(t *testing.T, width, height int) {
		o, b, c := showing(recording(celeryDelays(map[int]int64{3: 1, 6: 2})))
		b.put("celery_delayed_6", message.Message{RoutingKey: levelKey(72, "orders")},
			message.Message{RoutingKey: levelKey(65, "orders")})
		o.Interval = time.Hour
		term := o.onFlow(t, "orders", width, height).await("celery_delayed_0…27", "3 ready in 2 levels")
		term.press("k").await("2 in celery_delayed_6, 1 in celery_delayed_3; enter opens celery_delayed_6").golden()
		c.advance(4 * time.Second)
		term.source.tell(countedAt(c, later(term.source.snapshot, 4*time.Second, nil)))
		term.press(keyCtrlR).await("≤ 11s") // 8 s, and 7 s of the levels below
		term.press(keyEnter).await("celery_delayed_6", "2 messages", "LAST FAILURE")
	})
}

// Movement between levels stays inside the buffer: what enters is what publishers send, even while unpublished messages
// enter levels.
func TestRatesOfLevels(t *testing.T) {
	before := recording(celeryDelays(map[int]int64{0: 3, 3: 5, 6: 10}))
	after := later(before, 2*time.Second, map[string]int64{
		"celery_delayed_6": 6, "celery_delayed_3": 9, "celery_delayed_0": 1,
	})
	queueIn(after, "celery_delayed_6").Published = build.Some(4) // so that 8 left it
	o, _, c := showing(before)
	o.Interval = time.Hour
	term := o.onFlow(t, "orders").await("18 ready in 3 levels")
	c.advance(2 * time.Second)
	term.source.tell(countedAt(c, after))
	term.press(keyCtrlR).await("16 ready in 3 levels", "2.0/s", "3.0/s", picture.MarkDot) // 4 came and 6 left in 2 s
}

// Native delays as kombu declares them, on a real broker: the picture has what waits in all levels, enter opens the one
// with messages, an eta dates them there, and they arrive.
func TestDelayLevelsOnARealBroker(t *testing.T) {
	size.Long(t)
	o, _, channel := real(t)
	worker := declareCeleryDelays(t, channel)
	due := time.Now().Add(96 * time.Second).UTC()
	publishTo(t, channel, "celery_delayed_27", levelKey(96, worker), amqp.Publishing{
		MessageId: "later", Headers: amqp.Table{
			"task": "shop.charge", "id": "1", "root_id": "1", "retries": int32(0), "eta": due.Format(time.RFC3339Nano),
		},
	})

	term := o.onFlow(t, worker).await("celery_delayed_0…27", "1 ready in 1 level", "celery_delayed_27")
	publishTo(t, channel, "celery_delayed_27", levelKey(16, worker), amqp.Publishing{MessageId: "soon"})
	term.await("2 ready in 2 levels").await("1 ready in 1 level")
	term.press("k").await("1 in celery_delayed_6; enter opens celery_delayed_6")
	term.press(keyEnter).await("celery_delayed_6")
	term.answer("shop.charge", "i reads it, at a cost", "i") // before 4.0 nothing limits looks here, so it is read at once
	term.await("1 message ", "at the earliest").press("q")
	holds(t, channel, worker, 1)
	term.await("1 in celery_delayed_5; enter opens celery_delayed_5")
	holds(t, channel, worker, 2)
	early := time.Until(due)
	assert.That(t, early <= time.Second+100*time.Millisecond, "it arrived %v before its eta", early)
}

// declareCeleryDelays declares what kombu declares for native delays, and a worker's queue bound to them.
func declareCeleryDelays(t *testing.T, channel *amqp.Channel) (worker string) {
	t.Helper()
	exchanges(t, channel, "topic", "celery_delayed_delivery")
	next := "celery_delayed_delivery"
	for level := range celeryLevels {
		name := fmt.Sprintf("celery_delayed_%d", level)
		words := strings.Repeat("*.", celeryLevels-1-level)
		exchanges(t, channel, "topic", name)
		dial.Queue(t, channel, name, amqp.Table{
			"x-queue-type": "quorum", "x-overflow": "reject-publish", "x-message-ttl": int64(1000) << level,
			"x-dead-letter-exchange": next, "x-dead-letter-strategy": "at-least-once",
		})

		bindIn(t, channel, name, words+"1.#", name)
		must.Do(t, channel.ExchangeBind(next, words+"0.#", name, false, nil))
		next = name
	}

	worker = dial.Queue(t, channel, "ui.celery", nil)
	exchanges(t, channel, "topic", worker)
	must.Do(t, channel.ExchangeBind(worker, "#."+worker, "celery_delayed_delivery", false, nil))
	bindIn(t, channel, worker, "#."+worker, worker)
	return worker
}

// publishTo publishes to an exchange, and waits for the confirm.
func publishTo(t *testing.T, channel *amqp.Channel, exchange, key string, m amqp.Publishing) {
	t.Helper()
	must.That(t, dial.Send(t, channel, exchange, key, m), "not confirmed")
}

// exchanges declares exchanges that are deleted after the test.
func exchanges(t *testing.T, channel *amqp.Channel, kind string, names ...string) {
	t.Helper()
	for _, name := range names {
		must.Do(t, channel.ExchangeDeclare(name, kind, true, false, false, false, nil))
		t.Cleanup(func() { _ = channel.ExchangeDelete(name, false, false) })
	}
}

func bindIn(t *testing.T, channel *amqp.Channel, exchange, key, queue string) {
	t.Helper()
	must.Do(t, channel.QueueBind(queue, key, exchange, false, nil))
}

// Rejected messages that come back to the exchange that publishers use are shown as rejected, and the publishers are
// there.
func TestRejectsThatComeBackToTheEntry(t *testing.T) {
	o, _, channel := real(t)
	exchanges(t, channel, "topic", "entry", "entry.retry")
	dial.Queue(t, channel, "entry.work", amqp.Table{"x-dead-letter-exchange": "entry.retry"})
	dial.Queue(t, channel, "entry.work.wait", waitingThrough(200, "entry"))
	bindIn(t, channel, "entry", "work.#", "entry.work")
	bindIn(t, channel, "entry.retry", "#", "entry.work.wait")
	term := o.onFlow(t, "entry.work").await("publishers ", "│ retry 200ms", "rejected", "expired", "work.#")
	term.lacks("sent again", "nothing is sent again by the worker")
	worker := must.Get(channel.Consume("entry.work", "", false, false, false, false, nil))(t)
	p := amqp.Publishing{Body: []byte("m")}
	must.Do(t, channel.PublishWithContext(t.Context(), "entry", "work.new", true, false, p))

	for try := range 2 { // as published, and as it comes back
		d := receive(t, worker, "no message")
		deaths, _ := d.Headers["x-death"].([]any)
		assert.That(t, len(deaths) == 2*try, "at try %d it has died so: %v", try, deaths)
		must.Do(t, d.Reject(false))
	}

	term.await("1 consumer", "rejected")
}

// The key of a message leads elsewhere than the bindings of its buffer: after a look, its worker has the buffer in its
// flow.
func TestALookShowsWhereMessagesGo(t *testing.T) {
	o, _, channel := real(t)
	exchanges(t, channel, "topic", "ways.delay", "ways.retry")
	dial.Queue(t, channel, "ways.audit", nil)
	dial.Queue(t, channel, "ways.save", nil)
	dial.Queue(t, channel, "ways.later", waitingThrough(600_000, "ways.retry"))
	bindIn(t, channel, "ways.delay", "delay.10m", "ways.later")
	bindIn(t, channel, "ways.retry", "delay.#", "ways.audit")
	bindIn(t, channel, "ways.retry", "save.#", "ways.save")
	publishTo(t, channel, "ways.delay", "save.created", amqp.Publishing{
		Headers: amqp.Table{"CC": []any{"delay.10m"}}, Body: []byte("m"),
	})
	term := o.open(t).await("MOVED/s").press("/", "ways", keyEnter).await("ways.audit")
	term.lacks("ways.save", "no binding says that ways.later leads to ways.save")
	term.press(keyEnter).await("▸ ways.audit", "MOVED  ").press(keyTab).await("▸ ways.later")
	term.press(keyEnter).await("1 message", "save.created").press("q", "q").await("ways.audit", "ways.save")
}

// A worker sends its failures to a buffer with keys in CC, like Rascal: a look shows that, no binding does.
func TestALookShowsWhoFillsABuffer(t *testing.T) {
	o, _, channel := real(t)
	exchanges(t, channel, "topic", "back.delay", "back.retry", "back.in")
	dial.Queue(t, channel, "back.save", nil)
	dial.Queue(t, channel, "back.later", waitingThrough(600_000, "back.retry"))
	bindIn(t, channel, "back.in", "created", "back.save")
	bindIn(t, channel, "back.delay", "delay.10m", "back.later")
	bindIn(t, channel, "back.retry", "back.save.#", "back.save")

	publishTo(t, channel, "back.delay", "back.save.created", amqp.Publishing{
		Headers: amqp.Table{
			"CC": []any{"delay.10m"},
			"rascal": amqp.Table{
				"originalQueue": "back.save",
				"recovery":      amqp.Table{"back.save": amqp.Table{"forwarded": int32(1)}},
			},
		},
		Body: []byte("m"),
	})

	term := o.onFlow(t, "back.save").await("delayed 10m", "╭ back.delay ╮")
	term.press(keyTab).await("▸ back.later").press(keyEnter).await("1 message", "back.save.created")
	term.press("q").await("retry 10m", "via back.delay", "╭ back.in ")
}

// A worker requeues what it gets: the picture has the way back to itself, and the finding since when.
func TestAWorkerThatRequeues(t *testing.T) {
	o, node, channel := real(t)
	dial.Queue(t, channel, "again.dead", nil)
	dial.Queue(t, channel, "again.work", deadTo("again.dead"))
	dial.Publish(t, channel, "again.work", amqp.Publishing{Body: []byte("m")}, amqp.Publishing{Body: []byte("m")})
	tick := time.NewTicker(20 * time.Millisecond)
	dial.Work(t, node.AMQP(), "again.work", 1, func(d amqp.Delivery) {
		<-tick.C
		_ = d.Nack(false, true)
	})

	term := o.onFlow(t, "again.work")
	term.await("├─╮", "│◀╯", "1 consumer", "/s redelivered",
		"returns its 2 messages and receives them again", "seen", "since ")
	term.press("q", "/", "again.work", keyEnter)
	term.await("▸ ✗  again.work", "1 consumer  ", "/s redelivered", "seen", "since ").resize(80, 24)
	term.press(keyEnter).await("/s redelivered", "1 consumer")
}
