package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
)

const rejectDLX = "reject-publish-dlx"

func overflow(kind string) build.Setting { return build.Argument("x-overflow", kind) }

func operatorPolicy(definition model.Table) build.Setting {
	return func(q *model.Queue) {
		q.OperatorPolicy = "op"
		q.PolicyDefinition = definition
	}
}

func unknownDepth(q *model.Queue) { q.Ready = model.Unknown[int64]() }

// fullTargets are replays of three messages, unless a row has a sample, from f to a queue w with these settings, whose
// dead letters go to the queue aside.
var fullTargets = []struct {
	name    string
	w       []build.Setting
	parts   []build.Part
	to      string // instead of w by name
	sample  message.MessageList
	counts  model.QueueCounts // newer ones of w
	more    int               // planned beyond the sample
	refused string            // "" where the plan may run
	warns   string            // of one that may run; "" where nothing is refused
}{
	{
		name: "full", w: set(build.Ready(5), maxLength(5), overflow("reject-publish")),
		refused: "w keeps at most 5 messages (argument, overflow reject-publish) and holds 5: it refuses these 3",
	},
	{name: "room for all", w: set(build.Ready(2), maxLength(5), overflow("reject-publish"))},
	{
		name: "room for some: the others stay", w: set(build.Ready(4), maxLength(5), overflow("reject-publish")),
		warns: "holds 4: it refuses 2 of these 3; they stay where they are",
	},
	{
		name: "room for some, and the others leave copies",
		w:    set(build.Ready(4), maxLength(5), overflow(rejectDLX), build.DLX("", "aside")),
		refused: "w keeps at most 5 messages (argument, overflow reject-publish-dlx) and holds 4: it refuses 2 of these 3; " +
			"its dead-letter exchange takes a copy of each refused one to aside",
	},
	{
		name:  "no dead-letter exchange, no copies",
		w:     set(build.Ready(4), maxLength(5), overflow(rejectDLX)),
		warns: "it refuses 2 of these 3; they stay where they are",
	},
	{
		name: "a dead-letter exchange that leads nowhere", parts: []build.Part{build.Exchange("fanout", "void")},
		w:     set(build.Ready(4), maxLength(5), overflow(rejectDLX), build.DLX("void")),
		warns: "it refuses 2 of these 3; they stay where they are",
	},
	{
		name:    "copies come back into the queue that is replayed",
		w:       set(build.Ready(5), maxLength(5), overflow(rejectDLX), build.DLX("", "f")),
		refused: "takes a copy of each refused one to f",
	},
	{
		name: "bytes: a smaller one fits after a larger one", sample: sized(60, 50, 40),
		w:     set(maxBytes(100), overflow("reject-publish")),
		warns: "w keeps at most 100B (argument, overflow reject-publish) and holds 0: it refuses 1 of these 3",
	},
	{
		name: "bytes and copies", sample: sized(60, 50, 40),
		w:       set(maxBytes(100), overflow(rejectDLX), build.DLX("", "aside")),
		refused: "it refuses 1 of these 3; its dead-letter exchange takes a copy",
	},
	{
		name: "bytes, full", w: set(build.Ready(5), readyBytes(95), maxBytes(100), overflow("reject-publish")),
		refused: "w keeps at most 100B (argument, overflow reject-publish) and holds 5: it refuses these 3",
	},
	{
		name: "the limit by a policy, the overflow by the argument", w: set(build.Ready(9), overflow("reject-publish"),
			build.Policy("cap", model.Table{"max-length": int64(5), "overflow": "drop-head"})),
		refused: "w keeps at most 5 messages (policy cap, overflow reject-publish) and holds 9: it refuses these 3",
	},
	{
		name: "an argument wins on a classic queue: it drops", w: set(build.Ready(5), maxLength(5), overflow("drop-head"),
			build.Policy("refuse", model.Table{"overflow": "reject-publish"})),
		refused: "overflow drop-head) and holds 5: 3 messages would be dropped",
	},
	{
		name: "a policy wins on a quorum queue", w: set(build.OfType(model.Quorum), build.Ready(6), maxLength(5),
			overflow("drop-head"), build.Policy("refuse", model.Table{"overflow": "reject-publish"})),
		refused: "w keeps at most 5 messages (argument, overflow reject-publish) and holds 6: it refuses these 3",
	},
	{
		name: "an operator policy", w: set(build.Ready(5),
			operatorPolicy(model.Table{"max-length": int64(5), "overflow": rejectDLX}), build.DLX("", "aside")),
		refused: "(operator policy op, overflow reject-publish-dlx) and holds 5: it refuses these 3; its dead-letter",
	},
	{
		name:  "a quorum queue takes one more than its limit",
		w:     set(build.OfType(model.Quorum), build.Ready(5), maxLength(5), overflow("reject-publish")),
		warns: "it refuses up to 2 of these 3",
	},
	{
		name: "reject-publish-dlx on a quorum queue drops", w: set(build.OfType(model.Quorum), build.Ready(5), maxLength(5),
			overflow(rejectDLX), build.DLX("", "aside")),
		refused: "3 of the 5 that it holds; its dead-letter exchange (default) takes them to aside",
	},
	{
		name:    "consumers may make room",
		w:       set(build.Ready(5), maxLength(5), overflow("reject-publish"), build.Consumers(1)),
		refused: "holds 5: unless consumers take messages before, it refuses these 3",
	},
	{
		name: "full by a newer count", w: set(maxLength(5), overflow("reject-publish")),
		counts: model.QueueCounts{Ready: build.Some(5)}, refused: "holds 5: it refuses these 3",
	},
	{
		name: "drained by a newer count", w: set(build.Ready(5), maxLength(5), overflow("reject-publish")),
		counts: model.QueueCounts{Ready: build.Some(0)},
	},
	{
		name: "unknown depth", w: set(maxLength(5), overflow("reject-publish"), unknownDepth),
		warns: "dlxtop does not know how full it is: it may refuse some of these 3; they stay where they are",
	},
	{
		name: "unknown depth, and copies", w: set(maxLength(5), overflow(rejectDLX), build.DLX("", "aside"), unknownDepth),
		refused: "it may refuse some of these 3; its dead-letter exchange takes a copy",
	},
	{
		name: "through an alternate exchange", to: "exchange:in/key",
		parts: []build.Part{
			build.Text(`
				exchange direct in alternate-exchange=rest
				exchange fanout rest
				bind rest w
			`),
		},
		w:       set(build.Ready(5), operatorPolicy(model.Table{"max-length": int64(5)}), overflow("reject-publish")),
		refused: "w keeps at most 5 messages (operator policy op, overflow reject-publish) and holds 5: it refuses these 3",
	},
	{
		name: "one of two that an exchange reaches", to: "exchange:in/",
		parts: []build.Part{
			build.Text(`
				exchange fanout in
				queue log
				bind in w
				bind in log
			`),
		},
		w:       set(build.Ready(5), maxLength(5), overflow(rejectDLX), build.DLX("", "aside")),
		refused: "takes a copy of each refused one to aside",
	},
	{
		name: "a retry buffer", w: set(build.Ready(5), maxLength(5), overflow(rejectDLX), build.DLX("", "aside"),
			build.TTL(1000)),
		refused: "takes a copy of each refused one to aside",
	},
	{
		name: "more than were read", more: 7, w: set(maxLength(5), overflow(rejectDLX), build.DLX("", "aside")),
		refused: "it refuses 5 of these 10",
	},
}

