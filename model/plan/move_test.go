package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/target"
)

// deadMessage is a message with a history, and with everything that a move must not take along.
func deadMessage() message.Message {
	m := message.Message{
		Exchange: "dead", RoutingKey: "k", Body: []byte("a body"), BodyBytes: 6,
		Properties: message.Properties{MessageID: "m1", Expiration: "50", UserID: "somebody", DeliveryMode: 2},
		Headers: model.Table{
			"x-death": []any{model.Table{
				"queue": "w", "reason": "rejected", "count": int64(3),
				"exchange": "", "routing-keys": []any{"w"},
			}},
			"x-first-death-queue": "w", "x-last-death-queue": "w", "x-delivery-count": int64(2), "x-acquired-count": int64(2),
			"CC": []any{"z"}, "BCC": []any{"y"}, "own": "kept", message.ReplayHeader: model.Table{"count": int64(1)},
		},
	}
	m.Deaths, m.DeathsError = message.ParseDeaths(m.Headers)
	m.Fingerprint = message.FingerprintOf(&m)
	return m
}

func moveWant(to string, sample ...message.Message) ActionWant {
	return ActionWant{
		Operation: Move, From: build.Ref("f"), Sample: message.MessageList(sample), Planned: len(sample),
		Mode:  target.ToQueue,
		Fixed: model.Address{RoutingKey: to},
		User:  "guest", Mark: true, Journaled: true,
	}
}

func TestMoveKeepsTheDeathHistoryWhereNothingCountsIt(t *testing.T) {
	topology := build.TopologyOf("3.10.8", build.Queue("f", build.Ready(1)), build.Queue("parking", build.Consumers(0)),
		build.Queue("counter", build.Consumers(1)), build.Queue("worker", build.DLX("")),
		build.Queue("ruled", build.Policy("p", model.Table{"dead-letter-exchange": "x"})))
	always := []string{"BCC", "CC", "expiration", "user_id", "x-acquired-count", "x-delivery-count"}
	deaths := []string{"x-death", "x-first-death-queue", "x-last-death-queue"}
	for _, test := range []struct {
		to            string
		strips, keeps []string
	}{
		{"parking", always, deaths},
		{"counter", append(always[:5:5], "x-death", "x-delivery-count", "x-first-death-queue", "x-last-death-queue"), nil},
		{"worker", append(always[:5:5], "x-death", "x-delivery-count", "x-first-death-queue", "x-last-death-queue"), nil},
		{"ruled", append(always[:5:5], "x-death", "x-delivery-count", "x-first-death-queue", "x-last-death-queue"), nil},
	} {
		t.Run(test.to, func(t *testing.T) {
			m := deadMessage()
			plan := newRun(topology, moveWant(test.to, m))
			must.That(t, !plan.Refusal.Refused(), "%v", plan.Refusal.Words())
			assert.NoDiff(t, cmp.Diff(test.strips, plan.Strips))
			assert.NoDiff(t, cmp.Diff(test.keeps, plan.Keeps))
			if len(plan.Adds()) > 0 || plan.To() != "queue:"+test.to ||
				plan.Ways[0].Address != (model.Address{Exchange: "", RoutingKey: test.to}) {
				t.Errorf("adds %v, goes to %s by %v", plan.Adds(), plan.To(), plan.Ways)
			}
			p := must.Get(plan.Publishing(&m))(t)
			want := model.Table{"own": "kept", message.ReplayHeader: m.Headers[message.ReplayHeader]}
			for _, key := range test.keeps {
				want[key] = m.Headers[key]
			}
			assert.NoDiff(t, cmp.Diff(want, p.Headers))
			assert.NoDiff(t, cmp.Diff(message.Properties{MessageID: "m1", DeliveryMode: 2}, p.Properties))
		})
	}
}

