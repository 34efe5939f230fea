package model_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/target"
)

func TestRoute(t *testing.T) {
	abc := parts(build.Queue("a"), build.Queue("b"), build.Queue("c"))
	exact := model.Route{Exact: true}
	tests := []struct {
		name, exchange string
		keys           string // the routing key, then those of CC
		headers        model.Table
		queues         string
		want           model.Route  // without Queues
		parts          []build.Part // besides the queues a, b and c
	}{
		{"default exchange: the queue of that name", "", "b", nil, "b", exact, nil},
		{"default exchange: no such queue", "", "z", nil, "", exact, nil},
		{"default exchange with CC", "", "c a c", nil, "a c", exact, nil},
		{
			"direct", "x", "k", nil, "a", exact,
			parts(build.Exchange("direct", "x"), build.Bind("x", "k", "a"), build.Bind("x", "l", "b")),
		},
		{
			"two bindings to one queue give one copy", "x", "k l", nil, "a", exact,
			parts(
				build.Exchange("direct", "x"), build.Bind("x", "k", "a"), build.Bind("x", "k", "a"), build.Bind("x", "l", "a"),
			),
		},
		{
			"fanout ignores the key", "x", "other", nil, "a b", exact,
			parts(build.Exchange("fanout", "x"), build.Bind("x", "k", "a"), build.Bind("x", "", "b")),
		},
		{
			"topic", "x", "user.create", nil, "a b", exact,
			parts(
				build.Exchange("topic", "x"), build.Bind("x", "user.*", "a"), build.Bind("x", "#.create", "b"),
				build.Bind("x", "user", "c"),
			),
		},
		{
			"topic: an @ is no dot", "x", "ucenter@user", nil, "b", exact,
			parts(build.Exchange("topic", "x"), build.Bind("x", "user.*", "a"), build.Bind("x", "ucenter@user", "b")),
		},
		{
			"headers: all", "x", "",
			model.Table{"k": "v", "n": int32(1)},
			"a", exact,
			parts(
				build.Exchange("headers", "x"), build.BindHeaders("x", "a", model.Table{"k": "v", "n": int64(1)}),
				build.BindHeaders("x", "b", model.Table{"k": "v", "n": int64(2)}),
			),
		},
		{
			"exchange to exchange, with a cycle", "x", "k", nil, "a b", exact,
			parts(
				build.Exchange("fanout", "x"), build.Exchange("direct", "y"), build.BindExchange("x", "", "y"),
				build.BindExchange("y", "k", "x"), build.Bind("y", "k", "a"), build.Bind("x", "", "b"),
			),
		},
		{
			"alternate exchange when nothing matched", "x", "other", nil, "c", exact,
			parts(
				build.Exchange("direct", "x", "alternate-exchange", "y"), build.Exchange("fanout", "y"), build.Bind("y", "", "c"),
				build.Bind("x", "k", "a"),
			),
		},
		{
			"no alternate exchange when something matched", "x", "k", nil, "a", exact,
			parts(
				build.Exchange("direct", "x", "alternate-exchange", "y"), build.Exchange("fanout", "y"), build.Bind("y", "", "c"),
				build.Bind("x", "k", "a"),
			),
		},
		{
			"a matching exchange that leads nowhere keeps the alternate away", "x", "k", nil, "", exact,
			parts(
				build.Exchange("direct", "x", "alternate-exchange", "y"), build.Exchange("fanout", "y"), build.Bind("y", "", "c"),
				build.Exchange("fanout", "z"), build.BindExchange("x", "k", "z"),
			),
		},
		{
			"an alternate exchange that does not exist", "x", "k", nil, "", exact,
			parts(build.Exchange("direct", "x", "alternate-exchange", "nope")),
		},
		{"a missing exchange", "nope", "k", nil, "", model.Route{Exact: true, MissingExchange: "nope"}, nil},
		{
			"a binding to a queue that vanished", "x", "", nil, "a", exact,
			parts(build.Exchange("fanout", "x"), build.Bind("x", "", "gone"), build.Bind("x", "", "a")),
		},
		{
			"consistent hash: the possible set", "x", "k", nil, "a b",
			model.Route{},
			parts(build.Exchange("x-consistent-hash", "x"), build.Bind("x", "1", "a"), build.Bind("x", "1", "b")),
		},
		{
			"x-delayed-message routes by its type, later", "x", "k", nil, "a",
			model.Route{Delays: true},
			parts(
				build.Exchange("x-delayed-message", "x", "x-delayed-type", "direct"), build.Bind("x", "k", "a"),
				build.Bind("x", "l", "b"),
			),
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			topology := build.TopologyOf("3.10.8", with(abc, test.parts...)...)
			got := topology.Route("/", test.exchange, strings.Split(test.keys, " "), test.headers)
			assert.That(t, got.Exact == (got.Why == ""), "exact is %v, and the reason against it is %q", got.Exact, got.Why)
			got.Through, got.Why = nil, ""
			test.want.Queues = build.Refs(strings.Fields(test.queues)...)
			assert.NoDiff(t, cmp.Diff(test.want, got))
		})
	}
}