func fullTopology(w []build.Setting, parts ...build.Part) *model.Topology {
	parts = append(parts, build.Queue("f", build.Ready(3), readyBytes(30)), build.Queue("w", w...), build.Queue("aside"))
	return build.TopologyOf("4.0.5", parts...)
}

// What a full target refuses is known before, and whether that leaves copies, for each action that publishes.
func TestFullTargets(t *testing.T) {
	for _, test := range fullTargets {
		topology := fullTopology(test.w, test.parts...)
		if test.sample == nil {
			test.sample = sized(10, 10, 10)
		}

		to := "queue:w"
		if test.to != "" {
			to = test.to
		}

		want := wantTo(t, topology, "f", to, test.sample...)
		want.Planned += test.more
		if test.counts.Ready.Known() {
			want.Counts = model.CountsByQueue{build.Ref("w"): test.counts}
		}

		check := func(action string, refusal Refusal, warnings []Warning) {
			t.Helper()
			words := warnedOf(warnings)
			if test.refused == "" {
				assert.That(t, !refusal.Refused(), "%s, %s: refused: %s", test.name, action, refusal.Words())
				assert.That(t, test.warns == "" && !strings.Contains(words, "it refuses") || test.warns != "" &&
					strings.Contains(words, test.warns), "%s, %s: warns %q", test.name, action, words)
				return
			}

			assert.Contains(t, refusal.Words(), test.refused, "%v", test.name)
			assert.That(t, refusal.Overridable(), "%s, %s: %q (%q)", test.name, action, refusal.Words(), refusal.Override())
		}

		p := New(topology, want)
		check("replay", p.Refusal, p.Warnings)
		want.Insist = true
		p = New(topology, want)
		assert.That(t, !p.Refusal.Refused(), "%s, insisting: %q %q", test.name, p.Refusal.Words(), warnedOf(p.Warnings))
		assert.Contains(t, warnedOf(p.Warnings), test.refused, "%v", test.name)

		if test.to != "" {
			continue
		}
		want.Insist, want.Operation = false, Move
		p = New(topology, want)
		check("move", p.Refusal, p.Warnings)
		into := ImportWant{To: build.Ref("w"), Counts: want.Counts}
		for i := range want.Planned {
			into.Add(topology, &test.sample[i%len(test.sample)])
		}

		p = ForImport(topology, into)
		check("import", p.Refusal, p.Warnings)
		undo := undoOfDrop(t, topology, want)
		check("undo", undo.Refusal, undo.Warnings)
	}
}

