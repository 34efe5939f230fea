package model

import (
	"strings"
	"testing"
	"time"
)

func TestPlanProbe(t *testing.T) {
	topology := topologyOf("4.0.5",
		exchange("direct", "front"), exchange("fanout", "all"), exchange("direct", "dlx"),
		queue("buffer", dlx("dlx"), deadKey("w"), ttl(5000), ready(3)), bind("front", "in", "buffer"), bind("all", "", "buffer"), bind("all", "", "worker"),
		queue("own.delay", dlx("dlx"), deadKey("w"), ready(3)), bind("all", "", "own.delay"),
		queue("lossy", dlx("dlx"), deadKey("nobody"), ttl(1000)),
		queue("worker"), bind("dlx", "w", "worker"),
		queue("busy", consumers(2)), queue("before", dlx(""), deadKey("busy"), ttl(100)),
		queue("stream", ofType(Stream)), queue("to.stream", dlx(""), deadKey("stream"), ttl(100)),
	)
	flow := func(worker string) *Flow {
		f, ok := topology.FlowOf(ref(worker))
		if !ok {
			t.Fatalf("there is no flow of %s", worker)
		}
		return f
	}
	p := topology.PlanProbe(ProbeWant{ID: "x", Flow: flow("worker"), Buffer: ref("buffer")})
	if p.Refusal != "" || p.Entrance != (Address{"front", "in"}) || p.TTL.Or(0) != 5*time.Second || p.Timeout != 15*time.Second || len(p.Removals) != 2 || !p.Taps("dlx") || !p.Taps("front") {
		t.Errorf("%+v", p)
	}
	for _, r := range p.Removals {
		if r.Operation != Drop || r.Selection.MessageID != "x" {
			t.Errorf("%+v", r)
		}
	}
	// A fanout leads to the worker too, so the way in is the default exchange; the queue has no TTL, so the probe brings one.
	p = topology.PlanProbe(ProbeWant{ID: "x", Flow: flow("worker"), Buffer: ref("own.delay"), Timeout: time.Minute})
	if p.Entrance != (Address{"", "own.delay"}) || p.Expiration != "1000" || p.TTL.Or(0) != time.Second || p.Timeout != time.Minute || p.Taps("") || !strings.Contains(strings.Join(p.Warnings, "; "), "3 messages are in front of it") {
		t.Errorf("%+v", p)
	}
	if m := p.Publishing(); m.Properties.Expiration != "1000" || !p.IsProbe(&Message{Headers: m.Headers}) || p.IsProbe(&Message{Headers: Table{ProbeHeader: "x"}}) {
		t.Errorf("%+v", m)
	}
	for _, c := range []struct {
		worker string
		want   ProbeWant
		says   string
		agreed bool // refused only for the consumers
	}{
		{"busy", ProbeWant{}, "busy (2 consumers)", true},
		{"busy", ProbeWant{ToConsumers: true}, "", false},
		{"worker", ProbeWant{Consumers: func(QueueRef) Opt[int64] { return Unknown[int64]() }}, "worker (consumers unknown)", true},
		{"worker", ProbeWant{Buffer: ref("worker")}, "no buffer of this flow", false},
		{"stream", ProbeWant{}, "could not be taken out of stream again", false},
	} {
		c.want.ID, c.want.Flow = "x", flow(c.worker)
		p := topology.PlanProbe(c.want)
		if (c.says == "") != (p.Refusal == "") || !strings.Contains(p.Refusal, c.says) || p.NeedsConsumers() != c.agreed {
			t.Errorf("%s: %q, only for its consumers %v", c.worker, p.Refusal, p.NeedsConsumers())
		}
	}
}

func TestProbeInWords(t *testing.T) {
	r := ProbeResult{Waited: Some(5003 * time.Millisecond), Should: Some(5 * time.Second), Steps: []ProbeStep{
		{ProbeEntered, "buffer-queue", 12 * time.Millisecond, ""}, {ProbeExpired, "dlx", 5005 * time.Millisecond, ""}, {ProbeReached, "worker\x1b", 5011 * time.Millisecond, ""}, {ProbeRemoved, "worker", 5011 * time.Millisecond, ""},
	}}
	if got := r.String(); got != `entered buffer-queue 12ms, expired after 5.003s against 5s, worker\x1b 5.011s` {
		t.Error(got)
	}
}
