package broker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/depth"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

// TestPeekKeepsTheOrderOfPriorities: from 4.0 on, quorum queues serve higher priorities first; messages that were
// looked at come again in the same order.
func TestPeekKeepsTheOrderOfPriorities(t *testing.T) {
	t.Parallel()
	const n = 300
	a, c := newApp(t), client(t)
	messages := numbered(n)
	for i := range messages {
		messages[i].Priority = uint8(i % 10)
	}

	q := a.filled("q", model.Quorum, messages...)
	var order []string
	for look, limit := range []int{n, 10, n, 40, n} {
		peeked := messageIDs(lookAt(t, c, q, peek.Want{Limit: limit}).Messages)
		if look == 0 {
			order = peeked
		}
		must.Same(t, order[:limit], peeked, "look %d", look+1)
		a.await(q, n)
	}

	assert.Same(t, order, ids(a.drain(q, n)))
}

func TestPeekReadsTheFirstOnly(t *testing.T) {
	onEachKind(t, func(t *testing.T, kind model.QueueType, a *app, c *broker.Client) {
		q := a.filled("q", kind, numbered(100)...)
		assert.Same(t, count(7), messageIDs(lookAt(t, c, q, peek.Want{Limit: 7}).Messages))
		for i, d := range a.drain(q, 100) {
			assert.Equal(t, d.MessageId, fmt.Sprint(i+1), "message %d, redelivered %v", i+1, d.Redelivered)
			assert.Equal(t, d.Redelivered, i < 7, "%v", i+1)
		}
	})
}

// A full queue loses its oldest messages, with a look and without.
func TestPeekOfAFullQueue(t *testing.T) {
	onEachKind(t, func(t *testing.T, kind model.QueueType, a *app, c *broker.Client) {
		q := a.queue("q", kind, "x-max-length", int32(5))
		a.publish(q, numbered(5)...)

		arrive := sync.OnceFunc(func() { a.send("", q.Name, numbered(8)[5:]...) })
		must.Get(c.Read(t.Context(), planPeek(q, peek.Want{}), func(*message.Message) error {
			arrive()
			return nil
		}))(t)

		a.await(q, 5)
		assert.Same(t, ids(a.drain(q, 5)), count(8, 1, 2, 3))
	})
}

func TestPeekOfAnEmptyQueue(t *testing.T) {
	onEachKind(t, func(t *testing.T, kind model.QueueType, a *app, c *broker.Client) {
		q := a.queue("q", kind)
		peeked := lookAt(t, c, q, peek.Want{})
		ready, known := peeked.Depth.Get()
		assert.Equal(t, len(peeked.Messages), 0, "%+v", peeked)
		assert.That(t, known, "%+v", peeked)
		assert.Equal(t, ready, 0)
		assert.Equal(t, peeked.Stopped, "")
	})
}

// While the broker does not know the leader of a quorum queue, it says that the queue is empty. A look that decides
// what is sent or removed reads it nevertheless, to its end; and a queue that is empty ends such a look.
func TestLookDoesNotBelieveThatAQueueIsEmpty(t *testing.T) {
	a, c := besideOthers(t)
	q := a.queue("q", model.Quorum)
	look := peek.ToDecide(topology([]*model.Queue{q}), q.QueueRef, false, false)
	read := func() (seen []string) {
		_, err := c.Read(t.Context(), look, func(m *message.Message) error {
			seen = append(seen, m.Properties.MessageID)
			return nil
		})
		must.Do(t, err)
		return seen
	}

	assert.Equal(t, len(read()), 0, "messages of an empty queue")
	const n = 300
	a.publish(q, numbered(n)...)
	ended := withoutLeaderFor7s(t, q)
	assert.Equal(t, depth.Of(t, a.channel, q.Name), 0, "messages, by the broker")
	assert.Same(t, count(n), read())
	<-ended
}

