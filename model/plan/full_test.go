package plan

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
)

// limited is the queue w of a case, which may have a limit, and the messages that are sent to it.
type limited struct {
	Name     string
	Queues   build.Part  // w is the first
	Operator model.Table // the definition of w's operator policy
	Unknown  bool        // how many messages w holds
	Bytes    int64       // of these
	Acked    int64       // what consumers of w did
	Newer    []int64     // a newer count of w's messages, and of its consumers where it is known
	Sample   []int       // sizes of bodies
	More     int         // planned beyond the sample
}

func (l *limited) part(s *model.Snapshot) {
	l.Queues(s)
	w := &s.Queues[0]
	if l.Operator != nil {
		w.OperatorPolicy, w.PolicyDefinition = "op", l.Operator
	}
	if l.Unknown {
		w.Ready = model.Unknown[int64]()
	}
	if l.Bytes > 0 {
		w.ReadyBytes = model.Some(l.Bytes)
	}
	if l.Acked > 0 {
		w.Acked = model.Some(l.Acked)
	}
}

// counts returns the newer ones of a case.
func (l *limited) counts() model.CountsByQueue {
	if l.Newer == nil {
		return nil
	}
	now := model.QueueCounts{Ready: model.Some(l.Newer[0])}
	for _, n := range l.Newer[1:] {
		now.Consumers = model.Some(n)
	}

	return model.CountsByQueue{build.Ref("w"): now}
}

func fullTopology(w build.Part) *model.Topology {
	return build.TopologyOf("4.0.5", w, build.Queue("f", build.Ready(3), readyBytes(30)), build.Queue("aside"))
}

// copying returns a queue w that holds this many of at most 5 messages, and leaves copies of what it refuses.
func copying(ready string) *model.Topology {
	settings := " max-length=5 x-overflow=reject-publish-dlx dlx= key=aside"
	return fullTopology(build.Text("queue w ready=" + ready + settings))
}

// What a full target refuses is known before, and whether that leaves copies, for each action that publishes.
func TestFullTargets(t *testing.T) {
	type expected struct {
		limited
		To, Refused, Warns string
	}

	for _, test := range must.Cases[expected](t, "testdata/full_targets.toml") {
		topology := fullTopology(test.part)
		if test.Sample == nil {
			test.Sample = []int{10, 10, 10}
		}

		sample := sized(test.Sample...)
		want := wantTo(t, topology, "f", cmp.Or(test.To, "queue:w"), sample...)
		want.Planned += test.More
		want.Counts = test.counts()

		check := func(action string, refusal Refusal, warnings []Warning) {
			t.Helper()
			words := warnedOf(warnings)
			if test.Refused == "" {
				assert.That(t, !refusal.Refused(), "%s, %s: refused: %s", test.Name, action, refusal.Words())
				assert.That(t, test.Warns == "" && !strings.Contains(words, "it refuses") || test.Warns != "" &&
					strings.Contains(words, test.Warns), "%s, %s: warns %q", test.Name, action, words)
				return
			}

			assert.Contains(t, refusal.Words(), test.Refused, "%v", test.Name)
			assert.That(t, refusal.Overridable(), "%s, %s: %q (%q)", test.Name, action, refusal.Words(), refusal.Override())
		}

		p := New(topology, want)
		check("replay", p.Refusal, p.Warnings)
		want.Insist = true
		p = New(topology, want)
		assert.That(t, !p.Refusal.Refused(), "%s, insisting: %q %q", test.Name, p.Refusal.Words(), warnedOf(p.Warnings))
		assert.Contains(t, warnedOf(p.Warnings), test.Refused, "%v", test.Name)

		if test.To != "" {
			continue
		}
		want.Insist, want.Operation = false, Move
		p = New(topology, want)
		check("move", p.Refusal, p.Warnings)
		into := ImportWant{To: build.Ref("w"), Counts: want.Counts}
		for i := range want.Planned {
			into.Add(topology, &sample[i%len(sample)])
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

	p := must.Get(ForUndo(topology, UndoWant{
		Record: Record{ID: 1, Operation: Drop, From: build.Ref("w"), Broker: "b"}, Broker: "b", Counts: like.Counts,
		Entries: entriesOf(entries...),
	}))(t)
	return p
}

// Copies that refusals left are named by the account, the record and its undo.
func TestCopiesThatRefusalsLeft(t *testing.T) {
	topology := copying("5")
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
	want := replayOf("f", "queue:w", sized(1, 1, 1)...)
	was := New(copying("2"), want)
	is := New(copying("3"), want)
	before, after := was.Promise(), is.Promise()
	assert.Contains(t, ChangesWords(before.Changes(&after)), "it refuses 1 of these 3")
	want.Insist = true
	was = New(copying("3"), want)
	is = New(copying("5"), want)
	before, after = was.Promise(), is.Promise()
	assert.Contains(t, ChangesWords(before.Changes(&after)), "it refuses these 3")
	assert.Equal(t, ChangesWords(after.Changes(&before)), "")
}
