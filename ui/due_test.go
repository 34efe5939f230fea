package ui

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// waiting fills buffer-queue with messages of these TTLs, in seconds, published now by the broker's clock.
func waiting(c *clock, seconds ...int) (Options, *recorded, *recordedBroker) {
	b := newRecordedBroker(c)
	for i, s := range seconds {
		m := message.Message{
			Exchange: "out.exchange", RoutingKey: "out.routing.key",
			Body:       []byte(`{"order_id":"A-00000` + strconv.Itoa(i) + `"}`),
			Properties: message.Properties{MessageID: "order-" + strconv.Itoa(i+1), Expiration: strconv.Itoa(1000 * s)},
			Headers:    model.Table{"timestamp_in_ms": c.now().UnixMilli()},
		}
		b.put("buffer-queue", m)
	}
	source := &recorded{snapshot: countedAt(c,
		later(busyBroker(), 0, map[string]int64{"buffer-queue": int64(len(seconds))}))}
	return Options{Source: source, Broker: b, Title: "prod", Now: c.now, Interval: time.Hour}, source, b
}

func countedAt(c *clock, s *model.Snapshot) *model.Snapshot {
	for i := range s.Queues {
		s.Queues[i].CountedAt = c.now()
	}
	return s
}

// What blocks is on the screen while it lasts, counts down without another look, and is gone with its cause.
func TestBlockedWhileItLasts(t *testing.T) {
	atSizes(t, func(t *testing.T, width, height int) {
		c := newClock()
		o, _, b := waiting(c, 5, 4, 3, 2, 1)
		term := onQueue(t, o, "buffer-queue", width, height)
		term.await("message 1 (TTL 5s) blocks 4 messages; it leaves in 5.0s")
		c.advance(2500 * time.Millisecond)
		term.press(keyDown)
		term.await("2.5s !", "overdue 2, behind another", "it leaves in 2.5s; 2 are overdue")
		term.golden()
		c.advance(2 * time.Second)
		term.press(keyDown)
		term.await("overdue 4")
		c.advance(time.Second)
		term.press(keyDown)
		term.await("left")
		term.awaitGone("blocks")
		assert.Equal(t, b.peeked(), 1, "it was looked")
	})
}

func TestNothingBlocked(t *testing.T) {
	c := newClock()
	o, _, _ := waiting(c, 1, 2, 3, 4, 5)
	term := onQueue(t, o, "buffer-queue", 120, 36)
	term.await("1.0s", "5.0s")
	for range 6 {
		screen := term.screen()
		must.That(t, !strings.Contains(screen, "blocks") && !strings.Contains(screen, "behind"), "%v", screen)
		c.advance(900 * time.Millisecond)
		term.press(keyDown)
		term.settle()
	}
}

// What a look told stays known: the picture of the flow and the list of flows tell it too, as it is by then, until a
// newer count contradicts it.
func TestALookIsRemembered(t *testing.T) {
	atSizes(t, func(t *testing.T, width, height int) {
		c := newClock()
		o, source, b := waiting(c, 50, 4, 3, 2, 1)
		term := onFlow(t, o, "worker-queue", width, height)
		term.await("head due: unknown")
		term.press("k")
		term.await("each message has a TTL of its own, enter looks at them")
		term.press(keyEnter)
		term.await("50s", "blocks 4 messages")
		term.press("q")
		c.advance(3500 * time.Millisecond)
		term.press("k")
		term.await("47s, blocks 3", "message 1 (TTL 50s) blocks 4 messages; it leaves in 47s; 3 are overdue")
		term.golden()
		term.press("q", keyDown)
		if width >= 120 {
			term.await("blocked 3")
		}
		c.advance(20 * time.Second)
		// somebody took three
		source.tell(countedAt(c, later(busyBroker(), 24*time.Second, map[string]int64{"buffer-queue": 2})))
		term.press(keyCtrlR)
		term.awaitThat("the new count", func(string) bool { return source.times() == 2 })
		term.settle()
		term.awaitGone("blocked")
		assert.Equal(t, b.peeked(), 1, "it was looked")
	})
}

