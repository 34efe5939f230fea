package model_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

func set[T any](value T, source model.Source) model.Setting[T] {
	return model.Setting[T]{Value: value, Set: true, Source: source}
}

func TestEffectiveSettings(t *testing.T) {
	seconds := func(n int64, s model.Source) model.Setting[time.Duration] {
		return set(time.Duration(n)*time.Second, s)
	}
	byArgument := model.Source{Kind: model.FromArgument}
	byDefault := model.Source{Kind: model.FromDefault}
	byPolicy := model.Source{Kind: model.FromPolicy, Name: "p"}
	byOperator := model.Source{Kind: model.FromOperatorPolicy, Name: "op"}
	head := set("drop-head", byDefault)

	tests := []struct {
		name    string
		version string
		queue   []build.Setting
		want    model.Settings
	}{
		{"nothing set", "3.10.8", nil, model.Settings{Overflow: head}},
		{
			"TTL: the lower of argument and policy", "3.10.8",
			settings(build.TTL(60000), build.Policy("p", model.Table{"message-ttl": int64(30000)})),
			model.Settings{TTL: seconds(30, byPolicy), Overflow: head},
		},
		{
			"TTL: the lower, the other way round", "4.3.6",
			settings(build.TTL(10000), build.Policy("p", model.Table{"message-ttl": int64(30000)})),
			model.Settings{TTL: seconds(10, byArgument), Overflow: head},
		},
		{
			"DLX: the argument beats the policy", "3.10.8",
			settings(
				build.DLX("a"), build.Policy("p", model.Table{"dead-letter-exchange": "b", "dead-letter-routing-key": "k"}),
			),
			model.Settings{DLX: set("a", byArgument), Key: set("k", byPolicy), Overflow: head},
		},

		{
			"the default exchange as DLX is set", "3.10.8", settings(build.DLX("")),
			model.Settings{DLX: set("", byArgument), Overflow: head},
		},
		{"a key without an exchange does nothing", "3.10.8", settings(build.DeadKey("k")), model.Settings{Overflow: head}},
		{
			"overflow: the argument wins on classic", "3.10.8",
			settings(build.RejectPublish, build.Policy("p", model.Table{"overflow": "drop-head"})),
			model.Settings{Overflow: set("reject-publish", byArgument)},
		},
		{
			"overflow: the policy wins on quorum", "3.10.8",
			settings(build.OfType(model.Quorum), build.RejectPublish, build.Policy("p", model.Table{"overflow": "drop-head"})),
			model.Settings{Overflow: set("drop-head", byPolicy)},
		},
		{
			"overflow: a quorum queue drops its head where reject-publish-dlx is asked for", "4.0.5",
			settings(build.OfType(model.Quorum), build.Argument("x-overflow", "reject-publish-dlx"), build.DeliveryLimit(-1)),
			model.Settings{Overflow: set("drop-head", byArgument), NoRejectDLX: true, DeliveryLimit: set[int64](-1, byArgument)},
		},
		{
			"overflow: so it does by policy", "3.10.8",
			settings(
				build.OfType(model.Quorum), build.RejectPublish, build.Policy("p", model.Table{"overflow": "reject-publish-dlx"}),
			),

			model.Settings{Overflow: set("drop-head", byPolicy), NoRejectDLX: true},
		},
		{
			"overflow: a classic queue refuses, and dead-letters", "3.10.8",
			settings(build.Argument("x-overflow", "reject-publish-dlx")),
			model.Settings{Overflow: set("reject-publish-dlx", byArgument)},
		},
		{
			"delivery limit: 20 by default from 4.0", "4.0.5", settings(build.OfType(model.Quorum)),
			model.Settings{Overflow: head, DeliveryLimit: set[int64](20, byDefault)},
		},
		{
			"delivery limit: none by default before", "3.13.7", settings(build.OfType(model.Quorum)),
			model.Settings{Overflow: head},
		},
		{"delivery limit: none on classic", "4.0.5", settings(build.DeliveryLimit(3)), model.Settings{Overflow: head}},
		{
			"delivery limit: the lower", "4.0.5",
			settings(
				build.OfType(model.Quorum), build.DeliveryLimit(5), build.Policy("p", model.Table{"delivery-limit": int64(3)}),
			),
			model.Settings{Overflow: head, DeliveryLimit: set[int64](3, byPolicy)},
		},

		{
			"delivery limit: the higher when one is negative, from 4.0", "4.0.5",
			settings(
				build.OfType(model.Quorum), build.DeliveryLimit(-1), build.Policy("p", model.Table{"delivery-limit": int64(3)}),
			),
			model.Settings{Overflow: head, DeliveryLimit: set[int64](3, byPolicy)},
		},
		{
			"the operator policy alone", "3.10.8",
			settings(
				func(q *model.Queue) {
					q.OperatorPolicy = "op"

					q.PolicyDefinition = model.Table{"message-ttl": int64(5000)}
				},
			),
			model.Settings{TTL: seconds(5, byOperator), Overflow: head},
		},
		{
			"a TTL as text is no TTL", "3.10.8", settings(build.Argument("x-message-ttl", "1000")),
			model.Settings{Overflow: head},
		},
		{
			"a stream has none of it", "4.0.5", settings(build.OfType(model.Stream), build.TTL(1), build.DLX("x")),
			model.Settings{},
		},
	}

	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := build.TopologyOf(test.version, build.Queue("q", test.queue...)).Settings(build.Ref("q"))
			assert.NoDiff(t, cmp.Diff(test.want, got))
		})
	}
}