func TestWhatCouldNotBeReadIsUnknown(t *testing.T) {
	s := build.Broker("3.10.8", build.Exchange("direct", "x"), build.Queue("a", build.DLX("x", "k"), build.TTL(1000)),
		build.Queue("b", build.DLX("nope"), build.TTL(1000)))
	s.Bindings = nil
	topology := model.NewTopology(s)
	r := topology.Route("/", "x", []string{"k"}, nil)
	assert.That(t, r.Unread && !r.Exact && r.Why != "", "%+v", r)
	f := findings.Of(topology)
	assert.That(t, len(f) == 0, "findings about routing that was not read: %+v", f)
	r = topology.Route("/", "", []string{"a"}, nil)
	assert.That(t, len(r.Queues) == 1 && r.Exact, "the default exchange needs no bindings: %+v", r)
	planned := plan.New(topology, plan.ActionWant{
		Operation: plan.Replay, From: build.Ref("a"), Planned: 1,
		Mode: target.ToExchange, Fixed: model.Address{Exchange: "x", RoutingKey: "k"},
	})
	assert.Contains(t, planned.Refusal.Words(), "could not be read", "refusal")
}

func TestTopicMatches(t *testing.T) {
	tests := []struct {
		pattern, key string
		want         bool
	}{
		{"#", "", true},
		{"#", "a.b.c", true},
		{"*", "", false},
		{"*", "a", true},
		{"*", "a.b", false},
		{"a.*.c", "a..c", true},
		{"a.#.c", "a.c", true},
		{"a.#.c", "a.b.b.c", true},
		{"a.#.c", "a.b", false},
		{"#.a.#", "b.a.a.c", true},
		{"*.#.*", "a", false},
		{"*.#.*", "a.b", true},
		{"a.", "a", false},
		{"a.", "a.", true},
		{"", "", true},
		{"", "a", false},
		{"#.#", "", true},
	}
	for _, test := range tests {
		assert.Equal(t, model.TopicMatches(model.TopicWords(test.pattern), model.TopicWords(test.key)), test.want,
			"pattern %q, key %q", test.pattern, test.key)
	}
}

// The rule of the specification, literally.
func topicRule(pattern, key []string) bool {
	switch {
	case len(pattern) == 0:
		return len(key) == 0
	case pattern[0] == "#":
		return topicRule(pattern[1:], key) || len(key) > 0 && topicRule(pattern, key[1:])
	case len(key) == 0:
		return false
	}
	return (pattern[0] == "*" || pattern[0] == key[0]) && topicRule(pattern[1:], key[1:])
}

func TestTopicMatchesAsTheRuleSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "*", "#", ""}), 0, 7).Draw(t,
			"pattern"), ".")
		key := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", ""}), 0, 7).Draw(t, "key"), ".")
		p, k := model.TopicWords(pattern), model.TopicWords(key)
		got, want := model.TopicMatches(p, k), topicRule(p, k)
		must.That(t, got == want, "pattern %q, key %q: %v, want %v", pattern, key, got, want)
	})
}

