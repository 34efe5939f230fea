package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/target"
)

func canaryWant(from string, sample ...message.Message) ActionWant {
	return ActionWant{
		Operation: Replay, From: build.Ref(from), Sample: message.MessageList(sample), Planned: len(sample),
		Mode: target.ToQueue, Fixed: model.Address{RoutingKey: "w"},
		Mark: true, Journaled: true, Canary: 10 * time.Second,
	}
}

func TestCanaryPlans(t *testing.T) {
	used := func(n int64) message.Message {
		return message.Message{Redelivered: true, Headers: model.Table{"x-delivery-count": n}}
	}
	written := message.Message{Headers: model.Table{"x-delivery-count": int64(15)}} // by its publisher
	limit := func(n int64) build.Setting { return build.Argument("x-delivery-limit", n) }
	for _, test := range []struct {
		name, version string
		from          []build.Setting
		want          func(*ActionWant)
		refusal       string
		warning       string
		oneLook       bool
	}{
		{name: "classic", version: "3.10.8"},
		{
			name: "quorum 3.10 without a limit", version: "3.10.8", from: []build.Setting{build.OfType(model.Quorum)},
			oneLook: true, warning: "grows by up to 5",
		},
		{
			name: "quorum 3.10 with a small limit", version: "3.10.8",
			from: []build.Setting{build.OfType(model.Quorum), limit(5)}, oneLook: true, refusal: "delivery limit 5",
		},
		{
			name: "quorum 4.0, fresh", version: "4.0.5", from: []build.Setting{build.OfType(model.Quorum)}, oneLook: true,
			warning: "grows by up to 5",
		},
		{
			name: "quorum 4.0, nearly used up", version: "4.0.5", from: []build.Setting{build.OfType(model.Quorum)},
			oneLook: true, refusal: "one has used 15 of it",
			want: func(w *ActionWant) { w.Sample = message.MessageList{used(2), used(15)} },
		},
		{
			name: "quorum 4.0, some left", version: "4.0.5", from: []build.Setting{build.OfType(model.Quorum)}, oneLook: true,
			want: func(w *ActionWant) { w.Sample = message.MessageList{used(14), written} },
		},
		{
			name: "quorum 4.3", version: "4.3.6", from: []build.Setting{build.OfType(model.Quorum)},
			want: func(w *ActionWant) { w.Sample = message.MessageList{used(19)} },
		},
		{
			name: "nothing consumes", version: "3.10.8", want: func(w *ActionWant) { w.Fixed.RoutingKey = "idle" },
			warning: "the canary waits for one for at most 1m",
		},
		{
			name: "back to where they are", version: "3.10.8", want: func(w *ActionWant) { w.Fixed.RoutingKey = "f" },
			refusal: "the queue they come from",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			topology := build.TopologyOf(test.version, build.Queue("f", append(test.from, build.Ready(1))...),
				build.Queue("w", build.Consumers(1)), build.Queue("idle"))
			want := canaryWant("f", used(0))
			if test.want != nil {
				test.want(&want)
			}
			plan := New(topology, want)
			must.That(t, plan.Canary != nil && plan.Canary.OneLook == test.oneLook, "%+v", plan.Canary)
			assert.That(t, (test.refusal != "" || !plan.Refusal.Refused()) &&
				strings.Contains(plan.Refusal.Words(), test.refusal), "refusal %q, want %q", plan.Refusal.Words(), test.refusal)
			if !strings.Contains(strings.Join(warned(plan.Warnings), "\n"), test.warning) {
				t.Errorf("warnings %q, want %q", warned(plan.Warnings), test.warning)
			}
		})
	}
}

// TestCanaryIsHonestAboutRetries: what fails comes back after the retry buffers, and a canary that is shorter does not
// see it.
func TestCanaryIsHonestAboutRetries(t *testing.T) {
	topology := build.TopologyOf("3.10.8", build.ScenarioParts["pubsub"]...)
	want := ActionWant{
		Operation: Replay, From: build.Ref("ucenter@user@failed"),
		Sample: message.MessageList{{Exchange: "master.failed", RoutingKey: "ucenter@user"}}, Planned: 1,
		Canary: 10 * time.Second,
	}
	if got := strings.Join(warned(New(topology, want).Warnings), "\n"); !strings.Contains(got,
		"retry buffers for 30s or more") || !strings.Contains(got, "a canary of 10s does not see that") {
		t.Error(got)
	}
	want.Canary = 2 * time.Minute
	if got := strings.Join(warned(New(topology, want).Warnings), "\n"); strings.Contains(got, "does not see") {
		t.Error(got)
	}
}