// TestActionWaitsForWhatWasReturned: a look that decides about an action waits for messages that an earlier look
// returned and the queue does not show yet. Here a consumer unknown to the plan holds one of them for a while.
func TestActionWaitsForWhatWasReturned(t *testing.T) {
	a, c := besideOthers(t)
	q := a.filled("q", model.Quorum, numbered(3)...)
	channel := a.open()
	must.Do(t, channel.Qos(1, 0, false))
	read := 0
	_, err := c.Read(t.Context(), planPeek(q, peek.Want{Limit: 3}), func(*message.Message) error {
		if read++; read == 3 { // all are held
			_, err := channel.Consume(q.Name, "", false, false, false, false, nil)
			return err
		}
		return nil
	})

	must.Do(t, err)
	must.Equal(t, read, 3, "read")
	time.AfterFunc(time.Second, func() { _ = channel.Close() })
	assert.Equal(t, len(lookAt(t, c, q, peek.Want{ForAction: true, Limit: 3}).Messages), 3, "messages")
}

// autoDelete declares a queue that goes with its last consumer.
func (a *app) autoDelete() *model.Queue {
	a.Helper()
	q := described(build.Ref(a.Name()), model.Classic)
	q.AutoDelete = true
	must.Get(a.channel.QueueDeclare(q.Name, true, true, false, false, amqp.Table{"x-queue-type": "classic"}))(a)
	return q
}

func TestPeekLeavesAnAutoDeleteQueueInPlace(t *testing.T) {
	a, c := besideOthers(t)
	q := a.autoDelete()
	a.publish(q, numbered(20)...)
	for range 2 {
		assert.Same(t, count(20), messageIDs(lookAt(t, c, q, peek.Want{}).Messages))
	}
	assert.Same(t, count(20), ids(a.drain(q, 20)))
}

func TestPeekPastAnExclusiveConsumer(t *testing.T) {
	a, c := besideOthers(t)
	q := a.filled("q", model.Classic, numbered(20)...)
	channel := a.open()
	must.Do(t, channel.Qos(5, 0, false))
	must.Get(channel.Consume(q.Name, "alone", false, true, false, false, nil))(t)
	a.await(q, 15)
	_, err := c.Peek(t.Context(), planPeek(q, peek.Want{}))
	assert.That(t, errors.Is(err, model.ErrConsumeRefused), "consume: %v", err)
	q.ExclusiveHeld = true
	assert.Same(t, count(20)[5:], messageIDs(lookAt(t, c, q, peek.Want{}).Messages))
	a.await(q, 15)
}

func TestPeekOfASingleActiveConsumerQueue(t *testing.T) {
	onEachKind(t, func(t *testing.T, kind model.QueueType, a *app, c *broker.Client) {
		q := a.queue("q", kind, "x-single-active-consumer", true)
		a.publish(q, numbered(20)...)
		q.SingleActive = true
		assert.Same(t, count(20), messageIDs(lookAt(t, c, q, peek.Want{}).Messages))
		assert.Same(t, count(20), ids(a.drain(q, 20)))
	})
}

func TestPeekOfAStream(t *testing.T) {
	a, c := besideOthers(t)
	q := a.queue("q", model.Stream)
	a.send("", q.Name, numbered(50)...)

	// A stream that pauses may have reached its end, or may be stalled.
	for _, test := range []struct{ limit, n int }{{30, 30}, {30, 30}, {100, 50}} {
		must.Await(t, "the messages are read", func() bool {
			peeked := lookAt(t, c, q, peek.Want{Limit: test.limit})
			assert.That(t, !peeked.Depth.Known(), "the messages of a stream are not counted")
			return slices.Equal(messageIDs(peeked.Messages), count(test.n)) && (test.n < 50 || peeked.Stopped == "")
		})
	}

	must.Await(t, "they are exported", func() bool {
		var read []string
		_, err := c.Read(t.Context(), planPeek(q, peek.Want{Limit: 100}),
			func(m *message.Message) error { read = append(read, m.Properties.MessageID); return nil })
		return err == nil && slices.Equal(read, count(50))
	})
}

