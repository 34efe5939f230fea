package journal_test

import (
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/target"
)

// TestCopiesOfAKilledReplay: of a message whose publishing was intended, and of which nothing is known after a kill, no
// copy is sent.
func TestCopiesOfAKilledReplay(t *testing.T) {
	m := message.Message{Position: 1, Body: []byte("{}")}
	m.Properties.MessageID = "m1"
	m.Identify()
	for name, test := range map[string]struct {
		settled []plan.Settled
		ended   bool
		held    bool
	}{
		"nothing is known": {nil, false, true}, "it ended before it": {nil, true, false},
		"a resume found it unsent": {[]plan.Settled{{Position: 1}}, false, false},
		"unknown":                  {[]plan.Settled{{Position: 1, Outcome: plan.Unsure}}, false, true},
		"returned":                 {[]plan.Settled{{Position: 1, Outcome: plan.Returned}}, false, false},
	} {
		j := open(t, journal.Options{Path: at(t)})
		r := record(plan.Replay)
		r.From, r.Broker, r.Intent = build.Ref("a"), "b:5672", &plan.Intent{Mark: true}
		id := begin(t, j, r)
		p := message.Publishing{
			Address: model.Address{RoutingKey: "w"}, Body: m.Body, Reaches: []model.QueueRef{build.Ref("w")},
		}
		check(t, j.Write(id, []plan.Entry{plan.NewEntry(&m, &p, false)}, test.settled))
		if test.ended {
			check(t, j.Finish(id, nil, plan.Account{}))
		}
		sent := must.Get(j.Replayed(t.Context(), "b:5672", ""))(t)
		topology := build.TopologyOf("3.10.8", build.Queue("w", build.Consumers(1)), build.Queue("a"), build.Queue("b"))
		got := plan.New(topology, plan.ActionWant{
			Operation: plan.Replay, From: build.Ref("b"), Sample: message.MessageList{m}, Planned: 1, Mark: true,
			Mode: target.ToQueue, Fixed: model.Address{RoutingKey: "w"}, User: "guest", Sent: sent,
		})
		assert.That(t, got.Refusal.Refused() == test.held, "%s: %q, want held %v", name, got.Refusal.Words(), test.held)
	}
}