func TestHeadersMatch(t *testing.T) {
	tests := []struct {
		name    string
		binding model.Table
		headers model.Table
		want    bool
	}{
		{"all is the default", model.Table{"a": "1", "b": "2"}, model.Table{"a": "1"}, false},
		{"all", model.Table{"x-match": "all", "a": "1"}, model.Table{"a": "1", "c": "3"}, true},
		{"any", model.Table{"x-match": "any", "a": "1", "b": "2"}, model.Table{"b": "2"}, true},
		{"any of none", model.Table{"x-match": "any"}, model.Table{"b": "2"}, false},
		{"all of none", model.Table{"x-match": "all"}, nil, true},
		{"x- keys do not count", model.Table{"x-match": "all", "x-a": "1"}, nil, true},
		{"x- keys count with all-with-x", model.Table{"x-match": "all-with-x", "x-a": "1"}, nil, false},
		{"x- keys count with any-with-x", model.Table{"x-match": "any-with-x", "x-a": "1"}, model.Table{"x-a": "1"}, true},
		{"nil asks for presence", model.Table{"a": nil}, model.Table{"a": int32(7)}, true},
		{"nil and absent", model.Table{"a": nil}, model.Table{}, false},
		{"integers of any width", model.Table{"a": int64(7)}, model.Table{"a": int8(7)}, true},
		{"an integer is no float", model.Table{"a": int64(7)}, model.Table{"a": float64(7)}, false},
		{"an integer is no text", model.Table{"a": int64(7)}, model.Table{"a": "7"}, false},
		{"booleans", model.Table{"a": true}, model.Table{"a": true}, true},
	}
	for _, test := range tests {
		assert.Equal(t, model.HeadersMatch(test.binding, test.headers), test.want, "%s", test.name)
	}
}

func settings(all ...build.Setting) []build.Setting { return all }

func parts(all ...build.Part) []build.Part { return all }

func with(some []build.Part, more ...build.Part) []build.Part { return slices.Concat(some, more) }

// Without a dead-letter key messages keep their own, and CC adds keys that no binding shows.
func TestFlowsOfMessagesThatKeepTheirKeys(t *testing.T) {
	audited := with(build.CopyKeyParts, build.Queue("audit", build.Consumers(1)), build.Bind("retry", "delay.#", "audit"))
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
				build.Exchange("topic", "delay"), build.Exchange("topic", "retry"),
				build.Queue("delay:5s", build.TTL(5000), build.DLX("retry")), build.Bind("delay", "delay.5s", "delay:5s"),
			),
			"", model.KeysKnown, nil,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			topology := build.TopologyOf("4.0.5", test.parts...)
			assert.Equal(t, strings.Join(build.Told(topology.Flows()), "; "), test.want)
			hop, _ := topology.Hop(build.Ref("delay:5s"), model.Expired)
			assert.That(t, hop.Route.Keys == test.keys, "keys of kind %d, want %d: %s", hop.Route.Keys, test.keys, hop.Route.Why)
			assert.NoDiff(t, cmp.Diff(test.reaches, hop.Route.Queues))
		})
	}
}

// A worker whose rejected messages keep their keys must not be said to lose them, nor to have other workers' failed
// queues.
func TestRejectsThatKeepTheirKeys(t *testing.T) {
	topology := build.TopologyOf("4.0.5", build.Exchange("direct", "in"), build.Exchange("direct", "dead"),
		build.Queue("w", build.Consumers(1), build.DLX("dead")), build.Bind("in", "w", "w"), build.Queue("v.dead"),
		build.Bind("dead", "v", "v.dead"))
	for _, exit := range topology.Exits(build.Ref("w")) {
		assert.That(t, exit.Fate == model.Unclear && strings.Contains(exit.Why, "keeps its own routing keys"),
			"%s is %s: %s", exit.Reason, exit.Fate, exit.Why)
	}
	flows := topology.Flows()
	assert.That(t, len(flows) == 0, "%v", build.Told(flows))
}

func TestDeadLettered(t *testing.T) {
	for _, test := range []struct {
		name string
		set  []build.Setting
		want model.Opt[int64]
	}{
		{"no statistics", nil, model.Unknown[int64]()},
		{"all were published", settings(build.Counted(5, 3), build.Ready(2)), model.Some[int64](0)},
		{"more were taken than published", settings(build.Counted(2, 6)), model.Some[int64](4)},
		{"more are there than published", settings(build.Counted(2, 2), build.Ready(1)), model.Some[int64](1)},
		{"some were rejected", settings(build.Counted(5, 0)), model.Some[int64](0)},
	} {
		t.Run(test.name, func(t *testing.T) {
			q, _ := build.TopologyOf("4.0.5", build.Queue("q", test.set...)).Queue(build.Ref("q"))
			assert.Equal(t, q.DeadLettered(), test.want)
		})
	}
}