func TestPeekErrors(t *testing.T) {
	a, c := besideOthers(t)
	missing := build.Ref("no such queue")
	_, err := c.Peek(t.Context(), planPeek(described(missing, model.Classic), peek.Want{}))
	assert.That(t, errors.Is(err, model.ErrQueueGone), "missing queue: %v", err)
	owned := must.Get(a.channel.QueueDeclare("", false, false, true, false, nil))(t)
	exclusive := build.Ref(owned.Name)
	_, err = c.Peek(t.Context(), planPeek(described(exclusive, model.Classic), peek.Want{}))
	assert.That(t, errors.Is(err, model.ErrQueueExclusive), "exclusive queue: %v", err)
	_, err = c.Peek(t.Context(), peek.Plan{Queue: missing, Refusal: peek.Refusal{model.Saidf("there is no such queue")}})
	assert.That(t, err != nil, "a refused plan ran")

	// The client still works after each of these.
	q := a.filled("q", model.Classic, numbered(1)...)
	peeked := lookAt(t, c, q, peek.Want{})
	assert.That(t, len(peeked.Messages) == 1, "%d messages", len(peeked.Messages))
}

// everyType has a value of each AMQP type, including nested ones.
func everyType() amqp.Table { return everyTypeIn[amqp.Table](amqp.Decimal{Scale: 2, Value: 12345}) }

// everyTypeIn has the same values in tables of another type.
func everyTypeIn[T ~map[string]any](decimal any) T {
	return T{
		"bool": true, "int8": int8(-8), "uint8": byte(8), "int16": int16(-16), "uint16": uint16(16),
		"int32": int32(-32), "uint32": uint32(32),
		"int64": int64(-1 << 60), "float32": float32(1.5), "float64": 2.25, "decimal": decimal,
		"string": "ünï\x00cödé", "bytes": []byte{0, 1, 255}, "time": time.Unix(1_700_000_000, 0), "nil": nil,
		"array": []any{"a", int32(1), nil, []any{true}, T{"deep": int64(1)}},
		"table": T{"inner": T{"innermost": []byte("x")}, "empty": T{}},
	}
}

func TestPeekKeepsTypesOfHeadersAndProperties(t *testing.T) {
	onEachKind(t, func(t *testing.T, kind model.QueueType, a *app, c *broker.Client) {
		q := a.queue("q", kind)
		a.publish(q, amqp.Publishing{
			Headers: everyType(), ContentType: "application/json", ContentEncoding: "gzip", DeliveryMode: 2, CorrelationId: "c",
			ReplyTo: "r", Expiration: "600000", MessageId: "m", Timestamp: time.Unix(1_700_000_001, 0), Type: "t",
			UserId: "guest", AppId: "a", Body: []byte{0xff, 0},
		})

		m := lookAt(t, c, q, peek.Want{}).Messages[0]
		want := everyTypeIn[model.Table](model.Decimal{Scale: 2, Value: 12345})
		assert.Same(t, want, m.Headers)

		properties := message.Properties{
			ContentType: "application/json", ContentEncoding: "gzip", DeliveryMode: 2, CorrelationID: "c", ReplyTo: "r",
			Expiration: "600000",
			MessageID:  "m", Timestamp: time.Unix(1_700_000_001, 0), Type: "t", UserID: "guest", AppID: "a",
		}

		assert.Same(t, properties, m.Properties)
		assert.That(t, bytes.Equal(m.Body, []byte{0xff, 0}), "%+v", m)
		assert.Equal(t, m.Exchange, "")
		assert.Equal(t, m.RoutingKey, q.Name)
		again := lookAt(t, c, q, peek.Want{}).Messages[0]
		assert.That(t, again.Fingerprint == m.Fingerprint, "a look changes the fingerprint")
	})
}

