package ui

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/depth"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/ui/picture"
)

const celeryLevels = 28

// levelKey is the routing key by which kombu delays: a word for each level, from the highest on, and the task's own.
func levelKey(seconds int, key string) string {
	return strings.Join(strings.Split(fmt.Sprintf("%0*b", celeryLevels, seconds), ""), ".") + "." + key
}

// celeryDelays are the exchanges and queues of Celery's native delays, as kombu declares them, with the worker's queue
// "orders" behind.
func celeryDelays(waiting map[int]int64) told {
	return func(s *model.Snapshot) {
		add := func(parts ...told) {
			for _, p := range parts {
				p(s)
			}
		}
		through := func(from, key, to string) told {
			return func(s *model.Snapshot) {
				bind(from, key, to)(s)
				s.Bindings[len(s.Bindings)-1].ToExchange = true
			}
		}
		next := func(level int) string {
			if level == 0 {
				return "celery_delayed_delivery"
			}
			return fmt.Sprintf("celery_delayed_%d", level-1)
		}
		add(exchange("topic", "celery_delayed_delivery"), exchange("topic", "celery"),
			queue("orders", consumers(1)), through("celery_delayed_delivery", "#.orders", "celery"),
			bind("celery", "#.orders", "orders"))
		for level := celeryLevels - 1; level >= 0; level-- {
			at, words := fmt.Sprintf("celery_delayed_%d", level), strings.Repeat("*.", celeryLevels-1-level)
			add(exchange("topic", at), queue(at, ttl(1000<<level), dlx(next(level)), ready(waiting[level])),
				bind(at, words+"1.#", at), through(at, words+"0.#", next(level)))
		}
	}
}

// The levels of a native delay are one buffer: with all that waits in it, the exchange that publishers use, and a way
// into the level that holds messages.
func TestDelayLevels(t *testing.T) {
	atSizes(t, func(t *testing.T, width, height int) {
		c := newClock()
		s := countedAt(c, recording(celeryDelays(map[int]int64{3: 1, 6: 2})))
		b := newRecordedBroker(c)
		b.put("celery_delayed_6", message.Message{RoutingKey: levelKey(72, "orders")},
			message.Message{RoutingKey: levelKey(65, "orders")})
		source := &recorded{snapshot: s}
		term := onFlow(t, Options{Source: source, Broker: b, Now: c.now, Title: "prod", Interval: time.Hour},
			"orders", width, height)
		term.await("celery_delayed_0…27", "3 ready in 2 levels")
		term.press("k")
		term.await("2 in celery_delayed_6, 1 in celery_delayed_3; enter opens celery_delayed_6")
		term.golden()
		c.advance(4 * time.Second)
		source.tell(countedAt(c, later(s, 4*time.Second, nil)))
		term.press(keyCtrlR)
		term.await("≤ 11s") // 8 s, and 7 s of the levels below
		term.press(keyEnter)
		term.await("celery_delayed_6", "2 messages", "LAST FAILURE")
	})
}

// What goes from level to level stays inside the buffer: what comes in is what publishers send, also while messages
// that nobody sent come into levels.
func TestRatesOfLevels(t *testing.T) {
	c := newClock()
	before := countedAt(c, recording(celeryDelays(map[int]int64{0: 3, 3: 5, 6: 10})))
	after := later(before, 2*time.Second, map[string]int64{
		"celery_delayed_6": 6, "celery_delayed_3": 9, "celery_delayed_0": 1,
	})
	for i := range after.Queues {
		if q := &after.Queues[i]; q.Name == "celery_delayed_6" {
			q.Published = model.Some[int64](4) // so that 8 left it
		}
	}
	source := &recorded{snapshot: before}
	term := onFlow(t, Options{Source: source, Broker: newRecordedBroker(c), Now: c.now, Interval: time.Hour},
		"orders", 120, 36)
	term.await("18 ready in 3 levels")
	c.advance(2 * time.Second)
	source.tell(countedAt(c, after))
	term.press(keyCtrlR)
	term.await("16 ready in 3 levels", "2.0/s", "3.0/s", picture.MarkDot) // 4 came and 6 left in 2 s
}

