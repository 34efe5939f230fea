package trace

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
)

func TestPlanProbe(t *testing.T) {
	topology := build.TopologyOf("4.0.5",
		build.Exchange("direct", "front"), build.Exchange("fanout", "all"), build.Exchange("direct", "dlx"),
		build.Queue("buffer", build.DLX("dlx"), build.DeadKey("w"), build.TTL(5000), build.Ready(3)),
		build.Bind("front", "in", "buffer"), build.Bind("all", "", "buffer"), build.Bind("all", "", "worker"),
		build.Queue("own.delay", build.DLX("dlx"), build.DeadKey("w"), build.Ready(3)), build.Bind("all", "", "own.delay"),
		build.Queue("lossy", build.DLX("dlx"), build.DeadKey("nobody"), build.TTL(1000)),
		build.Queue("worker"), build.Bind("dlx", "w", "worker"),
		build.Queue("busy", build.Consumers(2)), build.Queue("before", build.DLX(""), build.DeadKey("busy"), build.TTL(100)),
		build.Queue("stream", build.OfType(model.Stream)), build.Queue("to.stream",
			build.DLX(""), build.DeadKey("stream"), build.TTL(100)),
	)
	flow := func(worker string) *model.Flow {
		f, ok := topology.FlowOf(build.Ref(worker))
		must.That(t, ok, "there is no flow of %s", worker)
		return f
	}
	p := PlanProbe(topology, ProbeWant{ID: "x", Flow: flow("worker"), Buffer: build.Ref("buffer")})
	if p.Refusal.Refused() || p.Entrance != (model.Address{Exchange: "front", RoutingKey: "in"}) ||
		p.TTL.Or(0) != 5*time.Second || p.Timeout != 15*time.Second || len(p.Removals) != 2 || !p.Taps("dlx") ||
		!p.Taps("front") {
		t.Errorf("%+v", p)
	}
	for _, r := range p.Removals {
		assert.That(t, r.Operation == plan.Drop && r.Selection.MessageID == "x", "%+v", r)
	}
	// A fanout leads to the worker too, so the way in is the default exchange; the queue has no TTL, so the probe
	// brings one.
	p = PlanProbe(topology, ProbeWant{ID: "x", Flow: flow("worker"), Buffer: build.Ref("own.delay"), Timeout: time.Minute})
	if p.Entrance != (model.Address{Exchange: "", RoutingKey: "own.delay"}) || p.Expiration != "1000" ||
		p.TTL.Or(0) != time.Second || p.Timeout != time.Minute || p.Taps("") ||
		!slices.ContainsFunc(p.Warnings, func(w Warning) bool { return w.Kind == heldUp && w.Messages == 3 }) {
		t.Errorf("%+v", p)
	}
	m := p.Publishing()
	assert.That(t, m.Properties.Expiration == "1000" && p.IsProbe(&message.Message{Headers: m.Headers}) &&
		!p.IsProbe(&message.Message{Headers: model.Table{ProbeHeader: "x"}}), "%+v", m)
	for _, c := range []struct {
		worker string
		want   ProbeWant
		says   string
		agreed bool // refused only for the consumers
	}{
		{"busy", ProbeWant{}, "busy (2 consumers)", true},
		{"busy", ProbeWant{ToConsumers: true}, "", false},
		{
			"worker",
			ProbeWant{Consumers: func(model.QueueRef) model.Opt[int64] { return model.Unknown[int64]() }},
			"worker (consumers unknown)", true,
		},
		{"worker", ProbeWant{Buffer: build.Ref("worker")}, "not a buffer of this flow", false},
		{"stream", ProbeWant{}, "could not be taken out of stream again", false},
	} {
		c.want.ID, c.want.Flow = "x", flow(c.worker)
		p := PlanProbe(topology, c.want)
		if (c.says != "") != p.Refusal.Refused() || !strings.Contains(p.Refusal.Words(), c.says) ||
			p.NeedsConsumers() != c.agreed {
			t.Errorf("%s: %q, only for its consumers %v", c.worker, p.Refusal.Words(), p.NeedsConsumers())
		}
	}
}

func TestProbeInWords(t *testing.T) {
	r := ProbeResult{Waited: model.Some(5003 * time.Millisecond), Should: model.Some(5 * time.Second), Steps: []ProbeStep{
		{ProbeEntered, "buffer-queue", 12 * time.Millisecond, ""},
		{ProbeExpired, "dlx", 5005 * time.Millisecond, ""},
		{ProbeReached, "worker\x1b", 5011 * time.Millisecond, ""},
		{ProbeRemoved, "worker", 5011 * time.Millisecond, ""},
	}}
	assert.Equal(t, r.String(), `entered buffer-queue 12ms, expired after 5.003s (TTL 5s), worker\x1b 5.011s`)
}