func TestPeekOfALargeBody(t *testing.T) {
	onEachKind(t, func(t *testing.T, kind model.QueueType, a *app, c *broker.Client) {
		q := a.queue("q", kind)
		body := bytes.Repeat([]byte("0123456789abcdef"), 10<<20/16)
		a.publish(q, amqp.Publishing{Body: body, DeliveryMode: 2})
		whole := lookAt(t, c, q, peek.Want{}).Messages[0]
		assert.That(t, bytes.Equal(whole.Body, body), "%d bytes", len(whole.Body))
		assert.Equal(t, whole.BodyBytes, len(body))
		peeked := must.Get(c.Peek(t.Context(), planPeek(q, peek.Want{})))(t)
		defer peeked.Messages.Close()
		start := must.Get(peeked.Messages.At(0, 100))(t)
		assert.That(t, bytes.Equal(start.Body, body[:100]), "%d of %d bytes", len(start.Body), start.BodyBytes)
		assert.Equal(t, start.BodyBytes, len(body))
		assert.Equal(t, start.Fingerprint, whole.Fingerprint)
	})
}

func TestPeekHoldsNoMoreThanMaxBytes(t *testing.T) {
	onEachKind(t, func(t *testing.T, kind model.QueueType, a *app, c *broker.Client) {
		q := a.filled("q", kind, sized(50, 10_000)...)
		peeked := lookAt(t, c, q, peek.Want{MaxBytes: 100_000})
		assert.Equal(t, len(peeked.Messages), 10, "stopped %q", peeked.Stopped)
		assert.That(t, peeked.Stopped != "", "%d messages, stopped %q", len(peeked.Messages), peeked.Stopped)
		q.Ready, q.ReadyBytes = build.Some(50), build.Some(500_000)
		peeked = lookAt(t, c, q, peek.Want{MaxBytes: 100_000})
		assert.Equal(t, len(peeked.Messages), 10, "known size, stopped %q", peeked.Stopped)
		assert.Equal(t, peeked.Stopped, "")
		assert.Same(t, count(50), ids(a.drain(q, 50)))
	})
}

func TestPeekOfAMalformedDeath(t *testing.T) {
	a, c := besideOthers(t)
	q := a.queue("q", model.Classic)
	a.publish(q, amqp.Publishing{Headers: amqp.Table{"x-death": "not an array"}},
		amqp.Publishing{Headers: amqp.Table{"x-death": []any{int32(1), amqp.Table{"queue": int32(3), "count": "many"}}}})
	for _, m := range lookAt(t, c, q, peek.Want{}).Messages {
		assert.That(t, m.DeathsError != "", "%v: nothing said", m.Headers)
	}
}

func TestPeekOfRealDeaths(t *testing.T) {
	onEachKind(t, func(t *testing.T, kind model.QueueType, a *app, c *broker.Client) {
		dead := a.queue("dead", kind)
		q := a.queue("q", kind, "x-dead-letter-exchange", "", "x-dead-letter-routing-key", dead.Name, "x-message-ttl",
			int32(1))
		a.send("", q.Name, numbered(1)...)
		a.await(dead, 1)
		m := lookAt(t, c, dead, peek.Want{}).Messages[0]
		must.Equal(t, len(m.Deaths), 1, "%+v", m)
		must.Equal(t, m.DeathsError, "")
		d := m.Deaths[0]
		assert.Equal(t, d.Queue, q.Name, "%+v", d)
		assert.Equal(t, d.Reason, model.Expired)
		assert.Equal(t, d.Count, 1)
	})
}

