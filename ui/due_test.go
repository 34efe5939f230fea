package ui

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/depth"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/mgmt"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/story"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// waiting fills buffer-queue with messages with these TTLs, in seconds, published now by the broker's clock.
func waiting(seconds ...int) Options {
	o, b, c := countedNow(map[string]int64{"buffer-queue": int64(len(seconds))})
	for i, s := range seconds {
		m := message.Message{
			Exchange: "out.exchange", RoutingKey: "out.routing.key",
			Body:       []byte(`{"order_id":"A-00000` + strconv.Itoa(i) + `"}`),
			Properties: message.Properties{MessageID: "order-" + strconv.Itoa(i+1), Expiration: strconv.Itoa(1000 * s)},
			Headers:    model.Table{"timestamp_in_ms": c.now().UnixMilli()},
		}
		b.put("buffer-queue", m)
	}

	o.Interval = time.Hour
	return o
}

// countedNow returns the busy broker with these numbers of messages, counted now.
func countedNow(ready map[string]int64) (Options, *recordedBroker, *clock) {
	return showing(countedAt(newClock(), later(busyBroker(), 0, ready)))
}

func countedAt(c *clock, s *model.Snapshot) *model.Snapshot {
	for i := range s.Queues {
		s.Queues[i].CountedAt = c.now()
	}
	return s
}

// What blocks is shown while it lasts, counts down without another look, and disappears with its cause.
func TestBlockedWhileItLasts(t *testing.T) {
	atSizes(t, func(t *testing.T, width, height int) {
		term := waiting(5, 4, 3, 2, 1).onQueue(t, "buffer-queue", width, height)
		term.await("message 1 (TTL 5s) blocks 4 messages; it leaves in 5.0s")
		term.clock.advance(2500 * time.Millisecond)
		term.press(keyDown).await("2.5s !", "overdue 2, behind another", "it leaves in 2.5s; 2 are overdue").golden()
		term.clock.advance(2 * time.Second)
		term.press(keyDown).await("overdue 4")
		term.clock.advance(time.Second)
		term.press(keyDown).await("left").awaitGone("blocks")
		assert.Equal(t, term.broker.peeked(), 1, "it was looked")
	})
}

func TestNothingBlocked(t *testing.T) {
	term := waiting(1, 2, 3, 4, 5).onQueue(t, "buffer-queue").await("1.0s", "5.0s")
	for range 6 {
		screen := term.screen()
		must.Lacks(t, screen, "blocks")
		must.Lacks(t, screen, "behind")
		term.clock.advance(900 * time.Millisecond)
		term.press(keyDown).settle()
	}
}

// The results of a look stay known: the picture of the flow and the list of flows show them too, updated to the current
// time, until a newer count contradicts them.
func TestALookIsRemembered(t *testing.T) {
	atSizes(t, func(t *testing.T, width, height int) {
		term := waiting(50, 4, 3, 2, 1).onFlow(t, "worker-queue", width, height).await("head due: unknown")
		term.press("k").await("each message has a TTL of its own, enter looks at them")
		term.press(keyEnter).await("50s", "blocks 4 messages").press("q")
		term.clock.advance(3500 * time.Millisecond)
		term.press("k").await("47s, blocks 3", "message 1 (TTL 50s) blocks 4 messages; it leaves in 47s; 3 are overdue")
		term.golden().press("q", keyDown)
		if width >= 120 {
			term.await("blocked 3")
		}

		term.clock.advance(20 * time.Second)
		// someone took three
		term.source.tell(countedAt(term.clock, later(busyBroker(), 24*time.Second, map[string]int64{"buffer-queue": 2})))
		term.press(keyCtrlR).awaitThat("the new count", func(string) bool { return term.source.times() == 2 }).settle()
		term.awaitGone("blocked")
		assert.Equal(t, term.broker.peeked(), 1, "it was looked")
	})
}

