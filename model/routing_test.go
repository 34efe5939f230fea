package model

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestRoute(t *testing.T) {
	queues := func(names ...string) part {
		return func(s *Snapshot) {
			for _, n := range names {
				queue(n)(s)
			}
		}
	}
	abc := queues("a", "b", "c")
	tests := []struct {
		name     string
		parts    []part
		exchange string
		keys     []string
		headers  Table
		want     Route
	}{
		{name: "default exchange: the queue of that name", parts: []part{abc}, keys: []string{"b"}, want: Route{Queues: refs("b"), Exact: true}},
		{name: "default exchange: no such queue", parts: []part{abc}, keys: []string{"z"}, want: Route{Exact: true}},
		{name: "default exchange with CC", parts: []part{abc}, keys: []string{"c", "a", "c"}, want: Route{Queues: refs("a", "c"), Exact: true}},
		{name: "direct", parts: []part{abc, exchange("direct", "x"), bind("x", "k", "a"), bind("x", "l", "b")}, exchange: "x", keys: []string{"k"}, want: Route{Queues: refs("a"), Exact: true}},
		{name: "two bindings to one queue give one copy", parts: []part{abc, exchange("direct", "x"), bind("x", "k", "a"), bind("x", "k", "a"), bind("x", "l", "a")}, exchange: "x", keys: []string{"k", "l"}, want: Route{Queues: refs("a"), Exact: true}},
		{name: "fanout ignores the key", parts: []part{abc, exchange("fanout", "x"), bind("x", "k", "a"), bind("x", "", "b")}, exchange: "x", keys: []string{"other"}, want: Route{Queues: refs("a", "b"), Exact: true}},
		{name: "topic", parts: []part{abc, exchange("topic", "x"), bind("x", "user.*", "a"), bind("x", "#.create", "b"), bind("x", "user", "c")}, exchange: "x", keys: []string{"user.create"}, want: Route{Queues: refs("a", "b"), Exact: true}},
		{name: "topic: an @ is no dot", parts: []part{abc, exchange("topic", "x"), bind("x", "user.*", "a"), bind("x", "ucenter@user", "b")}, exchange: "x", keys: []string{"ucenter@user"}, want: Route{Queues: refs("b"), Exact: true}},
		{name: "headers: all", parts: []part{abc, exchange("headers", "x"), bindHeaders("x", "a", Table{"k": "v", "n": int64(1)}), bindHeaders("x", "b", Table{"k": "v", "n": int64(2)})}, exchange: "x", keys: []string{""}, headers: Table{"k": "v", "n": int32(1)}, want: Route{Queues: refs("a"), Exact: true}},
		{name: "exchange to exchange, with a cycle", parts: []part{abc, exchange("fanout", "x"), exchange("direct", "y"), bindExchange("x", "", "y"), bindExchange("y", "k", "x"), bind("y", "k", "a"), bind("x", "", "b")}, exchange: "x", keys: []string{"k"}, want: Route{Queues: refs("a", "b"), Exact: true}},
		{name: "alternate exchange when nothing matched", parts: []part{abc, exchange("direct", "x", "alternate-exchange", "y"), exchange("fanout", "y"), bind("y", "", "c"), bind("x", "k", "a")}, exchange: "x", keys: []string{"other"}, want: Route{Queues: refs("c"), Exact: true}},
		{name: "no alternate exchange when something matched", parts: []part{abc, exchange("direct", "x", "alternate-exchange", "y"), exchange("fanout", "y"), bind("y", "", "c"), bind("x", "k", "a")}, exchange: "x", keys: []string{"k"}, want: Route{Queues: refs("a"), Exact: true}},
		{name: "a matching exchange that leads nowhere keeps the alternate away", parts: []part{abc, exchange("direct", "x", "alternate-exchange", "y"), exchange("fanout", "y"), bind("y", "", "c"), exchange("fanout", "z"), bindExchange("x", "k", "z")}, exchange: "x", keys: []string{"k"}, want: Route{Exact: true}},
		{name: "an alternate exchange that does not exist", parts: []part{abc, exchange("direct", "x", "alternate-exchange", "nope")}, exchange: "x", keys: []string{"k"}, want: Route{Exact: true}},
		{name: "a missing exchange", parts: []part{abc}, exchange: "nope", keys: []string{"k"}, want: Route{Exact: true, MissingExchange: "nope"}},
		{name: "a binding to a queue that vanished", parts: []part{abc, exchange("fanout", "x"), bind("x", "", "gone"), bind("x", "", "a")}, exchange: "x", keys: []string{""}, want: Route{Queues: refs("a"), Exact: true}},
		{name: "consistent hash: the possible set", parts: []part{abc, exchange("x-consistent-hash", "x"), bind("x", "1", "a"), bind("x", "1", "b")}, exchange: "x", keys: []string{"k"}, want: Route{Queues: refs("a", "b")}},
		{name: "x-delayed-message routes by its type, later", parts: []part{abc, exchange("x-delayed-message", "x", "x-delayed-type", "direct"), bind("x", "k", "a"), bind("x", "l", "b")}, exchange: "x", keys: []string{"k"}, want: Route{Queues: refs("a"), Delays: true}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := topologyOf("3.10.8", test.parts...).Route("/", test.exchange, test.keys, test.headers)
			if got.Exact != (got.Why == "") {
				t.Errorf("exact is %v, and the reason against it is %q", got.Exact, got.Why)
			}
			got.Through, got.Why = nil, ""
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatCouldNotBeReadIsUnknown(t *testing.T) {
	s := broker("3.10.8", exchange("direct", "x"), queue("a", dlx("x"), deadKey("k"), ttl(1000)), queue("b", dlx("nope"), ttl(1000)))
	s.Bindings = nil
	topology := NewTopology(s)
	if r := topology.Route("/", "x", []string{"k"}, nil); !r.Unread || r.Exact || r.Why == "" {
		t.Errorf("%+v", r)
	}
	if f := topology.Findings(); len(f) != 0 {
		t.Errorf("findings about routing that nobody read: %+v", f)
	}
	if r := topology.Route("/", "", []string{"a"}, nil); len(r.Queues) != 1 || !r.Exact {
		t.Errorf("the default exchange needs no bindings: %+v", r)
	}
	plan := topology.Plan(ActionWant{Operation: Replay, From: ref("a"), Planned: 1, Mode: ToExchange, Fixed: Address{"x", "k"}})
	if !strings.Contains(plan.Refusal, "could not be read") {
		t.Errorf("refusal %q", plan.Refusal)
	}
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
		if got := topicMatches(topicWords(test.pattern), topicWords(test.key)); got != test.want {
			t.Errorf("pattern %q, key %q: %v", test.pattern, test.key, got)
		}
	}
}

// The rule of the specification, word by word and without cleverness.
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
		pattern := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "*", "#", ""}), 0, 7).Draw(t, "pattern"), ".")
		key := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", ""}), 0, 7).Draw(t, "key"), ".")
		p, k := topicWords(pattern), topicWords(key)
		if got, want := topicMatches(p, k), topicRule(p, k); got != want {
			t.Fatalf("pattern %q, key %q: %v, want %v", pattern, key, got, want)
		}
	})
}

