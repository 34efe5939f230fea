package model_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

func with(parts []build.Part, more ...build.Part) []build.Part { return slices.Concat(parts, more) }

// Without a dead-letter key messages keep their own, and CC adds to them what no binding shows.
func TestFlowsOfMessagesThatKeepTheirKeys(t *testing.T) {
	audited := with(build.CopyKeyParts, build.Queue("audit", build.Consumers(1)), build.Bind("retry", "delay.#", "audit"))
	for _, test := range []struct {
		name    string
		parts   []build.Part
		want    []string
		keys    model.KeyKind
		reaches []model.QueueRef
	}{
		{
			"no bound key leads on: the buffer belongs to all that others reach", build.CopyKeyParts,
			[]string{"user:delete: delay:5s=delayed(5s, argument)", "user:save: delay:5s=delayed(5s, argument)"},
			model.KeysBeyond, build.Refs("user:delete", "user:save"),
		},
		{
			"a bound key leads on", audited,
			[]string{"audit: delay:5s=delayed(5s, argument)"},
			model.KeysBound, build.Refs("audit"),
		},
		{
			"messages go elsewhere than the bindings say", with(audited, build.Seen("delay:5s", "user:save")),
			[]string{"audit: delay:5s=delayed(5s, argument)", "user:save: delay:5s=delayed(5s, argument)"},
			model.KeysSeen, build.Refs("audit", "user:save"),
		},
		{
			"what they were seen to go to is gone", with(audited, build.Seen("delay:5s", "gone")),
			[]string{"audit: delay:5s=delayed(5s, argument)"},
			model.KeysBound, build.Refs("audit"),
		},
		{
			"nothing is bound to the exchange: no key leads anywhere",
			[]build.Part{
				build.Exchange("topic", "delay"), build.Exchange("topic", "retry"),
				build.Queue("delay:5s", build.TTL(5000), build.DLX("retry")), build.Bind("delay", "delay.5s", "delay:5s"),
			},
			nil, model.KeysKnown, nil,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			topology := build.TopologyOf("4.0.5", test.parts...)
			assert.NoDiff(t, cmp.Diff(test.want, build.Told(topology.Flows())))
			hop, _ := topology.Hop(build.Ref("delay:5s"), model.Expired)
			assert.That(t, hop.Route.Keys == test.keys, "keys of kind %d, want %d: %s", hop.Route.Keys, test.keys, hop.Route.Why)
			assert.NoDiff(t, cmp.Diff(test.reaches, hop.Route.Queues))
		})
	}
}

// A worker whose rejected messages keep their keys is not said to lose them, nor to have the failed queues of others.
func TestRejectsThatKeepTheirKeys(t *testing.T) {
	topology := build.TopologyOf("4.0.5",
		build.Exchange("direct", "in"), build.Exchange("direct", "dead"),
		build.Queue("w", build.Consumers(1), build.DLX("dead")), build.Bind("in", "w", "w"),
		build.Queue("v.dead"), build.Bind("dead", "v", "v.dead"))
	for _, exit := range topology.Exits(build.Ref("w")) {
		assert.That(t, exit.Fate == model.Unclear && strings.Contains(exit.Why, "keeps its own routing keys"),
			"%s is %s: %s", exit.Reason, exit.Fate, exit.Why)
	}
	if flows := topology.Flows(); len(flows) != 0 {
		t.Error(build.Told(flows))
	}
}

func TestDeadLettered(t *testing.T) {
	for _, test := range []struct {
		name string
		set  []build.Setting
		want model.Opt[int64]
	}{
		{"no statistics", nil, model.Unknown[int64]()},
		{"all were published", []build.Setting{build.Counted(5, 3), build.Ready(2)}, model.Some[int64](0)},
		{"more were taken than published", []build.Setting{build.Counted(2, 6)}, model.Some[int64](4)},
		{"more are there than published", []build.Setting{build.Counted(2, 2), build.Ready(1)}, model.Some[int64](1)},
		{"some were rejected", []build.Setting{build.Counted(5, 0)}, model.Some[int64](0)},
	} {
		t.Run(test.name, func(t *testing.T) {
			q, _ := build.TopologyOf("4.0.5", build.Queue("q", test.set...)).Queue(build.Ref("q"))
			assert.Equal(t, q.DeadLettered(), test.want)
		})
	}
}
