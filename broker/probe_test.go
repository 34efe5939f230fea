package broker_test

import (
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/trace"
)

// probed declares front -> buffer -> dlx -> worker, and plans a probe through it.
func probed(a *app, dlx string, ttl int64, want trace.ProbeWant) (trace.ProbePlan, model.QueueRef) {
	a.Helper()
	front := a.exchange("front", "direct", false, nil)
	if dlx != "" {
		dlx = a.exchange(dlx, "direct", false, nil)
	}
	worker := a.queue("worker", model.Classic)
	key := "work"
	if dlx == "" {
		key = worker.Name
	} else {
		a.bind(worker, dlx, key, nil)
	}
	arguments := []any{"x-dead-letter-exchange", dlx, "x-dead-letter-routing-key", key}
	if ttl > 0 {
		arguments = append(arguments, "x-message-ttl", ttl)
	}
	a.bind(a.queue("buffer", model.Classic, arguments...), front, "in", nil)
	return planProbe(a, worker, want), worker
}

func planProbe(a *app, worker model.QueueRef, want trace.ProbeWant) trace.ProbePlan {
	a.Helper()
	topology := topologyNow(a)
	flow, ok := topology.FlowOf(worker)
	if !ok {
		a.Fatal("there is no flow")
	}
	want.ID, want.Flow = trace.NewProbeID(), flow
	want.Consumers = func(ref model.QueueRef) model.Opt[int64] {
		counts := must.Get(client(a).Count(a.Context(), []model.QueueRef{ref}))(a)
		return counts[ref].Consumers
	}
	return decoded(a, trace.PlanProbe(topology, want))
}

func probe(a *app, plan trace.ProbePlan) trace.ProbeResult {
	a.Helper()
	if plan.Refusal.Refused() {
		a.Fatal(plan.Refusal.Words())
	}
	result := must.Get(client(a).Probe(a.Context(), plan, nil))(a)
	a.Log(result.String(), "-", result.Verdict)
	awaitNoTap(a)
	return result
}

// A probe enters by the front exchange, waits its TTL, arrives at the worker, and is taken out again; nothing else is
// touched.
func TestProbe(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	plan, worker := probed(a, "dlx", 500, trace.ProbeWant{})
	must.That(t, strings.HasSuffix(plan.Entrance.Exchange, ".front") && plan.Entrance.RoutingKey == "in" &&
		len(plan.Reaches) == 1 && plan.Reaches[0].Queue == worker, "%+v", plan)
	a.publish(worker, numbered(3)...)
	result := probe(a, plan)
	waited, known := result.Waited.Get()
	entered, _ := result.After(trace.ProbeEntered)
	reached, _ := result.After(trace.ProbeReached)
	if !result.Arrived || !known || waited+entered.After < 490*time.Millisecond ||
		entered.Where != plan.Buffer.Name || reached.Where != worker.Name || reached.After < waited || result.Left != "" {
		t.Errorf("%+v", result)
	}
	a.await(plan.Buffer, 0)
	got := ids(a.drain(worker, 3))
	assert.That(t, strings.Join(got, " ") == "1 2 3", "the worker's own messages are %v", got)
}

// Without a named DLX the probe is seen where it arrives.
func TestProbeThroughTheDefaultExchange(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	plan, worker := probed(a, "", 300, trace.ProbeWant{Direct: true})
	result := probe(a, plan)
	reached, ok := result.After(trace.ProbeReached)
	assert.That(t, ok && result.Arrived && reached.Where == worker.Name &&
		plan.Entrance == (model.Address{RoutingKey: plan.Buffer.Name}), "%+v", result)
	a.await(worker, 0)
}

// Where applications consume, a probe is sent only when that is wanted, also when they have come since it was planned.
func TestProbeOfAWorkerWithConsumers(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	plan, worker := probed(a, "dlx", 200, trace.ProbeWant{})
	got := must.Get(a.open().Consume(worker.Name, "", true, false, false, false, nil))(t)
	_, err := client(t).Probe(t.Context(), plan, nil)
	assert.That(t, err != nil && strings.Contains(err.Error(), "1 consumer now: nothing was sent"), "it says %v", err)
	refused := planProbe(a, worker, trace.ProbeWant{})
	assert.That(t, refused.NeedsConsumers() && strings.Contains(refused.Refusal.Words(), "worker (1 consumer)"),
		"it says %q", refused.Refusal.Words())
	a.await(plan.Buffer, 0)
	agreed := planProbe(a, worker, trace.ProbeWant{ToConsumers: true})
	result := probe(a, agreed)
	assert.That(t, result.Arrived, "%+v", result)
	select {
	case d := <-got:
		assert.That(t, d.MessageId == agreed.ID && d.Headers[trace.ProbeHeader].(amqp.Table)["id"] == agreed.ID,
			"the consumer got %+v", d)
	case <-time.After(patience):
		t.Error("the consumer got nothing")
	}
}

// A probe that does not arrive is told from where it was last, and taken out if it can be.
func TestProbeThatDoesNotArrive(t *testing.T) {
	t.Parallel()
	t.Run("held up", func(t *testing.T) {
		a := newApp(t)
		plan, worker := probed(a, "dlx", 0, trace.ProbeWant{Timeout: 1500 * time.Millisecond})
		a.publish(plan.Buffer, amqp.Publishing{MessageId: "long", Expiration: "60000"})
		result := probe(a, planProbe(a, worker, trace.ProbeWant{Timeout: 1500 * time.Millisecond}))
		assert.That(t, !result.Arrived && strings.Contains(result.Verdict, "where 2 messages wait") &&
			strings.Contains(result.Verdict, "behind others") && result.Left == plan.Buffer.Name, "%+v", result)
		a.await(plan.Buffer, 2) // nothing has passed the one in front
	})
	t.Run("a longer TTL than the wait", func(t *testing.T) {
		a := newApp(t)
		plan, _ := probed(a, "dlx", 60_000, trace.ProbeWant{Timeout: 300 * time.Millisecond})
		result := probe(a, plan)
		assert.That(t, !result.Arrived && strings.Contains(result.Verdict, "its TTL has not run out") && result.Left == "",
			"%+v", result)
		a.await(plan.Buffer, 0)
	})
	t.Run("lost at the DLX", func(t *testing.T) {
		a := newApp(t)
		plan, worker := probed(a, "dlx", 300, trace.ProbeWant{Timeout: 5 * time.Second})
		must.Do(t, a.channel.QueueUnbind(worker.Name, "work", plan.DLX, nil))
		// as if planned before
		plan.Tap = trace.PlanTap(topologyNow(t), trace.TapWant{VHost: "/", Exchanges: []string{plan.Entrance.Exchange}})
		plan.Tap.Exchanges = append(plan.Tap.Exchanges, plan.DLX)
		result := probe(a, plan)
		assert.That(t, !result.Arrived && strings.Contains(result.Verdict, "lost at"), "%+v", result)
	})
	t.Run("no queue takes it", func(t *testing.T) {
		a := newApp(t)
		plan, _ := probed(a, "dlx", 300, trace.ProbeWant{})
		plan.Entrance.RoutingKey = "nobody"
		_, err := client(t).Probe(t.Context(), plan, nil)
		assert.That(t, err != nil && strings.Contains(err.Error(), "not taken: no queue took it"), "it says %v", err)
	})
}
