package ui

import (
	"fmt"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/depth"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/trace"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// probing are options to look at a flow whose probe does what the test says.
func probing(probe func(plan trace.ProbePlan, tell func(trace.ProbeStep)) (trace.ProbeResult, error)) Options {
	before, _ := movedBroker()
	c := newClock()
	b := newRecordedBroker(c)
	b.probe = probe
	return Options{Source: &recorded{snapshot: before}, Broker: b, Now: c.now, Interval: time.Hour}
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

func openProbe(t *testing.T, o Options, worker string, width, height int) *terminal {
	t.Helper()
	term := onFlow(t, o, worker, width, height)
	term.await("MOVED  ")
	term.press(":")
	term.await("what waits, moves")
	term.press("probe", keyEnter)
	term.await("Send a probe through " + worker)
	return term
}

func TestProbeGolden(t *testing.T) {
	atSizes(t, func(t *testing.T, width, height int) {
		var sent int
		term := openProbe(t, probing(func(plan trace.ProbePlan, tell func(trace.ProbeStep)) (trace.ProbeResult, error) {
			sent++
			return arrives(plan, tell)
		}), "worker-queue", width, height)
		term.await("not sent: applications", "i sends it anyway")
		t.Run("asks", func(t *testing.T) { term.t = t; term.golden() })
		term.t = t
		term.press(keyEnter)
		term.settle()
		must.That(t, sent <= 0, "the consumers got a probe that nobody wanted them to get")
		term.press("i")
		term.await("they will get it", "enter send the probe")
		term.press(keyEnter)
		term.await("the probe arrived", "after 5.003s, TTL 5s", "once more")
	})
}

func TestProbeIsAskedForOnProduction(t *testing.T) {
	o := probing(arrives)
	o.Production = true
	term := openProbe(t, o, "worker-queue", 120, 36)
	term.press("i")
	term.await("Production: to send 1 probe into buffer-queue, type 1:")
	term.press(keyEnter)
	term.await("Nothing was changed: first type 1.")
	term.press("1")
	term.await("enter send the probe")
	term.press(keyEnter)
	term.await("the probe arrived")
	term.press(keyEsc)
	term.await("MOVED  ")

	o = probing(func(trace.ProbePlan, func(trace.ProbeStep)) (trace.ProbeResult, error) {
		return trace.ProbeResult{}, fmt.Errorf("the probe was not taken: \x1bno queue took it")
	})
	term = openProbe(t, o, "worker-queue", 80, 24)
	term.press("i")
	term.await("they will get it")
	term.press(keyEnter)
	term.await("✗ nothing was sent: the probe was not taken")

	o.ReadOnly = true
	term = openProbe(t, o, "worker-queue", 80, 24)
	term.await("read-only:")
	term.press(":")
	term.press("probe nobody", keyEnter)
	term.await("there is no flow nobody")
}

// On a real broker: the probe goes its way, and nothing is left of it.
func TestProbeOnARealBroker(t *testing.T) {
	o, _, channel := real(t)
	must.Do(t, channel.ExchangeDeclare("probe.dlx", "direct", true, false, false, false, nil))
	t.Cleanup(func() { _ = channel.ExchangeDelete("probe.dlx", false, false) })
	declare(t, channel, "probe.buffer", amqp.Table{
		"x-dead-letter-exchange":    "probe.dlx",
		"x-dead-letter-routing-key": "w", "x-message-ttl": int64(300),
	})
	declare(t, channel, "probe.worker", nil)
	must.Do(t, channel.QueueBind("probe.worker", "w", "probe.dlx", false, nil))
	term := openProbe(t, o, "probe.worker", 120, 36)
	term.await("through (default), key probe.buffer", "probe.worker, no consumers: it is taken out again",
		"enter send the probe")
	term.agree("send the probe", "the probe arrived")
	term.await("the probe arrived", "TTL 300ms", "and taken out again")
	assert.Equal(t, depth.Of(t, channel, "probe.worker")+depth.Of(t, channel, "probe.buffer"), 0, "messages are left")
}

// TestProbeIsForWhatWasRead: the buffer that was chosen stays chosen when others come or go, and who agreed that
// consumers get a probe agreed to those that were shown.
func TestProbeIsForWhatWasRead(t *testing.T) {
	sent := make(chan trace.ProbePlan, 1)
	o := probing(func(plan trace.ProbePlan, tell func(trace.ProbeStep)) (trace.ProbeResult, error) {
		sent <- plan
		return arrives(plan, tell)
	})
	broker := func(consuming int64, buffers ...string) *model.Snapshot {
		parts := []told{exchange("direct", "dlx"), queue("worker", consumers(consuming)), bind("dlx", "w", "worker")}
		for i, name := range buffers {
			parts = append(parts, queue(name, ttl(int64(1000*(i+1))), dlx("dlx"), deadKey("w")))
		}
		return recording(parts...)
	}
	source, c := o.Source.(*recorded), newClock()
	o.Now = c.now
	source.tell(broker(1, "wait.a", "wait.b", "wait.c"))
	term := openProbe(t, o, "worker", 120, 36)
	term.await("enters    wait.a", "other buffer, 1 of 3")
	term.press(keyTab)
	term.await("enters    wait.b", "i sends it anyway: 1 consumer may get it")
	source.tell(broker(1, "wait.b", "wait.c"))
	term.press(keyCtrlR)
	term.await("enters    wait.b", "other buffer, 1 of 2")
	term.press("i")
	term.await("they will get it", "enter send the probe")
	source.tell(broker(4, "wait.b", "wait.c"))
	term.press(keyCtrlR)
	term.await("this has changed while you looked at it", "i sends it anyway: 4 consumers may get it")
	term.press("i")
	term.await("they will get it")
	term.press(keyEnter) // nobody can have read it yet
	term.settle()
	c.advance(shell.ChangeGuard)
	must.That(t, len(sent) == 0, "it was sent before anybody could have read whom it reaches")
	source.tell(broker(4, "wait.c"))
	term.press(keyCtrlR)
	term.await("not sent: wait.b is not a buffer of this flow", "tab other buffer")
	source.tell(broker(4, "wait.b", "wait.c"))
	term.press(keyCtrlR)
	term.await("enters    wait.b", "i sends it anyway")
	c.advance(shell.ChangeGuard)
	term.press("i")
	term.await("they will get it")
	term.press(keyEnter)
	term.await("the probe arrived")
	p := <-sent
	assert.That(t, p.Buffer.Name == "wait.b" && p.Consumed == 4, "sent %+v", p)
}
