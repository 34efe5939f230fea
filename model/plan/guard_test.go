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

var toWorker, toAudit = build.Bind("x", "k", "w"), build.Bind("x", "k", "audit")

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
	must.Equal(t, plan.Refusal.Words(), "")

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
	g, with, plan := guarded(t, "direct", toWorker)
	wantRead(t, g, with(toAudit),
		"exchange x, key k now also reaches audit") // before anything was published
	send(t, g, plan, 3, "1")
	assert.That(t, g.Needed(), "nothing is to be looked at")
	assert.That(t, g.Unsure(), "nothing is to be looked at")
	g.Reading()
	send(t, g, plan, 2, "1") // while it is read
	wantRead(t, g, with(), "")
	send(t, g, plan, 1, "1")
	g.Reading()
	wantRead(t, g, with(toAudit), "exchange x, key k now also reaches audit; 3 in audit")
	send(t, g, plan, 1, "1") // in flight
	wantRead(t, g, with(toAudit), "exchange x, key k now also reaches audit; 4 in audit")
	g.Reading()
	wantRead(t, g, with(), "")
	assert.That(t, !g.Unsure(), "something is left to be looked at")
}

func TestGuardOfAQueueThatIsGone(t *testing.T) {
	g, _, plan := guarded(t, "direct", toWorker)
	send(t, g, plan, 1, "1")
	wantRead(t, g, build.Described("3.10.8", `
		exchange direct x
		queue failed
		queue w
	`),
		"exchange x, key k does not reach w any more")
}

func TestGuardKnowsNothing(t *testing.T) {
	g, with, plan := guarded(t, "direct", toWorker)
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
	topology := build.Described("3.10.8", `
		exchange direct x
		queue failed
		queue w
		bind x k w
	`)
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
	g, _, plan := guarded(t, "direct", toWorker)
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
	wantRead(t, g, build.TopologyOf("3.10.8", append(parts, toWorker)...), added+"; 3 in audit")
}

// Messages published until a change stopped the run may have gone where only a later reading shows.
func TestGuardReadsOnceMore(t *testing.T) {
	g, with, plan := guarded(t, "direct", build.Text(`
		queue other
		bind x k w
	`))
	send(t, g, plan, 3, "1")
	changes, _ := g.Read(with(toAudit))
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
	g, with, plan := guarded(t, "direct", toWorker)
	send(t, g, plan, 3, "1")
	assert.Equal(t, g.Hidden(), "", "is hidden")
	changes, _ := g.Read(build.Described("3.10.8", `
		queue failed
		queue w
	`))
	assert.Equal(t, len(changes), 1, "%+v, hidden is %q", changes, g.Hidden())
	assert.Equal(t, g.Hidden(), "x")
	g, _, plan = guarded(t, "direct", toWorker)
	send(t, g, plan, 3, "1")
	_, _ = g.Read(with(toAudit))
	assert.That(t, g.Hidden() == "", "%s is hidden", g.Hidden())
}

// Watermill writes down a topic: the worker's queue if one has that name, otherwise an exchange, or nothing that
// outweighs x-death or the flow.
func TestTopicOfWatermill(t *testing.T) {
	type expected struct {
		Name     string
		Parts    build.Part
		From     string
		Deaths   []message.Death
		To, Told string // To "": refused
	}
	must.Run(t, "testdata/watermill_topics.toml", func(t *testing.T, test expected) {
		m := message.Message{
			Headers: model.Table{"topic_poisoned": "orders", "reason_poisoned": "503"}, Deaths: test.Deaths,
			Exchange: "poison",
		}

		plan := newRun(build.TopologyOf("3.10.8", test.Parts), replayOf(test.From, "auto", m))
		told := plan.Refusal.Words() + warnedOf(plan.Warnings)
		must.Equal(t, plan.Refusal.Refused(), test.To == "", "refused: %s", told)
		must.Contains(t, told, test.Told)
		if test.To != "" {
			assert.Equal(t, outcomeOf(plan), "to "+test.To)
		}
	})
}

// changedWords returns the changes between plans of the same want on two brokers.
func changedWords(want ActionWant, before, after *model.Topology) string {
	was, is := New(before, want), New(after, want)
	a, b := was.Promise(), is.Promise()
	return ChangesWords(a.Changes(&b))
}