// A retry ladder, a message of an absurd age, and one that cycles for ever.
func TestStoryOfARetry(t *testing.T) {
	atSizes(t, func(t *testing.T, width, height int) {
		o, b, c := showing(recording(
			queue("mail", consumers(2)), queue("mail.failed", ready(1)),
			queue("mail.retry.10s", ttl(10_000), dlx(""), deadKey("mail")),
			queue("mail.retry.60s", ttl(60_000), dlx(""), deadKey("mail"), ready(1)),
			queue("mail.retry.300s", ttl(300_000), dlx(""), deadKey("mail")),
		))

		death := func(queue string, count int64, ago time.Duration) model.Table {
			return model.Table{
				"count": count, "reason": "expired", "queue": queue, "exchange": "", "routing-keys": []any{queue},
				"time": c.now().Add(-ago),
			}
		}

		b.put("mail.retry.60s", message.Message{
			RoutingKey: "mail.retry.60s", Body: []byte(`{"to":"guan@example.com"}`),
			Properties: message.Properties{MessageID: "mail-7", Timestamp: c.now().Add(-2 * time.Minute)},
			Headers: model.Table{
				"x-error": "TimeoutError: smtp gateway",
				"x-death": []any{death("mail.retry.60s", 1, 40*time.Second), death("mail.retry.10s", 1, 110*time.Second)},
			},
		})

		term := o.onQueue(t, "mail.retry.60s", width, height).await("≤ 1m", "LAST FAILURE")
		term.press(keyEnter).await("message 1 of 1", "10s ✓ › ▸1m ✓ › 5m", "next      mail  in ≤ 1m").golden()
		c.advance(21 * time.Second)
		term.press(keyDown).await("in ≤ 39s")
	})
}

// skew sets the broker's clock back by 192 s.
func skew(s *model.Snapshot) {
	s.Overview.ClockSkew = model.Some(-192 * time.Second)
	s.Overview.ClockWithin = 500 * time.Millisecond
}

// Unknown times, and different clocks, are never shown as negative times.
func TestHostileTimes(t *testing.T) {
	o, b, c := countedNow(map[string]int64{"buffer-queue": 6})
	stamped := func(at time.Time, expiration string, headers model.Table) message.Message {
		return message.Message{
			RoutingKey: "k", Body: []byte("x"), Headers: headers,
			Properties: message.Properties{Timestamp: at, Expiration: expiration},
		}
	}

	b.put(
		"buffer-queue",
		stamped(time.Unix(0, 0), "5000", nil),
		stamped(time.Unix(1<<62, 0), "1099511627776", nil),
		stamped(c.now().Add(5*time.Minute), "4000", nil),
		stamped(time.Unix(c.now().UnixMilli(), 0), "-5", nil),
		stamped(time.Time{}, "soon", model.Table{"timestamp_in_ms": int64(-1 << 63)}),
		stamped(time.Time{}, "4294967295", model.Table{"timestamp_in_ms": uint64(1<<64 - 1)}),
	)

	skew(o.Source.(*recorded).snapshot)

	term := o.onQueue(t, "buffer-queue").await("6 messages", "≤ 5s", "never", "the publisher's clock is at least")
	for range 6 {
		term.press(keyDown).settle()
		for _, bad := range []string{"-1", "-2", "-3", "-5m", "292"} {
			for _, line := range strings.Split(term.screen(), "\n") {
				assert.Lacks(t, line, "in "+bad)
				assert.Lacks(t, line, "≤ "+bad)
				assert.That(t, !strings.HasPrefix(strings.TrimSpace(line), bad), "a negative time: %q", line)
			}
		}
	}

	term.press("q", "4", "/", "clock", keyEnter).await("this machine's clock is 3m12s ahead of the broker's")
}

// A message that is in its retry buffer after it should have left has come back, even if no broker counts that.
func TestComeBack(t *testing.T) {
	o, b, c := countedNow(map[string]int64{"ucenter@user@retry": 3})
	for i := range 3 {
		m := message.Message{RoutingKey: "k", Properties: message.Properties{MessageID: "user-" + strconv.Itoa(i)}}
		b.put("ucenter@user@retry", m)
	}

	term := o.onQueue(t, "ucenter@user@retry")
	look := func(n int) {
		term.press(keyCtrlR).settle() // until then the screen may say that the previous look was 0s ago
		term.awaitThat("another look", func(screen string) bool {
			return b.peeked() == n && strings.Contains(screen, "read 0s ago")
		})
	}

	term.await("3 messages", "≤ 30s")
	c.advance(20 * time.Second)
	look(2)
	term.awaitGone("come back")
	c.advance(32 * time.Second)
	b.leave("ucenter@user@retry", 1, 2)
	look(3)
	term.await("a message has come back since it was seen here: id user-1")
	c.advance(32 * time.Second)
	look(4)
	term.await("id user-1, 2 times")
}

