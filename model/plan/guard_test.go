package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/loss"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/target"
)

// guarded returns a plan through the exchange x with these parts, and its guard.
func guarded(t *testing.T, kind string, parts ...build.Part) (*Guard, func(more ...build.Part) *model.Topology, *Run) {
	t.Helper()
	with := func(more ...build.Part) *model.Topology {
		all := append([]build.Part{
			build.Exchange(kind, "x"), build.Text(`
				queue failed
				queue w
				queue audit
			`),
		}, parts...)
		return build.TopologyOf("3.10.8", append(all, more...)...)
	}

	want := wantTo(t, with(), "failed", "exchange:x/k", message.Message{Headers: model.Table{"h": "1"}})
	want.Planned = 9
	plan := newRun(with(), want)
	must.That(t, !plan.Refusal.Refused(), "%v", plan.Refusal.Words())

	return plan.Guard(), with, plan
}

// send records n messages with this header.
func send(t *testing.T, g *Guard, p *Run, n int, h string) {
	t.Helper()
	for range n {
		out := must.Get(p.Publishing(&message.Message{Headers: model.Table{"h": h}}))(t)
		changes := g.Publishes(&out)
		must.That(t, len(changes) == 0, "%v", ChangesWords(changes))
	}
}

// read returns what a reading finds. The next one begins where this one did, so that a test can read several.
func read(g *Guard, t *model.Topology) string {
	changes, unread := g.Read(t)
	words := ChangesWords(changes) + unread
	for _, s := range g.Strays() {
		words += fmt.Sprintf("; %d in %s", s.Messages, s.Queue.Name)
	}
	g.changed = nil
	return words
}

func wantRead(t *testing.T, g *Guard, topology *model.Topology, want string) {
	t.Helper()
	assert.Equal(t, read(g, topology), want)
}

func TestGuardCountsWhatIsUnsure(t *testing.T) {
	g, with, plan := guarded(t, "direct", build.Bind("x", "k", "w"))
	wantRead(t, g, with(build.Bind("x", "k", "audit")),
		"exchange x, key k now also reaches audit") // before anything was published
	send(t, g, plan, 3, "1")
	assert.That(t, g.Needed(), "nothing is to be looked at")
	assert.That(t, g.Unsure(), "nothing is to be looked at")
	g.Reading()
	send(t, g, plan, 2, "1") // while it is read
	wantRead(t, g, with(), "")
	send(t, g, plan, 1, "1")
	g.Reading()
	wantRead(t, g, with(build.Bind("x", "k", "audit")), "exchange x, key k now also reaches audit; 3 in audit")
	send(t, g, plan, 1, "1") // in flight
	wantRead(t, g, with(build.Bind("x", "k", "audit")), "exchange x, key k now also reaches audit; 4 in audit")
	g.Reading()
	wantRead(t, g, with(), "")
	assert.That(t, !g.Unsure(), "something is left to be looked at")
}

func TestGuardOfAQueueThatIsGone(t *testing.T) {
	g, _, plan := guarded(t, "direct", build.Bind("x", "k", "w"))
	send(t, g, plan, 1, "1")
	wantRead(t, g, build.TopologyOf("3.10.8", build.Text(`
		exchange direct x
		queue failed
		queue w
	`)),
		"exchange x, key k does not reach w any more")
}

func TestGuardKnowsNothing(t *testing.T) {
	g, with, plan := guarded(t, "direct", build.Bind("x", "k", "w"))
	send(t, g, plan, 1, "1")
	snapshot := *with().Snapshot
	snapshot.Bindings = nil
	g.Reading()
	wantRead(t, g, model.NewTopology(&snapshot), "the bindings could not be read")
	assert.That(t, g.Unsure(), "it is sure of what is unknown")
}

