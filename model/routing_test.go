package model_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/target"
)

func TestRoute(t *testing.T) {
	abc := parts(build.Text(`
		queue a
		queue b
		queue c
	`))
	type expected struct {
		Name, Exchange string
		Keys           string // the routing key, then those of CC
		Headers        model.Table
		Queues         string
		Want           model.Route  // without Queues
		Parts          []build.Part // besides the queues a, b and c
	}

	tests := append(must.Cases[expected](t, "testdata/routes.toml"), []expected{
		{
			"headers: all", "x", "",
			model.Table{"k": "v", "n": int32(1)},
			"a",
			model.Route{Exact: true},
			parts(
				build.Text(`
					exchange headers x
					bind-headers x a k=v n=1
					bind-headers x b k=v n=2
				`),
			),
		},
	}...)

	for _, test := range tests {
		t.Run(test.Name, func(t *testing.T) {
			topology := build.TopologyOf("3.10.8", with(abc, test.Parts...)...)
			got := topology.Route("/", test.Exchange, strings.Split(test.Keys, " "), test.Headers)
			assert.That(t, got.Exact == (got.Why == ""), "exact is %v, and the reason against it is %q", got.Exact, got.Why)
			got.Through, got.Why = nil, ""
			test.Want.Queues = build.Refs(strings.Fields(test.Queues)...)
			assert.Same(t, test.Want, got)
		})
	}
}

func TestWhatCouldNotBeReadIsUnknown(t *testing.T) {
	s := build.Broker("3.10.8", build.Text(`
		exchange direct x
		queue a dlx=x key=k ttl=1000
		queue b dlx=nope ttl=1000
	`))
	s.Bindings = nil
	topology := model.NewTopology(s)
	r := topology.Route("/", "x", []string{"k"}, nil)
	assert.That(t, r.Unread, "%+v", r)
	assert.That(t, !r.Exact, "%+v", r)
	assert.That(t, r.Why != "", "%+v", r)
	f := findings.Of(topology)
	assert.That(t, len(f) == 0, "findings about routing that was not read: %+v", f)
	r = topology.Route("/", "", []string{"a"}, nil)
	assert.Equal(t, len(r.Queues), 1, "the default exchange needs no bindings: %+v", r)
	assert.That(t, r.Exact, "the default exchange needs no bindings: %+v", r)

	planned := plan.New(topology, plan.ActionWant{
		Operation: plan.Replay, From: build.Ref("a"), Planned: 1,
		Mode: target.ToExchange, Fixed: model.Address{Exchange: "x", RoutingKey: "k"},
	})

	assert.Contains(t, planned.Refusal.Words(), "could not be read", "refusal")
}

func TestHeadersMatch(t *testing.T) {
	type expected struct {
		Name    string
		Binding model.Table
		Headers model.Table
		Want    bool
	}

	tests := append(must.Cases[expected](t, "testdata/headers_match.toml"), []expected{
		{"nil asks for presence", model.Table{"a": nil}, model.Table{"a": int32(7)}, true},
		{"nil and absent", model.Table{"a": nil}, model.Table{}, false},
		{"integers of any width", model.Table{"a": int64(7)}, model.Table{"a": int8(7)}, true},
		{"an integer is no float", model.Table{"a": int64(7)}, model.Table{"a": float64(7)}, false},
	}...)

	for _, test := range tests {
		assert.Equal(t, model.HeadersMatch(test.Binding, test.Headers), test.Want, "%s", test.Name)
	}
}

func settings(all ...build.Setting) []build.Setting { return all }

func parts(all ...build.Part) []build.Part { return all }

func with(some []build.Part, more ...build.Part) []build.Part { return slices.Concat(some, more) }

