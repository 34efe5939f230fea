package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
)

func TestReplayGoesTheNarrowestWay(t *testing.T) {
	// a failed message of the pubsub system: first published to master with user.create, which reaches user-monitor too
	failed := message.Message{
		Exchange: "master.failed", RoutingKey: "ucenter@user",
		Headers:    model.Table{"x-death": []any{}, "x-orig-routing-key": "user.create", "CC": []any{"z"}},
		Properties: message.Properties{Expiration: "50", UserID: "somebody", MessageID: "m1"},
		Deaths: []message.Death{{
			Queue: "ucenter@user@retry", Reason: model.Expired, Count: 3,
			Exchange: "master.retry", RoutingKeys: []string{"ucenter@user"},
		}},
	}
	plan := newRun(build.TopologyOf("3.10.8", build.ScenarioParts["pubsub"]...), ActionWant{
		Operation: Replay, From: build.Ref("ucenter@user@failed"), Sample: message.MessageList{failed}, Planned: 1,
		Mode: ToAuto, User: "guest",
	})
	if plan.Refusal.Refused() {
		t.Fatal(plan.Refusal.Words())
	}
	if want := (model.Address{Exchange: "master", RoutingKey: "ucenter@user"}); plan.Ways[0].Address != want {
		t.Errorf("goes to %v because of %s, want %v", plan.Ways[0].Address, plan.Ways[0].Why, want)
	}
	if diff := cmp.Diff([]Recipient{{Queue: build.Ref("ucenter@user"), Consumers: model.Some[int64](1), Messages: 1}},
		plan.Recipients, cmp.AllowUnexported(model.Opt[int64]{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"CC", "expiration", "user_id", "x-death"}, plan.Strips); diff != "" {
		t.Error(diff)
	}
	got, err := plan.Publishing(&failed)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(message.Publishing{
		Address: model.Address{Exchange: "master", RoutingKey: "ucenter@user"},
		Headers: model.Table{"x-orig-routing-key": "user.create"}, Properties: message.Properties{MessageID: "m1"},
		Reaches: []model.QueueRef{build.Ref("ucenter@user")},
	}, got); diff != "" {
		t.Error(diff)
	}
}

func TestReplayToItsOriginWhenThatIsNarrow(t *testing.T) {
	topology := build.TopologyOf("3.10.8",
		build.Exchange("direct", "orders"), build.Queue("orders", build.Consumers(1), build.DLX("dead")),
		build.Bind("orders", "created", "orders"),
		build.Exchange("fanout", "dead"), build.Queue("orders.dlq"), build.Bind("dead", "", "orders.dlq"))
	m := message.Message{
		Exchange: "dead", RoutingKey: "created",
		Deaths: []message.Death{{
			Queue: "orders", Reason: model.Rejected, Count: 1, Exchange: "orders",
			RoutingKeys: []string{"created"},
		}},
	}
	plan := newRun(topology, ActionWant{
		Operation: Replay, From: build.Ref("orders.dlq"), Sample: message.MessageList{m},
		Planned: 1,
	})
	if want := (model.Address{Exchange: "orders", RoutingKey: "created"}); len(plan.Ways) != 1 ||
		plan.Ways[0].Address != want {
		t.Fatalf("goes to %+v, want %v", plan.Ways, want)
	}
}

func TestReplayIsRefused(t *testing.T) {
	parts := append([]build.Part{
		build.Queue("nobody's"), build.Queue("alone"), build.Exchange("direct", "x"),
		build.Exchange("x-delayed-message", "later", "x-delayed-type", "fanout"), build.Bind("later", "", "alone"),
	},
		build.ScenarioParts["pubsub"]...)
	topology := build.TopologyOf("3.10.8", parts...)
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
			plan := newRun(topology, ActionWant{
				Operation: Replay, From: build.Ref(test.from),
				Sample: message.MessageList{{}}, Planned: 1, Mode: mode, Fixed: fixed,
			})
			if !strings.Contains(plan.Refusal.Words(), test.want) {
				t.Errorf("refusal %q, want something with %q", plan.Refusal.Words(), test.want)
			}
		})
	}
}

func TestPublishingRefusesWhomThePlanDoesNotName(t *testing.T) {
	topology := build.TopologyOf("3.10.8", build.ScenarioParts["pubsub"]...)
	plan := newRun(topology, ActionWant{
		Operation: Replay, From: build.Ref("ucenter@user@failed"),
		Sample: message.MessageList{{Exchange: "master.failed", RoutingKey: "ucenter@user"}}, Planned: 1,
	})
	plan.Recipients = nil
	if _, err := plan.Publishing(&message.Message{}); err == nil || !strings.Contains(err.Error(), "ucenter@user") {
		t.Errorf("%v", err)
	}
}

func TestReplayWarns(t *testing.T) {
	bounded := build.TopologyOf("3.10.8", build.Queue("f"), build.Queue("w", build.Ready(5),
		build.Argument("x-max-length", int64(6)),
		build.Argument("x-overflow", "reject-publish")))
	tests := []struct {
		name     string
		topology *model.Topology
		from, to string
		want     string
	}{
		{
			"a full target that refuses", bounded, "f", "queue:w",
			"w refuses messages when it is full (reject-publish): refused ones stay where they are",
		},
		{"nobody consumes", bounded, "f", "queue:w", "w has no consumers"},
		{"the queue they come from", bounded, "f", "queue:f", "they go back to its end"},
		{
			"a buffer receives it", build.TopologyOf("3.10.8", build.ScenarioParts["pubsub"]...), "ucenter@user@failed",
			"queue:ucenter@user@retry", "ucenter@user gets them after 30s in the buffer",
		},
		{
			"only somebody else receives it", build.TopologyOf("3.10.8", build.ScenarioParts["pubsub"]...),
			"ucenter@user@failed", "queue:user-monitor", "user-monitor would receive them, and is not",
		},
		{
			"somebody else receives it", build.TopologyOf("3.10.8", build.ScenarioParts["pubsub"]...),
			"ucenter@user@failed", "exchange:master/user.create", "user-monitor would receive them too",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			mode, fixed, err := ParseTarget(test.to)
			if err != nil {
				t.Fatal(err)
			}
			plan := newRun(test.topology, ActionWant{
				Operation: Replay, From: build.Ref(test.from), Planned: 2, Mode: mode,
				Fixed: fixed,
			})
			if !strings.Contains(strings.Join(warned(plan.Warnings), "\n"), test.want) {
				t.Errorf("warnings %q, want something with %q", warned(plan.Warnings), test.want)
			}
		})
	}
}

func TestParseTarget(t *testing.T) {
	tests := []struct {
		to   string
		mode TargetMode
		want model.Address
	}{
		{"", ToAuto, model.Address{}},
		{"auto", ToAuto, model.Address{}},
		{"origin", ToOrigin, model.Address{}},
		{"queue:a:b/c", ToQueue, model.Address{Exchange: "", RoutingKey: "a:b/c"}},
		{"exchange:x/k/l", ToExchange, model.Address{Exchange: "x", RoutingKey: "k/l"}},
		{"exchange:x", ToExchange, model.Address{Exchange: "x", RoutingKey: ""}},
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
