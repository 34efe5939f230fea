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
	"github.com/dlxtop/dlxtop/internal/depth"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/trace"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// tapped is a flow whose DLX routes what the test says, and the options to look at it.
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

// probing are options to look at a flow whose probe does what the test says.
func probing(probe func(plan trace.ProbePlan, tell func(trace.ProbeStep)) (trace.ProbeResult, error)) Options {
	before, _ := movedBroker()
	o, b, _ := showing(before)
	o.Interval, b.probe = time.Hour, probe
	return o
}

func arrives(plan trace.ProbePlan, tell func(trace.ProbeStep)) (trace.ProbeResult, error) {
	steps := []trace.ProbeStep{
		{Stage: trace.ProbeEntered, Where: plan.Buffer.Name, After: 12 * time.Millisecond},
		{Stage: trace.ProbeExpired, Where: plan.DLX, After: 5005 * time.Millisecond},
		{
			Stage: trace.ProbeReached, Where: plan.Reaches[0].Queue.Name, After: 5005 * time.Millisecond,
			Note: "handed to its consumers",
		},
	}
	for _, s := range steps {
		tell(s)
	}
	return trace.ProbeResult{
		Steps: steps, Waited: model.Some(5003 * time.Millisecond), Should: plan.TTL, Arrived: true,
		Verdict: "the probe arrived",
	}, nil
}

func (o Options) openProbe(t *testing.T, worker string, size ...int) *terminal {
	t.Helper()
	term := o.onFlow(t, worker, size...).await("MOVED  ").press(":").await("what waits, moves")
	term.press("probe", keyEnter).await("Send a probe through " + worker)
	return term
}

func TestProbeGolden(t *testing.T) {
	atSizes(t, func(t *testing.T, width, height int) {
		var sent int
		term := probing(func(plan trace.ProbePlan, tell func(trace.ProbeStep)) (trace.ProbeResult, error) {
			sent++
			return arrives(plan, tell)
		}).openProbe(t, "worker-queue", width, height)
		term.await("not sent: applications", "i sends it anyway")
		t.Run("asks", func(t *testing.T) { term.t = t; term.golden() })
		term.t = t
		term.press(keyEnter).settle()
		must.That(t, sent <= 0, "the consumers got a probe that they should not get")
		term.press("i").await("they will get it", "enter send the probe")
		term.press(keyEnter).await("the probe arrived", "after 5.003s, TTL 5s", "once more")
	})
}

func TestProbeIsAskedForOnProduction(t *testing.T) {
	o := probing(arrives)
	o.Production = true
	term := o.openProbe(t, "worker-queue")
	term.press("i").await("Production: to send 1 probe into buffer-queue, type 1:")
	term.press(keyEnter).await("Nothing was changed: first type 1.").press("1").await("enter send the probe")
	term.press(keyEnter).await("the probe arrived").press(keyEsc).await("MOVED  ")

	o = probing(func(trace.ProbePlan, func(trace.ProbeStep)) (trace.ProbeResult, error) {
		return trace.ProbeResult{}, fmt.Errorf("the probe was not taken: \x1bno queue took it")
	})
	term = o.openProbe(t, "worker-queue", 80, 24).press("i").await("they will get it")
	term.press(keyEnter).await("✗ nothing was sent: the probe was not taken")

	o.ReadOnly = true
	term = o.openProbe(t, "worker-queue", 80, 24).await("read-only:").press(":")
	term.press("probe nobody", keyEnter).await("there is no flow nobody")
}

// On a real broker: the probe goes its way, and nothing is left of it.
func TestProbeOnARealBroker(t *testing.T) {
	o, _, channel := real(t)
	exchanges(t, channel, "direct", "probe.dlx")
	arguments := waitingFor(300, "w")
	arguments["x-dead-letter-exchange"] = "probe.dlx"
	dial.Queue(t, channel, "probe.buffer", arguments)
	dial.Queue(t, channel, "probe.worker", nil)
	bindIn(t, channel, "probe.dlx", "w", "probe.worker")
	term := o.openProbe(t, "probe.worker")
	term.await("through (default), key probe.buffer", "probe.worker, no consumers: it is taken out again",
		"enter send the probe")
	term.agree("send the probe", "the probe arrived").await("the probe arrived", "TTL 300ms", "and taken out again")
	assert.Equal(t, depth.Of(t, channel, "probe.worker")+depth.Of(t, channel, "probe.buffer"), 0, "messages are left")
}

// The selected buffer stays selected when others come or go, and agreeing that consumers get a probe only applies to
// the displayed ones.
func TestProbeIsForWhatWasRead(t *testing.T) {
	sent := make(chan trace.ProbePlan, 1)
	o := probing(func(plan trace.ProbePlan, tell func(trace.ProbeStep)) (trace.ProbeResult, error) {
		sent <- plan
		return arrives(plan, tell)
	})
	broker := func(consuming int64, buffers ...string) *model.Snapshot {
		parts := []build.Part{exchange("direct", "dlx"), queue("worker", consumers(consuming)), bind("dlx", "w", "worker")}
		for i, name := range buffers {
			parts = append(parts, queue(name, ttl(int64(1000*(i+1))), dlx("dlx"), deadKey("w")))
		}
		return recording(parts...)
	}
	source, c := o.Source.(*recorded), newClock()
	o.Now = c.now
	source.tell(broker(1, "wait.a", "wait.b", "wait.c"))
	term := o.openProbe(t, "worker").await("enters    wait.a", "other buffer, 1 of 3")
	term.press(keyTab).await("enters    wait.b", "i sends it anyway: 1 consumer may get it")
	source.tell(broker(1, "wait.b", "wait.c"))
	term.press(keyCtrlR).await("enters    wait.b", "other buffer, 1 of 2")
	term.press("i").await("they will get it", "enter send the probe")
	source.tell(broker(4, "wait.b", "wait.c"))
	term.press(keyCtrlR).await("this has changed while you looked at it", "i sends it anyway: 4 consumers may get it")
	term.press("i").await("they will get it")
	term.press(keyEnter) // it cannot have been read yet
	term.settle()
	c.advance(shell.ChangeGuard)
	must.That(t, len(sent) == 0, "it was sent before the queues that it reaches could be read")
	source.tell(broker(4, "wait.c"))
	term.press(keyCtrlR).await("not sent: wait.b is not a buffer of this flow", "tab other buffer")
	source.tell(broker(4, "wait.b", "wait.c"))
	term.press(keyCtrlR).await("enters    wait.b", "i sends it anyway")
	c.advance(shell.ChangeGuard)
	term.press("i").await("they will get it").press(keyEnter).await("the probe arrived")
	p := <-sent
	assert.That(t, p.Buffer.Name == "wait.b" && p.Consumed == 4, "sent %+v", p)
}