// Where headers decide, each message is checked on its own.
func TestGuardByHeaders(t *testing.T) {
	all := func(queue, h string) build.Part {
		return build.BindHeaders("x", queue, model.Table{"x-match": "all", "h": h})
	}
	g, with, plan := guarded(t, "headers", all("w", "1"), all("w", "2"))
	send(t, g, plan, 2, "1")
	send(t, g, plan, 3, "2")
	wantRead(t, g, with(all("audit", "2")), "exchange x, key k now also reaches audit; 3 in audit")
	g.Reading()
	wantRead(t, g, with(), "")
	wantRead(t, g, with(all("audit", "2")), "") // what else is published there is not known yet
	out := must.Get(plan.Publishing(&message.Message{Headers: model.Table{"h": "2"}}))(t)
	assert.Equal(t, ChangesWords(g.Publishes(&out)), "exchange x, key k now also reaches audit", "it is published")
}

// A message beyond the sample has its own address, whose bindings may have changed earlier.
func TestGuardOfAnotherAddress(t *testing.T) {
	g, with, plan := guarded(t, "direct", build.Text(`
		bind x k w
		bind x l w
	`))
	g.Reading()
	wantRead(t, g, with(build.Bind("x", "l", "audit")), "")
	out := must.Get(plan.Publishing(&message.Message{}))(t)
	out.RoutingKey = "l"
	assert.That(t, ChangesWords(g.Publishes(&out)) == "exchange x, key l now also reaches audit", "it is published")
}

// TestGuardIsNotNeeded: nothing can be bound to the default exchange.
func TestGuardIsNotNeeded(t *testing.T) {
	topology := build.TopologyOf("3.10.8", build.Text(`
		exchange direct x
		queue failed
		queue w
		bind x k w
	`))
	for _, want := range []ActionWant{
		{Operation: Move, Mode: target.ToQueue, Fixed: model.Address{RoutingKey: "w"}},
		{Operation: Replay, Mode: target.ToQueue, Fixed: model.Address{RoutingKey: "w"}},
		{Operation: Replay, Mode: target.ToExchange, Fixed: model.Address{RoutingKey: "w"}},
		{Operation: Drop},
	} {
		want.From, want.Planned = build.Ref("failed"), 1
		plan := newRun(topology, want)
		assert.That(t, plan.Guard() == nil, "%s to %+v is guarded", want.Operation, want.Fixed)
	}
}

// What the alternate exchange received before another queue was bound is reported, too.
func TestGuardBetweenTwoChanges(t *testing.T) {
	g, _, plan := guarded(t, "direct", build.Bind("x", "k", "w"))
	send(t, g, plan, 3, "1")
	parts := []build.Part{
		build.Text(`
			exchange direct x alternate-exchange=y
			exchange fanout y
			queue failed
			queue w
			queue audit
			queue spare
			bind y spare
			bind x k audit
		`),
	}

	const added = "exchange x, key k now also reaches audit"
	wantRead(t, g, build.TopologyOf("3.10.8", parts...),
		added+"; exchange x, key k does not reach w any more; 3 in audit; 3 in spare")

	// While the worker is bound, the alternate exchange gets nothing.
	wantRead(t, g, build.TopologyOf("3.10.8", append(parts, build.Bind("x", "k", "w"))...), added+"; 3 in audit")
}

// Messages published until a change stopped the run may have gone where only a later reading shows.
func TestGuardReadsOnceMore(t *testing.T) {
	g, with, plan := guarded(t, "direct", build.Text(`
		queue other
		bind x k w
	`))
	send(t, g, plan, 3, "1")
	changes, _ := g.Read(with(build.Bind("x", "k", "audit")))
	must.Equal(t, len(changes), 1, "%+v", changes)
	must.That(t, g.Changed(), "%+v", changes)
	send(t, g, plan, 1, "1")
	changes, unread := g.Read(with(build.Bind("x", "k", "other")))
	must.Equal(t, len(changes), 1, "%+v", changes)
	must.Equal(t, unread, "")
	strays := g.Strays()
	must.Equal(t, len(strays), 2, "%+v", strays)
	assert.Equal(t, strays[0].Queue, build.Ref("audit"))
	assert.Equal(t, strays[1].Queue, build.Ref("other"))
	assert.Equal(t, strays[0].Messages, 4)
	assert.Equal(t, strays[1].Messages, 4)
}

