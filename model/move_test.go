package model

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// deadMessage is a message with a history, and with everything that a move must not take along.
func deadMessage() Message {
	m := Message{
		Exchange: "dead", RoutingKey: "k", Body: []byte("a body"), BodyBytes: 6,
		Properties: Properties{MessageID: "m1", Expiration: "50", UserID: "somebody", DeliveryMode: 2},
		Headers: Table{
			"x-death":             []any{Table{"queue": "w", "reason": "rejected", "count": int64(3), "exchange": "", "routing-keys": []any{"w"}}},
			"x-first-death-queue": "w", "x-last-death-queue": "w", "x-delivery-count": int64(2), "x-acquired-count": int64(2),
			"CC": []any{"z"}, "BCC": []any{"y"}, "own": "kept", ReplayHeader: Table{"count": int64(1)},
		},
	}
	m.Deaths, m.DeathsError = ParseDeaths(m.Headers)
	m.Fingerprint = FingerprintOf(&m)
	return m
}

func moveWant(to string, sample ...Message) ActionWant {
	return ActionWant{
		Operation: Move, From: ref("f"), Sample: MessageList(sample), Planned: len(sample), Mode: ToQueue, Fixed: Address{RoutingKey: to},
		User: "guest", Mark: true, Journaled: true,
	}
}

func TestMoveKeepsTheDeathHistoryWhereNothingCountsIt(t *testing.T) {
	topology := topologyOf("3.10.8", queue("f", ready(1)), queue("parking", consumers(0)), queue("counter", consumers(1)), queue("worker", dlx("")), queue("ruled", policy("p", Table{"dead-letter-exchange": "x"})))
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
			plan := topology.Plan(moveWant(test.to, m))
			if plan.Refusal != "" {
				t.Fatal(plan.Refusal)
			}
			if diff := cmp.Diff(test.strips, plan.Strips); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.keeps, plan.Keeps); diff != "" {
				t.Error(diff)
			}
			if len(plan.Adds()) > 0 || plan.To() != "queue:"+test.to || plan.Ways[0].Address != (Address{"", test.to}) {
				t.Errorf("adds %v, goes to %s by %v", plan.Adds(), plan.To(), plan.Ways)
			}
			p, err := plan.Publishing(&m)
			if err != nil {
				t.Fatal(err)
			}
			want := Table{"own": "kept", ReplayHeader: m.Headers[ReplayHeader]}
			for _, key := range test.keeps {
				want[key] = m.Headers[key]
			}
			if diff := cmp.Diff(want, p.Headers); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(Properties{MessageID: "m1", DeliveryMode: 2}, p.Properties); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMoveIsRefused(t *testing.T) {
	exclusive := func(q *Queue) { q.Exclusive, q.OwnedByAnother = true, true }
	topology := topologyOf("4.0.5", queue("f", ready(1)), queue("s", ofType(Stream)), queue("e", exclusive), queue("ok"))
	for _, test := range []struct{ to, want string }{
		{"nope", "there is no queue nope"},
		{"", "needs a queue"},
		{"f", "the queue they are in"},
		{"s", "is a stream"},
		{"e", "is exclusive"},
		{"ok", ""},
	} {
		plan := topology.Plan(moveWant(test.to, deadMessage()))
		if test.want == "" && plan.Refusal != "" || !strings.Contains(plan.Refusal, test.want) || strings.Contains(plan.Refusal, "\n") {
			t.Errorf("%q: %q, want %q", test.to, plan.Refusal, test.want)
		}
	}
	want := moveWant("ok", deadMessage())
	want.From = ref("s")
	if plan := topology.Plan(want); !strings.Contains(plan.Refusal, "stream") {
		t.Errorf("out of a stream: %q", plan.Refusal)
	}
}

func TestMoveTargets(t *testing.T) {
	parts := append([]part{queue("a"), queue("Z"), queue("s", ofType(Stream))}, scenarioParts["pubsub"]...)
	var names []string
	for _, q := range topologyOf("3.10.8", parts...).MoveTargets(ref("ucenter@user@failed")) {
		names = append(names, q.Name)
	}
	if got := strings.Join(names, " "); got != "ucenter@user ucenter@user@retry a user-monitor Z" {
		t.Error(got)
	}
}

// TestMoveOpensNoEnvelope: what is moved lies in the other queue as it lay here.
func TestMoveOpensNoEnvelope(t *testing.T) {
	body := []byte(`{"Exception":"x","RoutingKey":"k","Exchange":"e","Queue":"w","DateTime":"2020-01-01T00:00:00Z","BasicProperties":{},"Message":"{}"}`)
	m := Message{Properties: Properties{Type: easyNetQType}, Body: body, BodyBytes: len(body)}
	if _, ok := m.Envelope(); !ok {
		t.Fatal("it is no envelope")
	}
	plan := topologyOf("3.10.8", queue("f", ready(1)), queue("parking")).Plan(moveWant("parking", m))
	p, err := plan.Publishing(&m)
	if err != nil || string(p.Body) != string(body) || p.Properties.Type != easyNetQType || len(plan.Warnings) > 0 {
		t.Errorf("%v %q %v %q", err, p.Body, p.Properties, plan.Warnings)
	}
}

func TestChangesAreTold(t *testing.T) {
	topology := topologyOf("3.10.8", queue("f", ready(1)), queue("parking"), queue("worker", dlx("")))
	for _, test := range []struct {
		name string
		want ActionWant
		told string
	}{
		{"a drop", ActionWant{Operation: Drop, From: ref("f")}, ""},
		{"a move", moveWant("parking"), "routing key parking instead of k; without expiration 50; without user_id somebody; without BCC, CC, x-acquired-count, x-delivery-count"},
		{
			"a replay",
			ActionWant{Operation: Replay, From: ref("f"), Mode: ToQueue, Fixed: Address{RoutingKey: "worker"}, User: "somebody", Mark: true},
			"routing key worker instead of k; without expiration 50; without BCC, CC, x-acquired-count, x-death, x-delivery-count, x-first-death-queue, x-last-death-queue; changed dlxtop-replay",
		},
	} {
		m := deadMessage()
		test.want.Sample = MessageList{m}
		plan := topology.Plan(test.want)
		var p *Publishing
		if test.want.Operation.Publishes() {
			made, err := plan.Publishing(&m)
			if err != nil {
				t.Fatal(err)
			}
			p = &made
		}
		r := Record{Operation: test.want.Operation, User: test.want.User}
		e := NewEntry(&m, p, false)
		if got := strings.Join(r.Changes(&e), "; "); got != test.told {
			t.Errorf("%s: %s", test.name, got)
		}
	}
}