// Without a dead-letter key messages keep their own, and CC adds keys that no binding shows.
func TestFlowsOfMessagesThatKeepTheirKeys(t *testing.T) {
	audited := with(build.CopyKeyParts, build.Text(`
		queue audit consumers=1
		bind retry delay.# audit
	`))
	for _, test := range []struct {
		name    string
		parts   []build.Part
		want    string // the flows
		keys    model.KeyKind
		reaches []model.QueueRef
	}{
		{
			"no bound key leads on: the buffer belongs to all that others reach", build.CopyKeyParts,
			"user:delete: delay:5s=delayed(5s, argument); user:save: delay:5s=delayed(5s, argument)", model.KeysBeyond,
			build.Refs("user:delete", "user:save"),
		},
		{"a bound key leads on", audited, "audit: delay:5s=delayed(5s, argument)", model.KeysBound, build.Refs("audit")},
		{
			"messages go elsewhere than the bindings say", with(audited, build.Seen("delay:5s", "user:save")),

			"audit: delay:5s=delayed(5s, argument); user:save: delay:5s=delayed(5s, argument)", model.KeysSeen,
			build.Refs("audit", "user:save"),
		},
		{
			"what they were seen to go to is gone", with(audited, build.Seen("delay:5s", "gone")),
			"audit: delay:5s=delayed(5s, argument)", model.KeysBound, build.Refs("audit"),
		},
		{
			"nothing is bound to the exchange: no key leads anywhere",
			parts(
				build.Text(`
					exchange topic delay
					exchange topic retry
					queue delay:5s ttl=5000 dlx=retry
					bind delay delay.5s delay:5s
				`),
			),
			"", model.KeysKnown, nil,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			topology := build.TopologyOf("4.0.5", test.parts...)

			assert.Equal(t, strings.Join(build.Told(topology.Flows()), "; "), test.want)
			hop, _ := topology.Hop(build.Ref("delay:5s"), model.Expired)
			assert.That(t, hop.Route.Keys == test.keys, "keys of kind %d, want %d: %s", hop.Route.Keys, test.keys, hop.Route.Why)

			assert.Same(t, test.reaches, hop.Route.Queues)
		})
	}
}

// A worker whose rejected messages keep their keys must not be said to lose them, nor to have other workers' failed
// queues.
func TestRejectsThatKeepTheirKeys(t *testing.T) {
	topology := build.Described("4.0.5", `
		exchange direct in
		exchange direct dead
		queue w consumers=1 dlx=dead
		bind in w w
		queue v.dead
		bind dead v v.dead
	`)
	for _, exit := range topology.Exits(build.Ref("w")) {
		assert.Equal(t, exit.Fate, model.Unclear, "%v", exit.Reason)
		assert.Contains(t, exit.Why, "keeps its own routing keys", "%v", exit.Reason)
	}

	flows := topology.Flows()
	assert.That(t, len(flows) == 0, "%v", build.Told(flows))
}

// Services that share both exchanges have the failed queues that the patterns of their bindings lead to.
func TestRejectsThatKeepKeysOfPatterns(t *testing.T) {
	type expected struct {
		Name  string
		Parts []build.Part
		Kind  model.KeyKind
		Flows []string
	}

	must.Run(t, "testdata/patterns.toml", func(t *testing.T, test expected) {
		topology := build.TopologyOf("4.0.5", test.Parts...)

		assert.Same(t, test.Flows, build.Told(topology.Flows()))
		hop, _ := topology.Hop(build.Ref("orders"), model.Rejected)
		assert.Equal(t, hop.Route.Keys, test.Kind, "%s", hop.Route.Why)
	})
}

func TestDeadLettered(t *testing.T) {
	for _, test := range []struct {
		name string
		set  []build.Setting
		want model.Opt[int64]
	}{
		{"no statistics", nil, model.Unknown[int64]()},
		{"all were published", settings(build.Counted(5, 3), build.Ready(2)), build.Some(0)},
		{"more were taken than published", settings(build.Counted(2, 6)), build.Some(4)},
		{"more are there than published", settings(build.Counted(2, 2), build.Ready(1)), build.Some(1)},
		{"some were rejected", settings(build.Counted(5, 0)), build.Some(0)},
	} {
		t.Run(test.name, func(t *testing.T) {
			q, _ := build.TopologyOf("4.0.5", build.Queue("q", test.set...)).Queue(build.Ref("q"))
			assert.Equal(t, q.DeadLettered(), test.want)
		})
	}
}

func TestExits(t *testing.T) {
	type expected struct {
		Name, Version string
		Want          string // the reason, the fate and the queues of each
		Parts         []build.Part
	}

	tests := append(must.Cases[expected](t, "testdata/exits.toml"), []expected{
		{
			"a policy that no queue shows yet", "4.0.5", "expired unclear []; rejected unclear []",
			parts(build.Queue("q", func(q *model.Queue) { q.PolicyDefinition = nil })),
		},
	}...)

	for _, test := range tests {
		t.Run(test.Name, func(t *testing.T) {
			var got []string
			for _, e := range build.TopologyOf(test.Version, test.Parts...).Exits(build.Ref("q")) {
				got = append(got, fmt.Sprintf("%s %s %v", e.Reason, e.Fate, e.Route.Queues))
				assert.That(t, e.Why != "" || e.Fate == model.Arrives && e.Route.Exact, "%s: no reason for %s", e.Reason, e.Fate)
			}
			assert.Equal(t, strings.Join(got, "; "), test.Want)
		})
	}
}