// What was bound to a deleted exchange is unknown.
func TestGuardOfADeletedExchange(t *testing.T) {
	g, with, plan := guarded(t, "direct", build.Bind("x", "k", "w"))
	send(t, g, plan, 3, "1")
	assert.Equal(t, g.Hidden(), "", "is hidden")
	changes, _ := g.Read(build.TopologyOf("3.10.8", build.Text(`
		queue failed
		queue w
	`)))
	assert.Equal(t, len(changes), 1, "%+v, hidden is %q", changes, g.Hidden())
	assert.Equal(t, g.Hidden(), "x")
	g, _, plan = guarded(t, "direct", build.Bind("x", "k", "w"))
	send(t, g, plan, 3, "1")
	_, _ = g.Read(with(build.Bind("x", "k", "audit")))
	assert.That(t, g.Hidden() == "", "%s is hidden", g.Hidden())
}

// Watermill writes down a topic: the worker's queue if one has that name, otherwise an exchange, or nothing that
// outweighs x-death or the flow.
func TestTopicOfWatermill(t *testing.T) {
	poisoned := func(deaths ...message.Death) message.Message {
		return message.Message{
			Headers: model.Table{"topic_poisoned": "orders", "reason_poisoned": "503"}, Deaths: deaths, Exchange: "poison",
		}
	}

	flow := []build.Part{
		build.Text(`
			queue orders_shop consumers=1 dlx= key=poison
			queue poison
		`),
	}

	fanout := []build.Part{build.Text(`
		exchange fanout orders
		bind orders orders_shop
	`)}
	for _, test := range []struct {
		name  string
		parts []build.Part
		m     message.Message
		to    string // the queue; "": refused
		tells string
	}{
		{
			"a queue of that name",
			[]build.Part{build.Text(`
				queue orders consumers=1
				queue poison
			`)},
			poisoned(),
			"orders", "",
		},
		{
			"an exchange of that name", append(fanout, build.Text(`
				queue orders_shop consumers=1
				queue poison
			`)),

			poisoned(), "orders_shop", "",
		},
		{
			"the flow", flow, poisoned(), "orders_shop",

			"orders, a topic whose queue is gone (Watermill wrote it): the flow decides",
		},
		{
			"x-death",
			[]build.Part{build.Text(`
				queue orders_shop consumers=1
				queue poison
			`)},
			poisoned(message.Death{Queue: "orders_shop", Reason: model.Rejected, Count: 1}), "orders_shop", "",
		},
		{
			"nothing else",
			[]build.Part{build.Queue("poison")},
			poisoned(), "",
			"the worker is not here: orders, a topic whose queue is gone (Watermill wrote it)",
		},

		{
			"a name alone does not outweigh it",
			[]build.Part{build.Text(`
				queue mail consumers=1
				queue mail.poison
				queue poison
			`)},
			poisoned(), "", "orders, a topic whose queue is gone",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			from := "poison"

			if strings.HasPrefix(test.name, "a name") {
				from = "mail.poison"
			}

			plan := newRun(build.TopologyOf("3.10.8", test.parts...), replayOf(from, "auto", test.m))
			told := plan.Refusal.Words() + warnedOf(plan.Warnings)
			must.Equal(t, plan.Refusal.Refused(), test.to == "", "refusal %t: %s", plan.Refusal.Refused(), told)
			must.Contains(t, told, test.tells)
			assert.That(t, test.to == "" || len(plan.Recipients) == 1 && plan.Recipients[0].Queue.Name == test.to,
				"goes to %+v", plan.Recipients)
		})
	}
}

// changedWords returns the changes between plans of the same want on two brokers.
func changedWords(want ActionWant, before, after *model.Topology) string {
	was, is := New(before, want), New(after, want)
	a, b := was.Promise(), is.Promise()
	return ChangesWords(a.Changes(&b))
}