// The broker's clock is 192 s behind: ages and due times are by this machine's.
func TestTimesOfABrokerWithAnotherClock(t *testing.T) {
	o, b, c := countedNow(map[string]int64{"buffer-queue": 1})
	b.put("buffer-queue", message.Message{
		RoutingKey: "k", Properties: message.Properties{Expiration: "60000"},
		Headers: model.Table{"timestamp_in_ms": c.now().Add(-192*time.Second - 20*time.Second).UnixMilli()},
	})

	skew(o.Source.(*recorded).snapshot)
	term := o.onQueue(t, "buffer-queue")
	term.await("20s", "41s", "03:03:45  published", "next      worker-queue  in ≤ 41s")
}

// delayLine declares a buffer in which each message waits for its own TTL, and the worker behind it.
func delayLine(t *testing.T, channel *amqp.Channel, name string, arguments amqp.Table) (buffer string) {
	t.Helper()
	all := deadTo(dial.Queue(t, channel, name, nil))
	maps.Copy(all, arguments)
	return dial.Queue(t, channel, name+".delay", all)
}

// delayed returns a message with its own TTL and its publishing time, as the broker's interceptor writes it.
func delayed(id int, ttl time.Duration) amqp.Publishing {
	return amqp.Publishing{
		MessageId: strconv.Itoa(id), Expiration: strconv.FormatInt(ttl.Milliseconds(), 10),
		Headers: amqp.Table{"timestamp_in_ms": time.Now().UnixMilli()},
	}
}

// Five messages of 14, 8, 7, 6, 5 s: the screen says that the first blocks the others while it does, and how many are
// overdue; the flow and the list of flows show the look's results, without another one.
func TestBlockedOnARealBroker(t *testing.T) {
	o, _, channel := real(t)
	// A busy machine may look after one is overdue, when the look itself frees some, or not look while all are: its next
	// messages wait twice as long.
	for second, seen := time.Second, false; !seen; second *= 2 {
		must.That(t, second != 16*time.Second, "not all 4 messages were seen to be overdue")
		seen = blockedLine(t, o, channel, second)
	}
}

// blockedLine watches five messages the first of which blocks the others, with TTLs in units of second, until all have
// left, and reports whether it saw 4 overdue: never fewer than a moment before, and the same number in the words as in
// the histogram.
func blockedLine(t *testing.T, o Options, channel *amqp.Channel, second time.Duration) (seen bool) {
	t.Helper()
	name := "ui.blocked" + second.String()
	buffer := delayLine(t, channel, name, nil)
	first, most := 14*second, 0
	published := time.Now()
	dial.Publish(t, channel, buffer, delayed(0, first))
	for i := 1; i < 5; i++ {
		dial.Publish(t, channel, buffer, delayed(i, time.Duration(9-i)*second))
	}

	term := o.onFlow(t, name).await("head due: unknown").press("k").await("enter looks at them")
	term.press(keyEnter).await(buffer, " ago")
	if !strings.Contains(term.screen(), "1 (TTL "+model.ShortDuration(first)+") blocks 4 messages; it leaves in ") {
		return false
	}
	term.awaitThat("all are overdue, or nothing is blocked any more", func(screen string) bool {
		told := overdueInWords.FindStringSubmatch(screen)
		counted := overdueInHistogram.FindStringSubmatch(screen)
		if told == nil && counted == nil {
			return !strings.Contains(screen, "blocks")
		}
		must.That(t, told != nil, "words and histogram differ:\n%s", screen)
		must.That(t, counted != nil, "words and histogram differ:\n%s", screen)
		must.Equal(t, told[1], counted[1])
		now, _ := strconv.Atoi(told[1])
		must.That(t, now >= most, "%d were overdue, and then %d:\n%s", most, now, screen)
		most = now
		return most == 4
	})

	if got := depth.Of(t, channel, buffer); most < 4 || got != 5 && time.Since(published) >= first {
		return false
	} else if got != 5 {
		t.Errorf("%d messages wait while 4 are said to be overdue", got)
	}

	term.press("q").awaitThat("the flow shows it", func(screen string) bool {
		seen = strings.Contains(screen, "blocks 4") && strings.Contains(screen, "4 are overdue")
		return seen || time.Since(published) > first
	})

	term.press("q", "/", name, keyEnter).awaitThat("the list shows it", func(screen string) bool {
		listed := strings.Contains(screen, "blocked 4")
		seen = seen && (listed || time.Since(published) <= first)
		return listed || time.Since(published) > first
	})

	term.awaitGone("blocked 4")
	holds(t, channel, name, 5)

	return seen
}