func TestCancelledPeekGivesEverythingBack(t *testing.T) {
	onEachKind(t, func(t *testing.T, kind model.QueueType, a *app, c *broker.Client) {
		const n = 5000
		q := a.filled("q", kind, numbered(n)...)
		plan := planPeek(q, peek.Want{Limit: n})
		for _, after := range []time.Duration{
			0, time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
		} {
			ctx, cancel := context.WithTimeout(t.Context(), after)
			peeked, err := c.Peek(ctx, plan)
			cancel()
			assert.That(t, err == nil || errors.Is(err, context.DeadlineExceeded), "after %s: %v", after, err)
			assert.That(t, err != nil || peeked.Messages.Len() == n, "after %s: not all messages and no error", after)
			a.await(q, n)
		}

		assert.List(t, ids(a.drain(q, n)), count(n), "the order has changed")
	})
}

func TestPeekEndsWhenNothingComes(t *testing.T) {
	a, c := besideOthers(t)
	q := a.queue("q", model.Quorum, "x-single-active-consumer", true)
	a.publish(q, numbered(20)...)
	a.consumer(q, 5)
	a.await(q, 15)

	// Planned without knowing that the queue has a single active consumer: a second one receives nothing.
	peeked := lookAt(t, c, q, peek.Want{Timeout: 200 * time.Millisecond})
	assert.Equal(t, len(peeked.Messages), 0, "stopped %q", peeked.Stopped)
	assert.That(t, peeked.Stopped != "", "%d messages, stopped %q", len(peeked.Messages), peeked.Stopped)
}

// peeker looks at a queue until it is killed.
func peeker(o job) error {
	c, err := broker.New(broker.Options{URL: o.URL})
	if err != nil {
		return err
	}
	fmt.Println("begins")
	_, err = c.Peek(context.Background(), peek.OfQueue(o.queues()[0], model.Settings{},
		model.BehaviourOf(model.ParseVersion(o.Version)), peek.Want{Limit: 100_000}))
	fmt.Println("ends", err)
	return nil
}

// TestKilledPeek kills a process that holds messages. All of them come back unchanged, and no file that it kept on disk
// still has a name.
func TestKilledPeek(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	forEachKindAlone(t, func(t *testing.T, kind model.QueueType) {
		const n = 8_000 // more than a look keeps in memory
		a := newApp(t)
		messages := numbered(n)
		for i := range messages {
			messages[i].Body = fmt.Appendf(make([]byte, 0, 1024), "%01000d", i+1)
		}

		q := a.filled("q", kind, messages...)
		person, url := person(t)
		command := process(t, job{Do: "peek", Kind: kind, URL: url, From: q.Name})
		started(t, command, "begins")
		must.Await(t, "it holds half of them", func() bool { return a.ready(q) <= n/2 })
		_ = command.Process.Kill()
		_ = command.Wait()
		a.until(func() error { return allGone(t, node, person) })
		a.await(q, n)
		named := namedSpools(t)
		assert.That(t, len(named) == 0, "a file is left: %v", named)

		got := a.drain(q, n)
		for i, id := range ids(got) {
			must.That(t, string(got[i].Body) == fmt.Sprintf("%01000s", id), "message %s: %s", id, got[i].Body)
		}

		switch order := ids(got); {
		case slices.Equal(order, count(n)):
		case kind == model.Classic:
			t.Error("the order has changed")
		default:
			t.Log("the order has changed, as it does when the consumer of a quorum queue dies while deliveries are under way")
		}

		slices.SortFunc(got, func(x, y amqp.Delivery) int { return strings.Compare(string(x.Body), string(y.Body)) })
		assert.List(t, ids(got), count(n), "not every message is there once")
	})
}

// TestPeekEndsInTime: a look stops at the plan's time limit, says so, and leaves order, content and counts as they
// were.
func TestPeekEndsInTime(t *testing.T) {
	onEachKind(t, func(t *testing.T, kind model.QueueType, a *app, c *broker.Client) {
		n := size.Of(3000, 20_000)
		q := a.filled("q", kind, numbered(n)...)
		plan := planPeek(q, peek.Want{Limit: n, Timeout: 20 * time.Millisecond})
		peeked := peekAt(t, c, plan)
		got := len(peeked.Messages)
		assert.That(t, got == n || peeked.Stopped != "", "%d messages, stopped %q", got, peeked.Stopped)
		assert.List(t, messageIDs(peeked.Messages), count(got))
		a.await(q, n)
		wantIDs(t, "the queue", a.drain(q, n), count(n))
	})
}