func TestTheSourceOfAMergedPolicy(t *testing.T) {
	s := build.Broker("3.10.8", build.Queue("q", func(q *model.Queue) {
		q.Policy, q.OperatorPolicy = "retry-30s", "cap"
		q.PolicyDefinition = model.Table{"message-ttl": int64(10000), "dead-letter-exchange": "x"}
	}))

	s.Policies = []model.Policy{
		{VHost: "/", Name: "retry-30s", Definition: model.Table{"message-ttl": int64(30000), "dead-letter-exchange": "x"}},
		{VHost: "/", Name: "cap", Operator: true, Definition: model.Table{"message-ttl": int64(10000)}},
	}

	got := model.NewTopology(s).Settings(build.Ref("q"))
	want := "10s (operator policy cap)"
	assert.That(t, got.TTL.String() == want, "TTL %s, want %s", got.TTL, want)
	want = "x (policy retry-30s)"
	assert.That(t, got.DLX.String() == want, "DLX %s, want %s", got.DLX, want)
}

// A worker that has just started counts before the statistics know of it; dlxtop's own consumer does not.
func TestConfirmedConsumers(t *testing.T) {
	topology := build.TopologyOf("3.10.8", build.Text(`
		queue mail
		queue letters
	`))
	worker := build.Ref("mail")
	read := build.Ref("letters")
	one := build.Some(1)
	confirmed := topology.Confirmed(model.CountsByQueue{
		worker: {Consumers: one}, read: {Consumers: one, Held: true},
	}, false)
	assert.Equal(t, confirmed.Queues[worker].Consumers, one, "the worker")
	n := confirmed.Queues[read].Consumers
	assert.That(t, n.Or(0) == 0, "what dlxtop read has %v consumers", n)
}

// What dlxtop holds is still in the queue, and dlxtop is not one of its consumers.
func TestOwnLooksAreLeftOut(t *testing.T) {
	unacked := func(n int64) build.Setting { return func(q *model.Queue) { q.Unacked = model.Some(n) } }
	untold := func(q *model.Queue) { q.Consumers = model.Unknown[int64]() }
	before := build.Broker("3.10.8", build.Queue("w", build.Ready(10), unacked(2), build.Consumers(1)),
		build.Text(`
			queue failed ready=47
			queue other ready=1
		`), build.Queue("new", untold))
	after := build.Broker("3.10.8", build.Queue("w", build.Ready(4), unacked(7), build.Consumers(2)),
		build.Queue("failed", unacked(45), build.Consumers(1)), build.Queue("other", unacked(1), build.Consumers(1)),
		build.Text("queue new ready=1"))
	after.LeaveOut(model.QueueSet{
		build.Ref("w"): true, build.Ref("failed"): true, build.Ref("gone"): true, build.Ref("new"): true,
	}, before)

	for i, want := range []struct{ ready, unacked, consumers int64 }{{9, 2, 1}, {45, 0, 0}, {0, 1, 1}, {1, 0, 0}} {
		q := after.Queues[i]
		assert.Equal(t, q.Ready.Or(-1), want.ready, "%v", want)
		assert.Equal(t, q.Unacked.Or(-1), want.unacked, "%v", want)
		assert.Equal(t, q.Consumers.Or(-1), want.consumers, "%v", want)
	}

	after.LeaveOut(model.QueueSet{build.Ref("w"): true}, nil)
}

// A known version is written as it was read.
func FuzzParseVersion(f *testing.F) {
	for _, s := range []string{
		"3.10.8", "4.0.5", "4.1.0-rc.1", "3.13", "4.3.6+2.g1", "", "4", "-1.2",
		"99999999999999999999.1.1", "4.0.99999999999999999999", "4.0.-1",
	} {
		f.Add(s)
	}

	f.Fuzz(func(t *testing.T, s string) {
		v := model.ParseVersion(s)
		assert.That(t, v.Major >= 0, "%q is %+v", s, v)
		assert.That(t, v.Minor >= 0, "%q is %+v", s, v)
		assert.That(t, v.Patch >= 0, "%q is %+v", s, v)
		assert.That(t, !v.Known() || model.ParseVersion(v.String()) == v, "%q is %+v", s, v)
		model.BehaviourOf(v)
	})
}
