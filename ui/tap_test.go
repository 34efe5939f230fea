package ui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/trace"
)

// tapped returns a flow whose DLX routes what the test says, and the options to look at it.
func tapped(
	tap func(ctx context.Context, see func(*message.Message, time.Time), tell func(trace.TapCounts)) error,
) Options {
	before, _ := movedBroker()
	o, b, _ := showing(before)
	o.Interval, b.tap = time.Hour, tap
	return o
}

// passing are messages that enter through out.exchange and leave through dlx.exchange, the first one with a TTL that
// holds the others up.
func passing(see func(*message.Message, time.Time)) {
	at := time.Date(2026, 3, 1, 3, 4, 5, 0, time.Local)
	for i, expiration := range []string{"3000", "1000", "2000"} {
		see(&message.Message{
			Exchange: "out.exchange", RoutingKey: "o", Body: []byte(`{"order":1}`), BodyBytes: 11,
			Properties: message.Properties{MessageID: fmt.Sprintf("order-%d", i+1), Expiration: expiration},
		}, at.Add(time.Duration(i)*time.Second/10))
	}

	for i, expiration := range []string{"3000", "1000", "2000"} {
		see(&message.Message{
			Exchange: "dlx.exchange", RoutingKey: "k", Body: []byte(`{"order":1}`), BodyBytes: 11,
			Properties: message.Properties{MessageID: fmt.Sprintf("order-%d", i+1)},
			Deaths: []message.Death{{
				Queue: "buffer-queue", Reason: model.Expired, Count: 1,
				OriginalExpiration: expiration,
			}},
		}, at.Add(3003*time.Millisecond))
	}

	see(&message.Message{
		Exchange: "dlx.exchange", RoutingKey: "k\x1b[2J", Properties: message.Properties{MessageID: "\x1b]0;x\x07"},
		DeathsError: "x-death is a text, not an array of tables",
	}, at.Add(4*time.Second))
}

func TestTapGolden(t *testing.T) {
	atSizes(t, func(t *testing.T, width, height int) {
		works := tapped(func(ctx context.Context, see func(*message.Message, time.Time), tell func(trace.TapCounts)) error {
			passing(see)
			tell(trace.TapCounts{Seen: 7, Missed: 2})
			<-ctx.Done()
			return nil
		})

		t.Run("asks", func(t *testing.T) {
			term := works.onFlow(t, "worker-queue", width, height).await("25 ready")
			term.press("t").await("Tap dlx.exchange", "what enters by out.exchange", "enter").golden()
		})

		t.Run("shows", func(t *testing.T) {
			term := works.onFlow(t, "worker-queue", width, height).await("25 ready").press("t").await("Tap dlx.exchange")
			term.press(keyEnter).await("7 seen", "2 messages missed", "published")
			term.press(keyDown).await("800ms of it").golden()
		})
	})
}

func TestTapKeys(t *testing.T) {
	ended := make(chan struct{})
	more := make(chan struct{})
	o := tapped(func(ctx context.Context, see func(*message.Message, time.Time), tell func(trace.TapCounts)) error {
		defer close(ended)
		passing(see)
		tell(trace.TapCounts{Seen: 7})
		<-more
		see(&message.Message{Exchange: "dlx.exchange", Properties: message.Properties{MessageID: "the newest"}}, time.Now())
		tell(trace.TapCounts{Seen: 8})
		<-ctx.Done()
		return nil
	})

	term := o.onFlow(t, "worker-queue").await("25 ready")
	term.press("t").await("1 of 2", "what enters by out.exchange").press(keyEsc).await("MOVED  ") // back on the flow
	term.press("t").await("1 of 2", "what enters by out.exchange").press(keyTab).await("2 of 2")
	term.awaitGone("what enters by").press("*").await("mandatory", "only messages that queues take")
	term.press("*", keyTab, keyEnter).await("buffer-queue", "7 seen", "none missed")
	term.press("/", "order-2", keyEnter).await("2 of 7").press(keyEsc).await("all 7").press("p").await("list paused")
	close(more)
	term.await("8 seen")
	assert.That(t, strings.Contains(term.screen(), "all 7"), "the list goes on while it is paused")
	term.press("p").await("all 8")

	select {
	case <-ended:
		t.Error("the tap has ended")
	default:
	}

	term.press(keyEsc)
	receive(t, ended, "the screen is gone, and the tap goes on")
	term.await("MOVED  ")
}

func TestTapThatEnds(t *testing.T) {
	o := tapped(func(context.Context, func(*message.Message, time.Time), func(trace.TapCounts)) error {
		return errors.New("the connection to the broker was lost: \x1bEOF")
	})
	term := o.onFlow(t, "worker-queue", 80, 24).await("25 ready").press("t").await("Tap dlx.exchange")
	term.press(keyEnter).await("ended", "✗ the connection to the broker was lost", "enter tap again")
	term.press(":", "tap amq.none", keyEnter).await("there is no exchange amq.none")
	term.press(keyEsc).awaitGone("there is no exchange amq.none")
	term.press(":", "tap out.exchange", keyEnter).await("Tap out.exchange")

	o.ReadOnly = true
	term = o.onFlow(t, "worker-queue", 80, 24).await("25 ready").press("t").await("not possible: read-only:")
	term.press(keyEnter).await("Tap dlx.exchange")
}

// On a real broker: what passes is on the screen, and when that is closed nothing is left.
func TestTapOnARealBroker(t *testing.T) {
	o, _, channel := real(t)
	exchanges(t, channel, "direct", "tap.front", "tap.dlx")
	dial.Queue(t, channel, "tap.buffer", waitingThrough(100, "tap.dlx"))
	dial.Queue(t, channel, "tap.worker", nil)
	bindIn(t, channel, "tap.front", "w", "tap.buffer")
	bindIn(t, channel, "tap.dlx", "w", "tap.worker")
	term := o.onFlow(t, "tap.worker").await("tap.buffer", "ready").press("t").await("Tap tap.dlx")
	term.press(keyEnter).await("nothing has passed yet")
	must.Do(t, channel.Publish("tap.front", "w", false, false, amqp.Publishing{MessageId: "one"}))
	term.await("published", "expired", "2 seen", "none missed")

	taps := func() bool {
		queues := must.Get(o.Source.Snapshot(t.Context()))(t).Queues
		return slices.ContainsFunc(queues, func(q model.Queue) bool { return strings.HasPrefix(q.Name, model.TapPrefix) })
	}

	assert.That(t, taps(), "there is no queue of the tap")
	term.press("1") // it closes what was opened on this tab
	must.Await(t, "the queue of the tap is gone", func() bool { return !taps() })
}
