package broker_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/target"
)

// topology is what a snapshot told of some queues, and of exchanges that are bound to the last of them with the key
// "k".
func topology(queues []*model.Queue, exchanges ...string) *model.Topology {
	return topologyOf(node.Version(), queues, exchanges...)
}

func topologyOf(version string, queues []*model.Queue, exchanges ...string) *model.Topology {
	s := &model.Snapshot{VHosts: []string{"/"}}
	s.Overview.Version = model.ParseVersion(version)
	s.Exchanges = []model.Exchange{{ExchangeRef: model.ExchangeRef{VHost: "/"}, Type: "direct", Durable: true}}
	for _, q := range queues {
		s.Queues = append(s.Queues, *q)
	}
	for _, name := range exchanges {
		s.Exchanges = append(s.Exchanges, model.Exchange{
			ExchangeRef: model.ExchangeRef{VHost: "/", Name: name},
			Type:        "direct",
		})
		s.Bindings = append(s.Bindings, model.Binding{
			VHost: "/", Source: name, Destination: queues[len(queues)-1].Name,
			RoutingKey: "k",
		})
	}
	return model.NewTopology(s)
}

// replayTo plans a replay of a selection into a queue, through the default exchange.
func replayTo(t testing.TB, from, to *model.Queue, selection plan.Selection, sample ...message.Message) plan.Run {
	t.Helper()
	return planned(t, topology([]*model.Queue{from, to}), plan.ActionWant{
		Operation: plan.Replay, From: from.QueueRef, Selection: selection, Sample: message.MessageList(sample),
		Planned: len(sample), Mode: target.ToQueue,
		Fixed: model.Address{RoutingKey: to.Name}, User: "guest", Insist: true, Doubles: true,
	})
}

func planned(t testing.TB, topology *model.Topology, want plan.ActionWant) plan.Run {
	t.Helper()
	p := plan.New(topology, want)
	must.That(t, !p.Refusal.Refused(), "%v", p.Refusal.Words())
	return decoded(t, p).On(topology)
}

// decoded is a plan that was written as JSON and read: what tests execute is data.
func decoded[T any](t testing.TB, made T) T {
	t.Helper()
	read := must.Get(build.ThroughJSON(made))(t)
	return read
}

func dropPlan(t testing.TB, from *model.Queue, selection plan.Selection, n int) plan.Run {
	t.Helper()
	return planned(t, topology([]*model.Queue{from}), plan.ActionWant{
		Operation: plan.Drop,
		From:      from.QueueRef, Selection: selection, Planned: n, Insist: true,
	})
}

// execute runs a plan; an error is fatal.
func execute(t testing.TB, c *broker.Client, run plan.Run) plan.Account {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	account := must.Get(c.Execute(ctx, run, nil))(t)
	return account
}

// outcome is the part of an account that can be compared.
type outcome struct {
	Planned, Moved, Dropped, Refused, Returned, Unknown, Gone int
	Stopped                                                   bool
}

func wantOutcome(t testing.TB, a plan.Account, want outcome) {
	t.Helper()
	got := outcome{a.Planned, a.Moved, a.Dropped, a.Refused, a.Returned, a.Unknown, a.Gone, a.Stopped != ""}
	diff := cmp.Diff(want, got)
	assert.That(t, diff == "", "%s\nstopped: %s\nproblems: %v", diff, a.Stopped, a.Problems)
}

func wantIDs(t testing.TB, what string, got []amqp.Delivery, want []string) {
	t.Helper()
	ids := ids(got)
	assert.That(t, slices.Equal(ids, want), "%s: %s", what, cmp.Diff(want, ids))
}
