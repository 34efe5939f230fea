package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/loss"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/target"
)

// changedWords are the changes between plans of the same want on two brokers.
func changedWords(want ActionWant, before, after *model.Topology) string {
	was, is := New(before, want), New(after, want)
	a, b := was.Promise(), is.Promise()
	return ChangesWords(a.Changes(&b))
}

func TestPromiseChanges(t *testing.T) {
	base := []build.Part{
		build.Exchange("direct", "x"), build.Queue("failed"), build.Queue("w", build.Consumers(1)),
		build.Queue("audit"), build.Bind("x", "k", "w"),
	}
	with := func(parts ...build.Part) *model.Topology {
		return build.TopologyOf("3.10.8", append(append([]build.Part{}, base...), parts...)...)
	}
	gone := build.TopologyOf("3.10.8", build.Exchange("direct", "x"), build.Queue("failed"), build.Queue("audit"))
	m := message.Message{Exchange: "x", RoutingKey: "k", Headers: model.Table{"x-death": []any{}}}
	replay := ActionWant{
		Operation: Replay, From: build.Ref("failed"), Sample: message.MessageList{m}, Planned: 1, Mode: target.ToExchange,
		Fixed: model.Address{Exchange: "x", RoutingKey: "k"},
	}
	auto := ActionWant{
		Operation: Replay, From: build.Ref("failed"), Sample: message.MessageList{m}, Planned: 1, Mode: target.ToOrigin,
	}
	move := ActionWant{
		Operation: Move, From: build.Ref("failed"), Sample: message.MessageList{m}, Planned: 1, Mode: target.ToQueue,
		Fixed: model.Address{RoutingKey: "audit"},
	}
	drop := ActionWant{Operation: Drop, From: build.Ref("failed"), Planned: 1}
	for _, test := range []struct {
		name          string
		want          ActionWant
		before, after *model.Topology
		words         string
	}{
		{"the same", replay, with(), with(), ""},
		{"other consumers and counts", replay, with(), build.TopologyOf("3.10.8", build.Exchange("direct",
			"x"), build.Queue("failed"),
			build.Queue("w", build.Consumers(3), build.Ready(9)), build.Bind("x", "k", "w")), ""},
		{"what does not concern it", replay, with(), with(build.Exchange("fanout", "y"), build.Bind("y", "", "audit")), ""},
		{"a queue is bound", replay, with(), with(build.Bind("x", "k", "audit")), "exchange x, key k now also reaches audit"},
		{
			"a queue is unbound", replay, with(build.Bind("x", "k", "audit")), with(),
			"exchange x, key k does not reach audit any more",
		},
		{"an exchange is bound", replay, with(), with(build.Exchange("fanout", "y"), build.BindExchange("x", "k", "y"),
			build.Bind("y", "", "audit")), "now also reaches audit"},
		{
			"an alternate exchange", replay, with(), build.TopologyOf("3.10.8",
				build.Exchange("direct", "x", "alternate-exchange", "y"), build.Exchange("fanout",
					"y"), build.Queue("failed"), build.Queue("w"), build.Queue("audit"), build.Bind("y", "", "audit")),
			"exchange x, key k now also reaches audit; exchange x, key k does not reach w any more",
		},
		{"a rule of its own", replay, with(), build.TopologyOf("3.10.8", build.Exchange("x-random", "x"),
			build.Queue("failed"),
			build.Queue("w"), build.Bind("x", "k", "w")), "chooses by a rule of its own"},
		{"nobody is reached", auto, with(), gone, "no queue is bound for key k on x"},
		{
			"the queue of a move is gone", move, with(), build.TopologyOf("3.10.8", build.Queue("failed")),
			"there is no queue audit",
		},
		{"the queue of a move counts deaths", move, with(), build.TopologyOf("3.10.8", build.Queue("failed"),
			build.Queue("audit", build.Consumers(1))), "x-death is now removed"},
		{
			"a limit", move, with(), build.TopologyOf("3.10.8", build.Queue("failed"), build.Queue("audit", maxLength(0))),
			"audit keeps at most 0 messages",
		},
		{
			"the queue of a drop is gone", drop, with(), build.TopologyOf("3.10.8", build.Queue("w")),
			"there is no queue failed",
		},
	} {
		got := changedWords(test.want, test.before, test.after)
		assert.That(t, (test.words != "" || got == "") && strings.Contains(got, test.words),
			"%s: %q instead of %q", test.name, got, test.words)
	}
}

// Where headers decide, messages to one address reach different queues.
func TestPromiseOfAWay(t *testing.T) {
	topology := build.TopologyOf("3.10.8", build.Exchange("headers", "x"), build.Queue("failed"), build.Queue("a"),
		build.Queue("b"),
		build.BindHeaders("x", "a", model.Table{"x-match": "all", "h": "a"}), build.BindHeaders("x", "b", model.Table{
			"x-match": "all", "h": "b",
		}))
	plan := New(topology, ActionWant{
		Operation: Replay, From: build.Ref("failed"), Sample: message.MessageList{
			{Headers: model.Table{"h": "b"}},
			{Headers: model.Table{"h": "a"}},
			{Headers: model.Table{"h": "a"}},
		},
		Planned: 3, Mode: target.ToExchange, Fixed: model.Address{Exchange: "x", RoutingKey: ""},
	})
	promise := plan.Promise()
	assert.That(t, len(promise.Ways) == 1 && model.Names(promise.Ways[0].Reaches) == model.Names(build.Refs("a", "b")),
		"%+v", promise)
}

