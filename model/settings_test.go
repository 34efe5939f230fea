package model_test

import (
	"fmt"
	"maps"
	"reflect"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// setIn returns the settings that are made, each with its value and its source.
func setIn(s model.Settings) (made []string) {
	fields := reflect.ValueOf(s)
	for i := range fields.NumField() {
		if field := fields.Field(i); !field.IsZero() {
			made = append(made, fmt.Sprint(fields.Type().Field(i).Name, " ", field))
		}
	}

	return made
}

func TestEffectiveSettings(t *testing.T) {
	type expected struct {
		Name, Version       string
		Queue               build.Part
		Operator, Arguments model.Table // the definition of the queue's operator policy; more arguments of the queue
		Want                []string
	}

	must.Run(t, "testdata/effective_settings.toml", func(t *testing.T, test expected) {
		s := build.Broker(test.Version, test.Queue)
		q := &s.Queues[0]
		maps.Copy(q.Arguments, test.Arguments)
		if test.Operator != nil {
			q.OperatorPolicy, q.PolicyDefinition = "op", test.Operator
		}

		assert.Same(t, test.Want, setIn(model.NewTopology(s).Settings(q.QueueRef)))
	})
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
	topology := build.Described("3.10.8", `
		queue mail
		queue letters
	`)
	worker := build.Ref("mail")
	read := build.Ref("letters")
	one := build.Some(1)
	confirmed := topology.Confirmed(model.CountsByQueue{
		worker: {Consumers: one}, read: {Consumers: one, Held: true},
	}, false)
	assert.Equal(t, confirmed.Queues[worker].Consumers, one, "the worker")
	assert.Equal(t, confirmed.Queues[read].Consumers.Or(0), 0, "what dlxtop read")
}

// Statistics have nothing of a new queue: a count says that it has no consumers.
func TestUnknownConsumersAreCounted(t *testing.T) {
	unknown := func(q *model.Queue) { q.Consumers = model.Opt[int64]{} }
	topology := build.Described("4.3.6", "queue w consumers=1", build.Buffer("in", "w", 1, unknown))
	in := topology.WithoutStatistics()[0]
	topology = topology.Confirmed(model.CountsByQueue{in: {Consumers: build.Some(0)}}, false)
	assert.Contains(t, topology.Flows()[0].Buffers[0].Reason, "no consumers;")
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