var (
	overdueInWords     = regexp.MustCompile(`; (\d+) (?:is|are) overdue`)
	overdueInHistogram = regexp.MustCompile(`overdue (\d+), behind another`)
)

// Due times, known from the publishing times, agree with a consumer behind the buffer: no message comes 100 ms early,
// nor do all come a second late, in order and out of order, with their own TTLs and the queue's.
func TestDueOnARealBroker(t *testing.T) {
	o, node, channel := real(t)
	source := must.Get(mgmt.New(mgmt.Options{URL: node.API(), Timeout: must.Patience}))(t)
	for _, c := range []struct {
		name      string
		arguments amqp.Table
		ttl       func(i int) time.Duration
	}{
		{"own", nil, func(i int) time.Duration { return time.Duration(2000+20*i) * time.Millisecond }},
		{"mixed", nil, func(i int) time.Duration { return time.Duration(2000+(i*7919)%1500) * time.Millisecond }},
		{"queue", amqp.Table{"x-message-ttl": 2500}, func(int) time.Duration { return time.Hour }},
	} {
		t.Run(c.name, func(t *testing.T) {
			// A busy machine may look when some have left, or delay them all; but none comes early.
			for times, tenth := 1, time.Hour; tenth > time.Second; times *= 2 {
				must.That(t, times <= 8, "a tenth came %v late at least", tenth)
				worker := fmt.Sprintf("ui.due.%s%d", c.name, times)
				arguments := maps.Clone(c.arguments)
				if ttl, ok := arguments["x-message-ttl"].(int); ok {
					arguments["x-message-ttl"] = times * ttl
				}

				buffer := delayLine(t, channel, worker, arguments)
				ttl := func(i int) time.Duration { return time.Duration(times) * c.ttl(i) }
				late := lateness(t, o, source, channel, buffer, worker, ttl)
				if late == nil {
					continue
				}
				t.Logf("late by %v at least, %v in the middle, %v at most", late[0], late[len(late)/2], late[len(late)-1])
				first := late[0]
				assert.That(t, first >= -100*time.Millisecond, "the first came %v early", -first)
				tenth = late[len(late)/10]
			}
		})
	}
}

// lateness publishes messages into a buffer, looks at them, and returns by how much later than predicted each arrived,
// sorted; nil when some had left before the look.
func lateness(
	t *testing.T, o Options, source shell.Source, channel *amqp.Channel, buffer, worker string,
	ttl func(int) time.Duration,
) []time.Duration {
	t.Helper()
	const n = 100
	arrivals := must.Get(channel.Consume(worker, worker, true, false, false, false, nil))(t)
	var snapshot *model.Snapshot
	must.Await(t, "the broker, on a busy machine, gives the time of now", func() bool {
		snapshot = must.Get(source.Snapshot(t.Context()))(t)
		return snapshot.Overview.Clock() == model.Clock{}
	})
	bodies := many(n, func(i int) amqp.Publishing { return delayed(i, ttl(i)) }) // each with the time of now
	dial.Publish(t, channel, buffer, bodies...)
	topology := model.NewTopology(snapshot)
	ref := build.Ref(buffer)
	peeked := must.Get(o.Broker.Peek(t.Context(), peek.For(topology, ref, peek.Want{Limit: n})))(t)
	look := messages.PeekedMsg{Queue: ref, Peeked: peeked}
	must.Do(t, look.Read(topology, story.Sight{}, nil, messages.OfCause{}))

	waits := look.Waits
	if waits == nil || len(waits.Messages) != n {
		t.Logf("looked at %d messages", peeked.Messages.Len())
		must.Do(t, channel.Cancel(worker, false))
		return nil
	}

	var late []time.Duration
	for range n {
		d := receive(t, arrivals, "a message did not arrive")
		arrived := time.Now()
		i := must.Get(strconv.Atoi(d.MessageId))(t)
		must.Equal(t, waits.Messages[i].Leaves.Kind, story.DueExact, "message %d", i)
		late = append(late, arrived.Sub(waits.Messages[i].Leaves.Time))
	}

	must.Do(t, channel.Cancel(worker, false))
	slices.Sort(late)
	return late
}