// TestLooksInARow: what one look gives back is there for the next, which follows at once.
func TestLooksInARow(t *testing.T) {
	onEachKind(t, func(t *testing.T, kind model.QueueType, a *app, c *broker.Client) {
		n := size.Of(2000, 20_000)
		c.SetComeback(patience) // no consumer takes them meanwhile
		q := a.filled("q", kind, sized(n, 1024)...)
		for look := range 6 {
			peeked := must.Get(c.Peek(t.Context(), planPeek(q, peek.Want{Limit: n / 2})))(t)
			assert.Equal(t, peeked.Depth.Or(0), int64(n), "look %d: %d messages of", look+1, peeked.Messages.Len())
			assert.Equal(t, peeked.Messages.Len(), n/2, "%v", look+1)
			last := must.Get(peeked.Messages.At(n/2-1, 0))(t)
			assert.Equal(t, last.Properties.MessageID, fmt.Sprint(n/2), "%v", look+1)
			peeked.Messages.Close()
		}
	})
}

// TestPeekSaysWhyItEndsBesideOthers: when another client takes messages of a classic queue that a look has counted, the
// look ends early and says why.
func TestPeekSaysWhyItEndsBesideOthers(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	messages := size.Of(6000, 20_000)
	queue := a.filled("busy", model.Classic, numbered(messages)...)

	c := client(t)
	for try := 1; ; try++ {
		purged := make(chan int, 1)
		looked := make(chan struct{})
		go func() {
			channel := a.open()
			defer channel.Close()
			for depth.Of(t, channel, queue.Name) == messages { // until the look holds some of them
				select {
				case <-looked:
					purged <- 0
					return
				default:
				}
			}

			n, err := channel.QueuePurge(queue.Name, false)
			assert.Succeeds(t, err)
			purged <- n
		}()

		peeked := lookAt(t, c, queue, peek.Want{Limit: messages})
		close(looked)
		n := <-purged

		if read := len(peeked.Messages); read > 0 && read < messages {
			assert.That(t, read+n <= messages, "%d read, %d taken by others: %q", read, n, peeked.Stopped)
			assert.Contains(t, peeked.Stopped, "no more are ready: of the "+model.Plural(messages, "message")+" counted before")
			return
		}

		must.That(t, try != 10, "the queue was never emptied in the middle of a look")
		a.publish(queue, numbered(messages-a.ready(queue))...)
	}
}

// Where a queue has no other node, one that stands still for longer than a node takes to be missed is only busy.
func TestPeekOfAQueueThatStandsStill(t *testing.T) {
	size.Long(t)
	t.Parallel()
	a := newApp(t)
	const messages = 6000
	queue := a.filled("still", model.Classic, numbered(messages)...)
	look := fmt.Sprintf(`
		{ok, Q} = rabbit_amqqueue:lookup(rabbit_misc:r(<<"/">>, queue, <<"%s">>)),
		Pid = amqqueue:get_pid(Q),
		spawn(fun Wait() ->
			case rabbit_amqqueue:stat(Q) of
				{ok, %d, _} -> Wait();
				_ -> sys:suspend(Pid), timer:sleep(11000), sys:resume(Pid)
			end
		end).`, queue.Name, messages)
	must.Get(node.Control(t.Context(), "eval", look))(t)

	c := client(t)
	peeked := must.Get(c.Peek(t.Context(), planPeek(queue, peek.Want{Limit: messages, Timeout: time.Minute})))(t)
	defer peeked.Messages.Close()
	assert.Equal(t, peeked.Messages.Len(), messages, "stopped: %q", peeked.Stopped)
}
