package model

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReplayGoesTheNarrowestWay(t *testing.T) {
	// a failed message of the pubsub system: first published to master with user.create, which reaches user-monitor too
	failed := Message{
		Exchange: "master.failed", RoutingKey: "ucenter@user", Headers: Table{"x-death": []any{}, "x-orig-routing-key": "user.create", "CC": []any{"z"}},
		Properties: Properties{Expiration: "50", UserID: "somebody", MessageID: "m1"},
		Deaths:     []Death{{Queue: "ucenter@user@retry", Reason: Expired, Count: 3, Exchange: "master.retry", RoutingKeys: []string{"ucenter@user"}}},
	}
	plan := topologyOf("3.10.8", scenarioParts["pubsub"]...).Plan(ActionWant{
		Operation: Replay, From: ref("ucenter@user@failed"), Sample: MessageList{failed}, Planned: 1, Mode: ToAuto, User: "guest",
	})
	if plan.Refusal != "" {
		t.Fatal(plan.Refusal)
	}
	if want := (Address{"master", "ucenter@user"}); plan.Ways[0].Address != want {
		t.Errorf("goes to %v because of %s, want %v", plan.Ways[0].Address, plan.Ways[0].Why, want)
	}
	if diff := cmp.Diff([]Recipient{{ref("ucenter@user"), Some[int64](1), 1}}, plan.Recipients, cmp.AllowUnexported(Opt[int64]{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"CC", "expiration", "user_id", "x-death"}, plan.Strips); diff != "" {
		t.Error(diff)
	}
	got, err := plan.Publishing(&failed)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Publishing{
		Address: Address{"master", "ucenter@user"}, Headers: Table{"x-orig-routing-key": "user.create"}, Properties: Properties{MessageID: "m1"}, Reaches: []QueueRef{ref("ucenter@user")},
	}, got); diff != "" {
		t.Error(diff)
	}
}

func TestReplayToItsOriginWhenThatIsNarrow(t *testing.T) {
	topology := topologyOf("3.10.8",
		exchange("direct", "orders"), queue("orders", consumers(1), dlx("dead")), bind("orders", "created", "orders"),
		exchange("fanout", "dead"), queue("orders.dlq"), bind("dead", "", "orders.dlq"))
	m := Message{Exchange: "dead", RoutingKey: "created", Deaths: []Death{{Queue: "orders", Reason: Rejected, Count: 1, Exchange: "orders", RoutingKeys: []string{"created"}}}}
	plan := topology.Plan(ActionWant{Operation: Replay, From: ref("orders.dlq"), Sample: MessageList{m}, Planned: 1})
	if want := (Address{"orders", "created"}); len(plan.Ways) != 1 || plan.Ways[0].Address != want {
		t.Fatalf("goes to %+v, want %v", plan.Ways, want)
	}
}

func TestReplayIsRefused(t *testing.T) {
	parts := append([]part{queue("nobody's"), queue("alone"), exchange("direct", "x"), exchange("x-delayed-message", "later", "x-delayed-type", "fanout"), bind("later", "", "alone")}, scenarioParts["pubsub"]...)
	topology := topologyOf("3.10.8", parts...)
	tests := []struct {
		name string
		from string
		to   string
		want string
	}{
		{"no flow, no target", "nobody's", "auto", "belongs to no flow"},
		{"a missing exchange", "alone", "exchange:nope/k", "does not exist"},
		{"nothing is bound", "alone", "exchange:x/k", "no queue is bound"},
		{"a missing queue", "alone", "queue:nope", "no queue is bound"},
		{"an exchange that delays", "ucenter@user@failed", "exchange:later/", "delays"},
		{"a queue that vanished", "gone", "queue:alone", "no queue gone"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			mode, fixed, err := ParseTarget(test.to)
			if err != nil {
				t.Fatal(err)
			}
			plan := topology.Plan(ActionWant{Operation: Replay, From: ref(test.from), Sample: MessageList{{}}, Planned: 1, Mode: mode, Fixed: fixed})
			if !strings.Contains(plan.Refusal, test.want) {
				t.Errorf("refusal %q, want something with %q", plan.Refusal, test.want)
			}
		})
	}
}

func TestPublishingRefusesWhomThePlanDoesNotName(t *testing.T) {
	topology := topologyOf("3.10.8", scenarioParts["pubsub"]...)
	plan := topology.Plan(ActionWant{Operation: Replay, From: ref("ucenter@user@failed"), Sample: MessageList{{Exchange: "master.failed", RoutingKey: "ucenter@user"}}, Planned: 1})
	plan.Recipients = nil
	if _, err := plan.Publishing(&Message{}); err == nil || !strings.Contains(err.Error(), "ucenter@user") {
		t.Errorf("%v", err)
	}
}

func TestReplayWarns(t *testing.T) {
	bounded := topologyOf("3.10.8", queue("f"), queue("w", ready(5), argument("x-max-length", int64(6))))
	tests := []struct {
		name     string
		topology *Topology
		from, to string
		want     string
	}{
		{"a full drop-head target", bounded, "f", "queue:w", "push its oldest messages out"},
		{"nobody consumes", bounded, "f", "queue:w", "nothing consumes w"},
		{"the queue they come from", bounded, "f", "queue:f", "they go back to its end"},
		{"a buffer receives it", topologyOf("3.10.8", scenarioParts["pubsub"]...), "ucenter@user@failed", "queue:ucenter@user@retry", "wait there until they expire, after 30s (argument)"},
		{"only somebody else receives it", topologyOf("3.10.8", scenarioParts["pubsub"]...), "ucenter@user@failed", "queue:ucenter@user@retry", "ucenter@user@retry would receive them, and is not"},
		{"somebody else receives it", topologyOf("3.10.8", scenarioParts["pubsub"]...), "ucenter@user@failed", "exchange:master/user.create", "user-monitor would receive them too"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			mode, fixed, err := ParseTarget(test.to)
			if err != nil {
				t.Fatal(err)
			}
			plan := test.topology.Plan(ActionWant{Operation: Replay, From: ref(test.from), Planned: 2, Mode: mode, Fixed: fixed})
			if !strings.Contains(strings.Join(plan.Warnings, "\n"), test.want) {
				t.Errorf("warnings %q, want something with %q", plan.Warnings, test.want)
			}
		})
	}
}

func TestParseTarget(t *testing.T) {
	tests := []struct {
		to   string
		mode TargetMode
		want Address
	}{
		{"", ToAuto, Address{}},
		{"auto", ToAuto, Address{}},
		{"origin", ToOrigin, Address{}},
		{"queue:a:b/c", ToQueue, Address{"", "a:b/c"}},
		{"exchange:x/k/l", ToExchange, Address{"x", "k/l"}},
		{"exchange:x", ToExchange, Address{"x", ""}},
	}
	for _, test := range tests {
		mode, address, err := ParseTarget(test.to)
		if err != nil || mode != test.mode || address != test.want {
			t.Errorf("%q: %v %v %v", test.to, mode, address, err)
		}
	}
	for _, bad := range []string{"queue:", "somewhere", "exchange:"} {
		if _, _, err := ParseTarget(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