// While a look holds the head of a blocked buffer, overdue messages behind it get to the head, and expire: a look lets
// them go on. The screen says so.
func TestALookLetsTheOverdueGo(t *testing.T) {
	o, _, channel := real(t)
	for _, kind := range []string{"classic", "quorum"} {
		t.Run(kind, func(t *testing.T) {
			worker := "ui.overdue." + kind
			buffer := delayLine(t, channel, worker, amqp.Table{"x-queue-type": kind})
			dial.Publish(t, channel, buffer, delayed(0, time.Minute), delayed(1, 500*time.Millisecond),
				delayed(2, 400*time.Millisecond))
			due := time.Now().Add(600 * time.Millisecond)
			term := o.open(t)
			term.awaitThat("both are overdue, and still there", func(string) bool {
				return time.Now().After(due) && depth.Of(t, channel, buffer) == 3 && depth.Of(t, channel, worker) == 0
			})
			term = o.onQueue(t, buffer)
			term.await("2 more were overdue behind these: they expired meanwhile", "1 message ")
			holds(t, channel, worker, 2)
			holds(t, channel, buffer, 1)
			term.lacks("blocks", "something is said to block still")
		})
	}
}

// A message without a time of its own arrives in an empty buffer, with counts a quarter of a second apart: its due time
// is known without "≤".
func TestSeenToArriveOnARealBroker(t *testing.T) {
	o, _, channel := real(t)
	buffer := delayLine(t, channel, "ui.seen", amqp.Table{"x-message-ttl": 8000})
	term := o.onFlow(t, "ui.seen").await("delayed 8s", "deliveries to consumers")
	due := regexp.MustCompile(`head due in (\d)s`)
	var began, published time.Time
	var first, left, sent int
	seen := func(screen string) bool { // a busy machine does not draw each second
		found := due.FindStringSubmatch(screen)
		if found != nil {
			left, _ = strconv.Atoi(found[1])
		}
		return found != nil
	}

	term.awaitThat("it is said when it leaves", func(screen string) bool { // the visible one may be old
		// A busy machine may not see one arrive: then the next one, once the counts have seen the buffer empty. One that
		// replaces another between two counts leaves the depth as it is, and is not seen either.
		counted := strings.Contains(screen, "│ 0 ready") && strings.Contains(screen, fmt.Sprintf("│ %d ready", sent))
		if !seen(screen) && counted && depth.Of(t, channel, "ui.seen") == sent {
			must.That(t, sent < 8, "of %d messages it was not said when they leave", sent)
			began, sent = time.Now(), sent+1
			dial.Publish(t, channel, buffer, amqp.Publishing{Body: []byte("x")})
			published = time.Now()
			return false
		}

		if !seen(screen) {
			return false
		}
		due := time.Now().Add(time.Duration(left) * time.Second)
		must.That(t, !due.Before(began.Add(8*time.Second-300*time.Millisecond)),
			"%v after it was published, it is said to be due in %ds", time.Since(began), left)
		return due.Before(published.Add(8*time.Second + 1500*time.Millisecond))
	})

	first = left
	term.awaitThat("it counts down", func(screen string) bool {
		return seen(screen) && left < first || depth.Of(t, channel, "ui.seen") == sent
	})
	holds(t, channel, "ui.seen", sent)
	waited := time.Since(began)
	assert.That(t, waited >= 7900*time.Millisecond, "it arrived after %v", waited)
}