// A retry ladder, a message of an absurd age, and one that goes round for ever.
func TestStoryOfARetry(t *testing.T) {
	atSizes(t, func(t *testing.T, width, height int) {
		c := newClock()
		s := recording(
			queue("mail", consumers(2)), queue("mail.failed", ready(1)),
			queue("mail.retry.10s", ttl(10_000), dlx(""), deadKey("mail")),
			queue("mail.retry.60s", ttl(60_000), dlx(""), deadKey("mail"), ready(1)),
			queue("mail.retry.300s", ttl(300_000), dlx(""), deadKey("mail")),
		)
		death := func(queue string, count int64, ago time.Duration) model.Table {
			return model.Table{
				"count": count, "reason": "expired", "queue": queue, "exchange": "", "routing-keys": []any{queue},
				"time": c.now().Add(-ago),
			}
		}
		b := newRecordedBroker(c)
		b.put("mail.retry.60s", message.Message{
			RoutingKey: "mail.retry.60s", Body: []byte(`{"to":"guan@example.com"}`),
			Properties: message.Properties{MessageID: "mail-7", Timestamp: c.now().Add(-2 * time.Minute)},
			Headers: model.Table{
				"x-error": "TimeoutError: smtp gateway",
				"x-death": []any{death("mail.retry.60s", 1, 40*time.Second), death("mail.retry.10s", 1, 110*time.Second)},
			},
		})
		o := Options{Source: &recorded{snapshot: s}, Broker: b, Title: "prod", Now: c.now}
		term := onQueue(t, o, "mail.retry.60s", width, height)
		term.await("≤ 1m", "LAST FAILURE")
		term.press(keyEnter)
		term.await("message 1 of 1", "10s ✓ › ▸1m ✓ › 5m", "next      mail  in ≤ 1m")
		term.golden()
		c.advance(21 * time.Second)
		term.press(keyDown)
		term.await("in ≤ 39s")
	})
}

// Times that no clock tells, and clocks that differ, are never shown as negative times.
func TestHostileTimes(t *testing.T) {
	c := newClock()
	b := newRecordedBroker(c)
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
	s := countedAt(c, later(busyBroker(), 0, map[string]int64{"buffer-queue": 6}))
	s.Overview.ClockSkew, s.Overview.ClockWithin = model.Some(-192*time.Second), 500*time.Millisecond
	term := onQueue(t, Options{Source: &recorded{snapshot: s}, Broker: b, Now: c.now}, "buffer-queue", 120, 36)
	term.await("6 messages", "≤ 5s", "never", "the publisher's clock is at least")
	for range 6 {
		term.press(keyDown)
		term.settle()
		for _, bad := range []string{"-1", "-2", "-3", "-5m", "292"} {
			for _, line := range strings.Split(term.screen(), "\n") {
				assert.That(t, !strings.Contains(line, "in "+bad) && !strings.Contains(line, "≤ "+bad) &&
					!strings.HasPrefix(strings.TrimSpace(line), bad), "a negative time: %q", line)
			}
		}
	}
	term.press("q", "4", "/", "clock", keyEnter)
	term.await("this machine's clock is 3m12s ahead of the broker's")
}

// A message that is in its retry buffer again after it was to have left it has come back, also where no broker counts
// that.
func TestComeBack(t *testing.T) {
	c := newClock()
	b := newRecordedBroker(c)
	for i := range 3 {
		b.put("ucenter@user@retry", message.Message{
			RoutingKey: "k",
			Properties: message.Properties{MessageID: "user-" + strconv.Itoa(i)},
		})
	}
	s := countedAt(c, later(busyBroker(), 0, map[string]int64{"ucenter@user@retry": 3}))
	term := onQueue(t, Options{Source: &recorded{snapshot: s}, Broker: b, Now: c.now}, "ucenter@user@retry", 120, 36)
	look := func(n int) {
		term.press(keyCtrlR)
		term.settle() // until then the screen may say of the look before that it was 0s ago
		term.awaitThat("another look", func(screen string) bool {
			return b.peeked() == n &&
				strings.Contains(screen, "read 0s ago")
		})
	}
	term.await("3 messages", "≤ 30s")
	c.advance(20 * time.Second)
	look(2)
	term.awaitGone("come back")
	c.advance(32 * time.Second)
	b.mu.Lock()
	b.messages[ref("ucenter@user@retry")] = b.messages[ref("ucenter@user@retry")][1:2]
	b.mu.Unlock()
	look(3)
	term.await("a message has come back since it was seen here: id user-1")
	c.advance(32 * time.Second)
	look(4)
	term.await("id user-1, 2 times")
}

// The broker's clock is 192 s behind: ages and due times are by this machine's.
func TestTimesOfABrokerWithAnotherClock(t *testing.T) {
	c := newClock()
	b := newRecordedBroker(c)
	b.put("buffer-queue", message.Message{
		RoutingKey: "k", Properties: message.Properties{Expiration: "60000"},
		Headers: model.Table{"timestamp_in_ms": c.now().Add(-192*time.Second - 20*time.Second).UnixMilli()},
	})
	s := countedAt(c, later(busyBroker(), 0, map[string]int64{"buffer-queue": 1}))
	s.Overview.ClockSkew, s.Overview.ClockWithin = model.Some(-192*time.Second), 500*time.Millisecond
	term := onQueue(t, Options{Source: &recorded{snapshot: s}, Broker: b, Now: c.now}, "buffer-queue", 120, 36)
	term.await("20s", "41s", "03:03:45  published", "next      worker-queue  in ≤ 41s")
}