// undoOfDrop brings the messages of an action back into w, as if they had been dropped there.
func undoOfDrop(t *testing.T, topology *model.Topology, like ActionWant) UndoPlan {
	t.Helper()
	var entries []Entry
	for i := range like.Planned {
		m := like.Sample.(message.MessageList)[i%like.Sample.Len()]
		e := NewEntry(&m, nil, false)
		e.Position, e.Outcome = i+1, Dropped
		entries = append(entries, e)
	}

	p, err := ForUndo(topology, UndoWant{
		Record: Record{ID: 1, Operation: Drop, From: build.Ref("w"), Broker: "b"}, Broker: "b", Counts: like.Counts,
		Entries: entriesOf(entries...),
	})

	must.Do(t, err)
	return p
}

// Copies that refusals left are named by the account, the record and its undo.
func TestCopiesThatRefusalsLeft(t *testing.T) {
	topology := fullTopology(set(build.Ready(5), maxLength(5), overflow(rejectDLX), build.DLX("", "aside")))
	into := RecipientOf(topology, build.Ref("w"))
	left, ends := CopiesOf([]Recipient{into}, build.Refs("w"))
	assert.Equal(t, len(left), 1, "%+v, ends %t", left, ends)
	assert.That(t, ends, "%+v, ends %t", left, ends)
	into.Insisted = true
	_, ends = CopiesOf([]Recipient{into}, build.Refs("w"))
	assert.That(t, !ends, "an agreed copy ends the run")
	none, _ := CopiesOf([]Recipient{into}, build.Refs("aside"))
	assert.That(t, none == nil, "%+v by another queue", none)

	var a Account
	for range 3 {
		before := a.Copies
		a.AddCopies(left)
		assert.That(t, len(before) == 0 || before[0].Messages < a.Copies[0].Messages, "an earlier account changed")
	}

	a.Refused = 3
	const words = "3 messages refused by w left a copy in aside: an undo does not remove it"
	assert.Equal(t, a.Copies[0].Words(), words)
	again := a.With(a)
	assert.Equal(t, again.Copies[0].Messages, 6, "of two runs")
	r := Record{ID: 1, Operation: Replay, From: build.Ref("f"), Broker: "b", Ended: time.Unix(1e9, 0), Account: a}
	assert.Contains(t, r.Told(), "3 refused; 3 copies left in aside")
	m := deadMessage()
	e := NewEntry(&m, nil, false)
	e.Outcome = Refused
	p, err := ForUndo(topology, UndoWant{Record: r, Broker: "b", Entries: entriesOf(e)})
	must.Do(t, err)
	assert.Contains(t, p.Refusal.Words(), words)
	e.Outcome = Dropped
	p, err = ForUndo(topology, UndoWant{Record: r, Broker: "b", Entries: entriesOf(e)})
	must.Do(t, err)
	assert.Contains(t, warnedOf(p.Warnings), words)
}

// A target that fills up between the question and the run is asked about again.
func TestFullSinceTheQuestion(t *testing.T) {
	room := set(build.Ready(2), maxLength(5), overflow(rejectDLX), build.DLX("", "aside"))
	full := set(build.Ready(3), maxLength(5), overflow(rejectDLX), build.DLX("", "aside"))
	want := replayOf("f", "queue:w", sized(1, 1, 1)...)
	was := New(fullTopology(room), want)
	is := New(fullTopology(full), want)
	before, after := was.Promise(), is.Promise()
	assert.Contains(t, ChangesWords(before.Changes(&after)), "it refuses 1 of these 3")
	want.Insist = true
	was = New(fullTopology(full), want)
	is = New(fullTopology(set(build.Ready(5), maxLength(5), overflow(rejectDLX), build.DLX("", "aside"))), want)
	before, after = was.Promise(), is.Promise()
	assert.Contains(t, ChangesWords(before.Changes(&after)), "it refuses these 3")
	assert.Equal(t, ChangesWords(after.Changes(&before)), "")
}