// TestCanaryWaitsAsRetriesTake: a canary waits as long as the chosen messages waited in the retry buffers of their
// worker before they failed, at least once through them, and a margin.
func TestCanaryWaitsAsRetriesTake(t *testing.T) {
	topology := build.TopologyOf("3.10.8", build.ScenarioParts["pubsub"]...)
	died := func(queue, reason string, count int64) message.Death {
		return message.Death{Queue: queue, Reason: model.Reason(reason), Count: count}
	}
	for name, test := range map[string]struct {
		deaths []message.Death
		want   time.Duration
	}{
		"no deaths":    {nil, 35 * time.Second},
		"three rounds": {[]message.Death{died("ucenter@user@retry", "expired", 3)}, 99 * time.Second},
		"of another": {
			[]message.Death{died("elsewhere", "expired", 30), died("ucenter@user@retry", "rejected", 30)}, 35 * time.Second,
		},
		"for ever": {[]message.Death{died("ucenter@user@retry", "expired", 1<<60)}, time.Hour},
	} {
		got := New(topology, ActionWant{
			Operation: Replay, From: build.Ref("ucenter@user@failed"), Planned: 1, Canary: CanaryAuto,
			Sample: message.MessageList{{Exchange: "master.failed", RoutingKey: "ucenter@user", Deaths: test.deaths}},
		})
		assert.Equal(t, got.Canary.Wait, test.want, "%s", name)
		early := strings.Contains(strings.Join(warned(got.Warnings), "\n"), "does not see that")
		assert.Equal(t, early, name == "for ever", "%s", name)
	}
	plain := build.TopologyOf("3.10.8", build.Queue("f", build.Ready(1)), build.Queue("w", build.Consumers(1)))
	want := canaryWant("f", message.Message{})
	want.Canary = CanaryAuto
	assert.Equal(t, New(plain, want).Canary.Wait, 10*time.Second, "without retries")
}

func TestComeBacks(t *testing.T) {
	mark := func(name string) model.Table {
		return model.Table{message.ReplayHeader: model.Table{"count": int64(1), "replay": name}}
	}
	sent := []message.Publishing{
		{Properties: message.Properties{MessageID: "a"}, Body: []byte("one")},
		{Properties: message.Properties{MessageID: "b"}, Body: []byte("two")},
		{Body: []byte("three")},
		{},
	}
	wrapped := []byte(`{"Exception":"x","RoutingKey":"k","Exchange":"e","Queue":"w","DateTime":"2020-01-01T00:00:00Z","BasicProperties":{},"Message":"three"}`)
	for _, test := range []struct {
		name    string
		mark    string
		m       message.Message
		arrived bool
		want    int
	}{
		{"marked by this replay", "r1", message.Message{Headers: mark("r1")}, false, 1},
		{"marked by another", "r1", message.Message{
			Headers: mark("r0"), Body: []byte("one"),
			Properties: message.Properties{MessageID: "a"},
		}, true, 0},
		{"marked without a name", "r1", message.Message{
			Headers: model.Table{message.ReplayHeader: model.Table{"count": int64(1)}}, Body: []byte("one"),
		}, true, 0},
		{"an old mark on what was moved", "", message.Message{Headers: mark("r0"), Body: []byte("one")}, true, 1},
		{"the same id, arrived since", "r1", message.Message{
			Properties: message.Properties{MessageID: "b"},
			Body:       []byte("an error"),
		}, true, 1},
		{"the same id, there before", "r1", message.Message{Properties: message.Properties{MessageID: "b"}}, false, 0},
		{"the same body", "r1", message.Message{Body: []byte("three")}, true, 1},
		{"the same body, there before", "r1", message.Message{Body: []byte("three")}, false, 0},
		{"in an envelope", "r1", message.Message{
			Properties: message.Properties{Type: message.EasyNetQType},
			Body:       wrapped, BodyBytes: len(wrapped),
		}, true, 1},
		{"nothing in common", "r1", message.Message{
			Properties: message.Properties{MessageID: "z"},
			Body:       []byte("other"),
		}, true, 0},
		{"both empty", "r1", message.Message{}, true, 0},
	} {
		r := Released{Mark: test.mark}
		for i := range sent {
			r.Add(&sent[i])
		}
		pass := r.ComeBacks()
		pass.Look(&test.m, test.arrived)
		assert.Equal(t, pass.Count, test.want, "%s", test.name)
	}
	// Not more come back than were sent.
	r := Released{}
	r.Add(&sent[2])
	pass := r.ComeBacks()
	for range 3 {
		pass.Look(&message.Message{Body: []byte("three")}, true)
	}
	assert.Equal(t, pass.Count, 1, "of 1 came back")
}