func TestPromiseChanges(t *testing.T) {
	base := []build.Part{
		build.Text(`
			exchange direct x
			queue failed
			queue w consumers=1
			queue audit
			bind x k w
		`),
	}

	with := func(parts ...build.Part) *model.Topology {
		return build.TopologyOf("3.10.8", append(append([]build.Part{}, base...), parts...)...)
	}
	gone := build.TopologyOf("3.10.8", build.Text(`
		exchange direct x
		queue failed
		queue audit
	`))
	m := message.Message{Exchange: "x", RoutingKey: "k", Headers: model.Table{"x-death": []any{}}}
	replay := wantTo(t, with(), "failed", "exchange:x/k", m)
	auto := replayOf("failed", "origin", m)
	move := moveOf("failed", "audit", m)

	drop := ActionWant{Operation: Drop, From: build.Ref("failed"), Planned: 1}
	for _, test := range []struct {
		name          string
		want          ActionWant
		before, after *model.Topology
		words         string
	}{
		{"the same", replay, with(), with(), ""},
		{"other consumers and counts", replay, with(), build.TopologyOf("3.10.8", build.Text(`
			exchange direct x
			queue failed
			queue w consumers=3 ready=9
			bind x k w
		`)), ""},
		{"what does not concern it", replay, with(), with(build.Text(`
			exchange fanout y
			bind y audit
		`)), ""},
		{"a queue is bound", replay, with(), with(build.Bind("x", "k", "audit")), "exchange x, key k now also reaches audit"},
		{
			"a queue is unbound", replay, with(build.Bind("x", "k", "audit")), with(),
			"exchange x, key k does not reach audit any more",
		},

		{"an exchange is bound", replay, with(), with(build.Text(`
			exchange fanout y
			bind-exchange x k y
			bind y audit
		`)), "now also reaches audit"},
		{
			"an alternate exchange", replay, with(), build.TopologyOf("3.10.8",
				build.Text(`
					exchange direct x alternate-exchange=y
					exchange fanout y
					queue failed
					queue w
					queue audit
					bind y audit
				`)),

			"exchange x, key k now also reaches audit; exchange x, key k does not reach w any more",
		},
		{"a rule of its own", replay, with(), build.TopologyOf("3.10.8", build.Text(`
			exchange x-random x
			queue failed
			queue w
			bind x k w
		`)), "chooses by a rule of its own"},
		{"no queue is reached", auto, with(), gone, "no queue is bound for key k on x"},
		{
			"the queue of a move is gone", move, with(), build.TopologyOf("3.10.8", build.Queue("failed")),
			"there is no queue audit",
		},
		{"the queue of a move counts deaths", move, with(), build.TopologyOf("3.10.8", build.Text(`
			queue failed
			queue audit consumers=1
		`)), "x-death is now removed"},
		{
			"a limit", move, with(), build.TopologyOf("3.10.8", build.Text("queue failed\nqueue audit max-length=0")),
			"audit keeps at most 0 messages",
		},

		{
			"the queue of a drop is gone", drop, with(), build.TopologyOf("3.10.8", build.Queue("w")),
			"there is no queue failed",
		},
	} {
		got := changedWords(test.want, test.before, test.after)
		assert.That(t, test.words != "" || got == "", "%s: %q instead of %q", test.name, got, test.words)
		assert.Contains(t, got, test.words, "%v", test.name)
	}
}

// Where headers decide, messages to one address reach different queues.
func TestPromiseOfAWay(t *testing.T) {
	topology := build.TopologyOf("3.10.8", build.Text(`
		exchange headers x
		queue failed
		queue a
		queue b
		bind-headers x a x-match=all h=a
		bind-headers x b x-match=all h=b
	`))

	a := message.Message{Headers: model.Table{"h": "a"}}
	b := message.Message{Headers: model.Table{"h": "b"}}
	plan := New(topology, wantTo(t, topology, "failed", "exchange:x/", b, a, a))
	promise := plan.Promise()
	must.Equal(t, len(promise.Ways), 1, "%+v", promise)
	assert.Equal(t, model.Names(promise.Ways[0].Reaches), model.Names(build.Refs("a", "b")))
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
		return Promise{Harm: Harm{Losses: []loss.ByLimit{{
			AtLimit: loss.AtLimit{Queue: build.Ref("w"), Holds: model.Some(int64(old)), Comes: 12}, Old: old, Ours: ours,
		}}}}
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
	topology := build.TopologyOf("3.10.8", build.Text(`
		queue w consumers=1
		queue a
		queue b
	`))
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
		d := NewDoubles()
		want := replayOf("a", "queue:w", first...)
		want.Mark, want.User = test.marked, "guest"

		if test.planned {
			d.Expect(topology, want)
		} else {
			d.Sender(Sender{From: want.From, Began: began, Marked: test.marked, Record: 7})
			for i := range first {
				for _, c := range entryCopies(&first[i], build.Refs("w")) {
					d.Add(c, true)
				}
			}
		}

		want.From = build.Ref(test.from)
		want.Sample = message.MessageList{test.m}
		want.Sent = d
		p := New(topology, want)
		assert.That(t, p.Refusal.Refused() == test.held, "%s: %q, want held %v", name, p.Refusal.Words(), test.held)
		want.Doubles = true
		p = New(topology, want)
		assert.That(t, !p.Refusal.Refused(), "%s: asked for, %s", name, p.Refusal.Words())
	}
}