func TestHeadersMatch(t *testing.T) {
	tests := []struct {
		name    string
		binding Table
		headers Table
		want    bool
	}{
		{"all is the default", Table{"a": "1", "b": "2"}, Table{"a": "1"}, false},
		{"all", Table{"x-match": "all", "a": "1"}, Table{"a": "1", "c": "3"}, true},
		{"any", Table{"x-match": "any", "a": "1", "b": "2"}, Table{"b": "2"}, true},
		{"any of none", Table{"x-match": "any"}, Table{"b": "2"}, false},
		{"all of none", Table{"x-match": "all"}, nil, true},
		{"x- keys do not count", Table{"x-match": "all", "x-a": "1"}, nil, true},
		{"x- keys count with all-with-x", Table{"x-match": "all-with-x", "x-a": "1"}, nil, false},
		{"x- keys count with any-with-x", Table{"x-match": "any-with-x", "x-a": "1"}, Table{"x-a": "1"}, true},
		{"nil asks for presence", Table{"a": nil}, Table{"a": int32(7)}, true},
		{"nil and absent", Table{"a": nil}, Table{}, false},
		{"integers of any width", Table{"a": int64(7)}, Table{"a": int8(7)}, true},
		{"an integer is no float", Table{"a": int64(7)}, Table{"a": float64(7)}, false},
		{"an integer is no text", Table{"a": int64(7)}, Table{"a": "7"}, false},
		{"booleans", Table{"a": true}, Table{"a": true}, true},
	}
	for _, test := range tests {
		if got := headersMatch(test.binding, test.headers); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}