func TestExits(t *testing.T) {
	tests := []struct {
		name, version string
		want          string // the reason, the fate and the queues of each
		parts         []build.Part
	}{
		{"no dead-letter exchange", "3.10.8", "expired lost []; rejected lost []", parts(build.Queue("q"))},
		{
			"a limit too", "3.10.8", "expired lost []; rejected lost []; maxlen lost []",
			parts(build.Queue("q", build.MaxLength(3))),
		},
		{
			"a limit that refuses", "3.10.8", "expired lost []; rejected lost []",
			parts(build.Queue("q", build.MaxLength(3), build.RejectPublish)),
		},
		{
			"a delivery limit by default", "4.0.5", "expired lost []; rejected lost []; delivery_limit lost []",
			parts(build.Quorum("q")),
		},
		{
			"a policy that no queue shows yet", "4.0.5", "expired unclear []; rejected unclear []",
			parts(build.Queue("q", func(q *model.Queue) { q.PolicyDefinition = nil })),
		},
		{
			"it arrives", "3.10.8", "expired arrives [w]; rejected arrives [w]",
			parts(build.Queue("q", build.DLX("", "w")), build.Queue("w")),
		},
		{
			"it may arrive", "3.10.8", "expired arrives [w]; rejected arrives [w]",
			parts(build.Queue("q", build.DLX("x")), build.Exchange("direct", "x"), build.Bind("x", "q", "w"), build.Queue("w")),
		},
		{"a missing exchange", "3.10.8", "expired lost []; rejected lost []", parts(build.Queue("q", build.DLX("nope")))},
		{
			"at least once keeps it", "4.0.5", "expired held []; rejected held []",
			parts(build.Queue("q", build.AtLeastOnce, build.DLX("nope"), build.DeliveryLimit(-1))),
		},
		{
			"at least once keeps what would come back by expiry alone", "4.0.5", "expired held [b]; rejected endless [b]",
			parts(
				build.Buffer("q", "b", 10),
				build.Queue("b", build.AtLeastOnce, build.DLX("", "q"), build.TTL(10), build.DeliveryLimit(-1)),
			),
		},
		{
			"at least once elsewhere keeps nothing of a circle", "4.0.5", "expired cut [b]; rejected endless [b]",
			parts(
				build.Queue("q", build.AtLeastOnce, build.DLX("", "b"), build.TTL(10), build.DeliveryLimit(-1)),
				build.Buffer("b", "q", 10),
			),
		},
		{
			"at least once falls back", "4.0.5", "expired lost []; rejected lost []",
			parts(build.Quorum(
				"q", build.DLX("nope"), build.Argument("x-dead-letter-strategy", "at-least-once"), build.DeliveryLimit(-1),
			)),
		},
		{
			"a retry loop", "3.10.8", "expired cut [b]; rejected endless [b]",
			parts(build.Queue("q", build.DLX("", "b")), build.Buffer("b", "q", 10)),
		},
		{"back to itself", "3.10.8", "expired cut [q]; rejected endless [q]", parts(build.Buffer("q", "q", 10))},
		{
			"a loop past a queue with consumers", "3.10.8", "expired arrives [b]; rejected arrives [b]",
			parts(build.Queue("q", build.DLX("", "b")), build.Buffer("b", "q", 10, build.Consumers(1))),
		},
		{
			"a loop that does not pass it", "3.10.8", "expired arrives [b]; rejected arrives [b]",
			parts(build.Queue("q", build.DLX("", "b")), build.Buffer("b", "c", 10), build.Buffer("c", "b", 10)),
		},
		{
			"delayed retry", "4.3.6", "expired lost []; rejected lost []; delayed_retry retried [q]",
			parts(build.Quorum("q", build.Argument("x-delayed-retry-type", "all"), build.DeliveryLimit(-1))),
		},
		{
			"delayed retry before 4.3", "4.0.5", "expired lost []; rejected lost []",
			parts(build.Quorum("q", build.Argument("x-delayed-retry-type", "all"), build.DeliveryLimit(-1))),
		},
		{"a stream", "4.0.5", "", parts(build.Queue("q", build.OfType(model.Stream)))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, e := range build.TopologyOf(test.version, test.parts...).Exits(build.Ref("q")) {
				got = append(got, fmt.Sprintf("%s %s %v", e.Reason, e.Fate, e.Route.Queues))
				assert.That(t, e.Why != "" || e.Fate == model.Arrives && e.Route.Exact, "%s: no reason for %s", e.Reason, e.Fate)
			}
			assert.Equal(t, strings.Join(got, "; "), test.want)
		})
	}
}