// A message with the id of a replayed one that came later, without a mark, is a new failure of its queue. It is a copy
// in any other queue, and where the earlier replay may not have taken the original out of this one.
func TestMessagesPublishedAgain(t *testing.T) {
	topology := build.TopologyOf("4.0.5", build.Text(`
		queue w consumers=1
		queue a
		queue b
	`))
	began := time.Date(2023, 11, 27, 12, 0, 0, 0, time.Local)
	of := func(died ...time.Time) message.Message {
		m := message.Message{Body: []byte("{}")}
		m.Properties.MessageID = "m1"
		for _, at := range died {
			death := model.Table{"queue": "w", "reason": "rejected", "count": int64(1), "time": at}
			m.Headers = model.Table{"x-death": []any{death}}
		}

		m.Deaths, _ = message.ParseDeaths(m.Headers)
		m.Identify()
		return m
	}

	plain := of()
	before := of(began.Add(-time.Hour))
	after := of(began.Add(time.Hour))
	const again = "1 was replayed before, on 27 November 2023"

	const resume, elsewhere = "dlxtop journal resume 7: ", "a copy from a"
	for name, test := range map[string]struct {
		from       string
		sent, next message.Message
		unsure     bool // the outcome of the earlier replay is unknown
		unmarked   bool // that replay did not mark its messages
		refusal    string
		warning    string
	}{
		"nothing says when it failed":            {from: "a", sent: plain, next: plain, warning: again},
		"it failed after the replay":             {from: "a", sent: before, next: after, warning: again},
		"the original had no deaths":             {from: "a", sent: plain, next: after, warning: again},
		"the replay marked nothing":              {from: "a", sent: plain, next: plain, unmarked: true, warning: again},
		"in another queue":                       {from: "b", sent: plain, next: plain, refusal: elsewhere},
		"in another queue, of another time":      {from: "b", sent: before, next: before, refusal: elsewhere},
		"the same death: it never left":          {from: "a", sent: before, next: before, refusal: elsewhere},
		"an earlier death: it was there, too":    {from: "a", sent: after, next: before, refusal: elsewhere},
		"the replay ended in the middle":         {from: "a", sent: plain, next: plain, unsure: true, refusal: resume},
		"the same, seen in another queue":        {from: "b", sent: plain, next: plain, unsure: true, refusal: resume},
		"it ended in the middle, failed after":   {from: "a", sent: before, next: after, unsure: true, warning: again},
		"it ended in the middle, the same death": {from: "a", sent: before, next: before, unsure: true, refusal: resume},
	} {
		d := NewDoubles()

		want := replayOf(test.from, "queue:w", test.next)
		want.Mark = true
		want.User = "guest"
		want.Sent = d
		d.Sender(Sender{From: build.Ref("a"), Began: began, Marked: !test.unmarked, Record: 7})

		for _, c := range entryCopies(&test.sent, build.Refs("w")) {
			d.Add(c, !test.unsure)
		}

		p := New(topology, want)
		words := p.Refusal.Words()
		assert.That(t, strings.HasPrefix(words, test.refusal), "%s: refused with %q", name, words)
		assert.Equal(t, words == "", test.refusal == "", "%v", name)
		warned := slices.ContainsFunc(p.Warnings, func(w Warning) bool { return strings.HasPrefix(w.Words(), again) })
		assert.That(t, warned == (test.warning != ""), "%s: warns %v", name, p.Warnings)
		want.Doubles = true
		p = New(topology, want)
		assert.That(t, !p.Refusal.Refused(), "%s: asked for, %s", name, p.Refusal.Words())
	}
}