func TestPromiseChanges(t *testing.T) {
	base := build.Text(`
		exchange direct x
		queue failed
		queue w consumers=1
		queue audit
		bind x k w
	`)
	m := message.Message{Exchange: "x", RoutingKey: "k", Headers: model.Table{"x-death": []any{}}}
	wants := map[string]ActionWant{
		"replay": wantTo(t, build.TopologyOf("3.10.8", base), "failed", "exchange:x/k", m),
		"origin": replayOf("failed", "origin", m),
		"move":   moveOf("failed", "audit", m),
		"drop":   {Operation: Drop, From: build.Ref("failed"), Planned: 1},
	}

	for _, test := range must.Cases[struct {
		Name, Action, Words string
		Was, Is             build.Part
	}](t, "testdata/promises.toml") {
		if test.Was == nil {
			test.Was = base
		}

		before, after := build.TopologyOf("3.10.8", test.Was), build.TopologyOf("3.10.8", test.Is)
		got := changedWords(wants[test.Action], before, after)
		assert.Equal(t, got == "", test.Words == "", "%s: %q", test.Name, got)
		assert.Contains(t, got, test.Words, "%v", test.Name)
	}
}

// Where headers decide, messages to one address reach different queues.
func TestPromiseOfAWay(t *testing.T) {
	topology := build.Described("3.10.8", `
		exchange headers x
		queue failed
		queue a
		queue b
		bind-headers x a x-match=all h=a
		bind-headers x b x-match=all h=b
	`)

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
	topology := build.Described("3.10.8", `
		queue w consumers=1
		queue a
		queue b
	`)
	began := time.Unix(1_700_000_000, 0)
	of := func(id string, died time.Duration, mark string) message.Message {
		death := model.Table{"queue": "w", "reason": "rejected", "count": int64(1), "time": began.Add(died * time.Second)}
		m := message.Message{Headers: model.Table{"x-death": []any{death}}, Body: []byte("{}")}
		if mark != "" {
			m.Headers[message.ReplayHeader] = mark
		}
		m.Properties.MessageID = id
		m.Deaths, _ = message.ParseDeaths(m.Headers)
		m.Identify()
		return m
	}

	first := []message.Message{of("m1", -60, ""), of("", -60, ""), of("m2", 60, "")}
	for _, test := range must.Cases[struct {
		Name, From, ID, Mark    string
		Died                    time.Duration // in seconds after the replay began
		Unmarked, Planned, Held bool
	}](t, "testdata/doubles.toml") {
		d := NewDoubles()
		want := replayOf("a", "queue:w", first...)
		want.Mark, want.User = !test.Unmarked, "guest"
		if test.Planned {
			d.Expect(topology, want)
		} else {
			d.Sender(Sender{From: want.From, Began: began, Marked: !test.Unmarked, Record: 7})
			for i := range first {
				for _, c := range CopySetOf(&first[i], build.Refs("w")).List() {
					d.Add(c, true)
				}
			}
		}

		want.From = build.Ref(test.From)
		want.Sample = message.MessageList{of(test.ID, test.Died, test.Mark)}
		want.Sent = d
		p := New(topology, want)
		assert.Equal(t, p.Refusal.Refused(), test.Held, "%s: %q", test.Name, p.Refusal.Words())
		want.Doubles = true
		p = New(topology, want)
		assert.That(t, !p.Refusal.Refused(), "%s: asked for, %s", test.Name, p.Refusal.Words())
	}
}

// A message with the id of a replayed one that came later, without a mark, is a new failure of its queue. It is a copy
// in any other queue, and where the earlier replay may not have taken the original out of this one.
func TestMessagesPublishedAgain(t *testing.T) {
	topology := build.Described("4.0.5", `
		queue w consumers=1
		queue a
		queue b
	`)
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

	messages := map[string]message.Message{
		"plain": of(), "before": of(began.Add(-time.Hour)), "after": of(began.Add(time.Hour)),
	}
	for _, test := range must.Cases[struct {
		Name, From, Sent, Next, Refusal string
		Unsure, Unmarked, Warns         bool
	}](t, "testdata/published_again.toml") {
		sent := messages[test.Sent]
		d := NewDoubles()
		want := replayOf(test.From, "queue:w", messages[test.Next])
		want.Mark = true
		want.User = "guest"
		want.Sent = d
		d.Sender(Sender{From: build.Ref("a"), Began: began, Marked: !test.Unmarked, Record: 7})

		for _, c := range CopySetOf(&sent, build.Refs("w")).List() {
			d.Add(c, !test.Unsure)
		}

		p := New(topology, want)
		words := p.Refusal.Words()
		assert.That(t, strings.HasPrefix(words, test.Refusal), "%s: refused with %q", test.Name, words)
		assert.Equal(t, words == "", test.Refusal == "", "%v", test.Name)

		again := "1 was replayed before, on 27 November 2023"
		warned := slices.ContainsFunc(p.Warnings, func(w Warning) bool { return strings.HasPrefix(w.Words(), again) })
		assert.Equal(t, warned, test.Warns, "%s: warns %v", test.Name, p.Warnings)

		want.Doubles = true
		p = New(topology, want)
		assert.That(t, !p.Refusal.Refused(), "%s: asked for, %s", test.Name, p.Refusal.Words())
	}
}