func TestUndoPromiseChanges(t *testing.T) {
	was := Promise{Takes: []PromisedTake{{build.Ref("w"), 3}, {build.Ref("v"), 1}}, Messages: 6}
	for _, test := range []struct {
		is    Promise
		words string
	}{
		{was, ""},
		{
			Promise{Takes: []PromisedTake{{build.Ref("w"), 2}, {build.Ref("v"), 1}}, Messages: 5},
			"2 messages come back from w instead of 3",
		},
		{Promise{Takes: []PromisedTake{{build.Ref("w"), 3}}, Messages: 5}, "0 messages come back from v instead of 1"},
		{Promise{Takes: was.Takes, Messages: 4}, "it would act on 4 messages instead of 6"},
		{Promise{Refusal: Refusal{NothingLeft{}}}, "there is nothing to undo"},
	} {
		assert.Equal(t, ChangesWords(was.Changes(&test.is)), test.words)
	}
}

// A loss that the user agreed to must not grow.
func TestLossesGrow(t *testing.T) {
	losing := func(old, ours int) Promise {
		return Promise{Losses: []loss.ByLimit{{
			Queue: build.Ref("w"), Holds: model.Some(int64(old)), Comes: 12, Old: old, Ours: ours,
		}}}
	}
	was := losing(3, 7)
	for _, test := range []struct {
		is      Promise
		changes int
	}{{losing(3, 7), 0}, {losing(2, 6), 0}, {Promise{}, 0}, {losing(3, 8), 1}, {losing(4, 7), 1}} {
		got := was.Changes(&test.is)
		assert.That(t, len(got) == test.changes, "%+v: %+v", test.is, got)
	}
}

// A copy that was sent, or that an earlier plan will send, is not sent again, but one that failed afterwards is.
func TestDoubling(t *testing.T) {
	topology := build.TopologyOf("3.10.8", build.Queue("w", build.Consumers(1)), build.Queue("a"), build.Queue("b"))
	began := time.Unix(1_700_000_000, 0)
	of := func(id string, died int64, mark string) message.Message {
		death := model.Table{"queue": "w", "reason": "rejected", "count": int64(1), "time": time.Unix(died, 0)}
		m := message.Message{Headers: model.Table{"x-death": []any{death}}, Body: []byte("{}")}
		if mark != "" {
			m.Headers[message.ReplayHeader] = mark
		}
		m.Properties.MessageID = id
		m.Deaths, _ = message.ParseDeaths(m.Headers)
		m.Identify()
		return m
	}
	before, after := began.Unix()-60, began.Unix()+60
	first := []message.Message{of("m1", before, ""), of("", before, ""), of("m2", after, "")}
	for name, test := range map[string]struct {
		from    string
		marked  bool
		planned bool // the first ones are still to be sent
		m       message.Message
		held    bool
	}{
		"a copy":                          {"b", true, false, of("m1", before, ""), true},
		"a copy, without marks":           {"b", false, false, of("m1", before, ""), true},
		"a copy that died elsewhere, too": {"b", true, false, of("m1", before-9, ""), true},
		"it failed again":                 {"b", true, false, of("m1", after, ""), false},
		"it failed again, marked": {
			"b", true, false, of("m1", before, "count=1; time=2023-11-14T22:13:20Z; replay=X"), false,
		},
		"the same failure by a clock that is ahead": {"b", true, false, of("m2", after, ""), true},
		"without marks nothing is sure of that":     {"b", false, false, of("m2", after, ""), false},
		"another message":                           {"b", true, false, of("m3", before, ""), false},
		"a copy without an id":                      {"b", true, false, of("", before, ""), true},
		"a twin without an id":                      {"a", true, false, of("", before, ""), false},
		"another death without an id":               {"b", true, false, of("", before-9, ""), false},
		"a copy of what a plan will send":           {"b", true, true, of("m2", before, ""), true},
		"a twin of what a plan will send":           {"b", true, true, of("", before, ""), true},
	} {
		d, want := NewDoubles(), ActionWant{
			Operation: Replay, From: build.Ref("a"), Sample: message.MessageList(first), Planned: 3, Mark: test.marked,
			Mode: target.ToQueue, Fixed: model.Address{RoutingKey: "w"}, User: "guest",
		}
		if test.planned {
			d.Expect(topology, want)
		} else {
			d.Sender(want.From, began, test.marked)
			for i := range first {
				for _, c := range entryCopies(&first[i], []model.QueueRef{build.Ref("w")}) {
					d.Add(c)
				}
			}
		}
		want.From, want.Sample, want.Sent = build.Ref(test.from), message.MessageList{test.m}, d
		p := New(topology, want)
		assert.That(t, p.Refusal.Refused() == test.held, "%s: %q, want held %v", name, p.Refusal.Words(), test.held)
		want.Doubles = true
		p = New(topology, want)
		assert.That(t, !p.Refusal.Refused(), "%s: asked for, %s", name, p.Refusal.Words())
	}
}