func TestMoveIsRefused(t *testing.T) {
	exclusive := func(q *model.Queue) { q.Exclusive, q.OwnedByAnother = true, true }
	topology := build.TopologyOf("4.0.5", build.Queue("f", build.Ready(1)),
		build.Queue("s", build.OfType(model.Stream)), build.Queue("e", exclusive), build.Queue("ok"))
	for _, test := range []struct{ to, want string }{
		{"nope", "there is no queue nope"},
		{"", "needs a queue"},
		{"f", "the queue they are in"},
		{"s", "is a stream"},
		{"e", "is exclusive"},
		{"ok", ""},
	} {
		plan := newRun(topology, moveWant(test.to, deadMessage()))
		assert.That(t, (test.want != "" || !plan.Refusal.Refused()) && strings.Contains(plan.Refusal.Words(), test.want) &&
			!strings.Contains(plan.Refusal.Words(), "\n"), "%q: %q, want %q", test.to, plan.Refusal.Words(), test.want)
	}
	want := moveWant("ok", deadMessage())
	want.From = build.Ref("s")
	if plan := newRun(topology, want); !strings.Contains(plan.Refusal.Words(), "stream") {
		t.Errorf("out of a stream: %q", plan.Refusal.Words())
	}
}

func TestMoveTargets(t *testing.T) {
	parts := append([]build.Part{build.Queue("a"), build.Queue("Z"), build.Queue("s", build.OfType(model.Stream))},
		build.ScenarioParts["pubsub"]...)
	var names []string
	for _, q := range MoveTargets(build.TopologyOf("3.10.8", parts...), build.Ref("ucenter@user@failed")) {
		names = append(names, q.Name)
	}
	assert.Equal(t, strings.Join(names, " "), "ucenter@user ucenter@user@retry a user-monitor Z")
}

// TestMoveOpensNoEnvelope: what is moved lies in the other queue as it lay here.
func TestMoveOpensNoEnvelope(t *testing.T) {
	body := []byte(`{"Exception":"x","RoutingKey":"k","Exchange":"e","Queue":"w","DateTime":"2020-01-01T00:00:00Z","BasicProperties":{},"Message":"{}"}`)
	m := message.Message{Properties: message.Properties{Type: message.EasyNetQType}, Body: body, BodyBytes: len(body)}
	_, ok := m.Envelope()
	must.That(t, ok, "it is no envelope")
	plan := newRun(build.TopologyOf("3.10.8", build.Queue("f", build.Ready(1)), build.Queue("parking")),
		moveWant("parking", m))
	p, err := plan.Publishing(&m)
	if err != nil || string(p.Body) != string(body) || p.Properties.Type != message.EasyNetQType ||
		len(plan.Warnings) > 0 {
		t.Errorf("%v %q %v %q", err, p.Body, p.Properties, warned(plan.Warnings))
	}
}

func TestChangesAreTold(t *testing.T) {
	topology := build.TopologyOf("3.10.8", build.Queue("f", build.Ready(1)), build.Queue("parking"),
		build.Queue("worker", build.DLX("")))
	for _, test := range []struct {
		name string
		want ActionWant
		told string
	}{
		{"a drop", ActionWant{Operation: Drop, From: build.Ref("f")}, ""},
		{"a move", moveWant("parking"), "routing key parking instead of k; without expiration 50; without user_id " +
			"somebody; without BCC, CC, x-acquired-count, x-delivery-count"},
		{
			"a replay",
			ActionWant{
				Operation: Replay, From: build.Ref("f"), Mode: target.ToQueue,
				Fixed: model.Address{RoutingKey: "worker"}, User: "somebody", Mark: true,
			},
			"routing key worker instead of k; without expiration 50; without BCC, CC, x-acquired-count, x-death, " +
				"x-delivery-count, x-first-death-queue, x-last-death-queue; changed dlxtop-replay",
		},
	} {
		m := deadMessage()
		test.want.Sample = message.MessageList{m}
		plan := newRun(topology, test.want)
		var p *message.Publishing
		if test.want.Operation.Publishes() {
			made := must.Get(plan.Publishing(&m))(t)
			p = &made
		}
		r := Record{Operation: test.want.Operation, User: test.want.User}
		e := NewEntry(&m, p, false)
		assert.Equal(t, strings.Join(r.Changes(&e), "; "), test.told, "%s", test.name)
	}
}