// Native delays as kombu declares them, on a real broker: the picture has what waits in all levels, enter opens the one
// that holds it, an eta dates it there, and it arrives.
func TestDelayLevelsOnARealBroker(t *testing.T) {
	size.Long(t)
	t.Parallel()
	o, _, channel := real(t)
	worker := declareCeleryDelays(t, channel)
	due := time.Now().Add(96 * time.Second).UTC()
	publishTo(t, channel, "celery_delayed_27", levelKey(96, worker), amqp.Publishing{
		MessageId: "later", Headers: amqp.Table{
			"task": "shop.charge", "id": "1", "root_id": "1", "retries": int32(0), "eta": due.Format(time.RFC3339Nano),
		},
	})
	term := onFlow(t, o, worker, 120, 36)
	term.await("celery_delayed_0…27", "1 ready in 1 level", "celery_delayed_27")
	publishTo(t, channel, "celery_delayed_27", levelKey(16, worker), amqp.Publishing{MessageId: "soon"})
	term.await("2 ready in 2 levels")
	term.await("1 ready in 1 level")
	term.press("k")
	term.await("1 in celery_delayed_6; enter opens celery_delayed_6")
	term.press(keyEnter)
	term.await("celery_delayed_6", "1 message ", "at the earliest", "shop.charge")
	term.press("q")
	term.awaitThat("the first has arrived", func(string) bool { return depth.Of(t, channel, worker) == 1 })
	term.await("1 in celery_delayed_5; enter opens celery_delayed_5")
	term.awaitThat("both have arrived", func(string) bool { return depth.Of(t, channel, worker) == 2 })
	early := time.Until(due)
	assert.That(t, early <= time.Second+100*time.Millisecond, "it arrived %v before its eta", early)
}

// declareCeleryDelays declares what kombu declares for native delays, and a worker's queue bound to them.
func declareCeleryDelays(t *testing.T, channel *amqp.Channel) (worker string) {
	t.Helper()
	topic := func(name string) {
		must.Do(t, channel.ExchangeDeclare(name, "topic", true, false, false, false, nil))
		t.Cleanup(func() { _ = channel.ExchangeDelete(name, false, false) })
	}
	topic("celery_delayed_delivery")
	next := "celery_delayed_delivery"
	for level := range celeryLevels {
		name, words := fmt.Sprintf("celery_delayed_%d", level), strings.Repeat("*.", celeryLevels-1-level)
		topic(name)
		declare(t, channel, name, amqp.Table{
			"x-queue-type": "quorum", "x-overflow": "reject-publish", "x-message-ttl": int64(1000) << level,
			"x-dead-letter-exchange": next, "x-dead-letter-strategy": "at-least-once",
		})
		must.Do(t, channel.QueueBind(name, words+"1.#", name, false, nil))
		must.Do(t, channel.ExchangeBind(next, words+"0.#", name, false, nil))
		next = name
	}
	worker = "ui.celery"
	topic(worker)
	declare(t, channel, worker, nil)
	must.Do(t, channel.ExchangeBind(worker, "#."+worker, "celery_delayed_delivery", false, nil))
	must.Do(t, channel.QueueBind(worker, "#."+worker, worker, false, nil))
	return worker
}

// publishTo publishes to an exchange, and waits for the confirm.
func publishTo(t *testing.T, channel *amqp.Channel, exchange, key string, m amqp.Publishing) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	must.Do(t, channel.Confirm(false))
	confirm := must.Get(channel.PublishWithDeferredConfirm(exchange, key, true, false, m))(t)
	ok, err := confirm.WaitContext(ctx)
	must.That(t, err == nil && ok, "not confirmed: %v", err)
}
