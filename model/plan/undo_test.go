package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
)

// anyMessage draws a message with everything that a publisher may set.
func anyMessage(t *rapid.T) message.Message {
	m := message.Message{
		Position: 1, Exchange: build.AnyText(t, "exchange"), RoutingKey: build.AnyText(t, "routing key"),
		Headers: build.AnyTable(t, 2),
		Body:    rapid.SliceOf(rapid.Byte()).Draw(t, "body"),
		Properties: message.Properties{
			MessageID: build.AnyText(t, "id"), Priority: rapid.Uint8().Draw(t, "priority"),
			Expiration: rapid.SampledFrom([]string{"", "500"}).Draw(t, "expiration"),
			UserID:     rapid.SampledFrom([]string{"", "guest"}).Draw(t, "user"),
		},
	}

	for _, key := range []string{"x-death", "x-first-death-queue", "x-last-death-reason", message.ReplayHeader} {
		if rapid.Bool().Draw(t, key) {
			m.Headers[key] = build.AnyValue(2).Draw(t, "value")
		}
	}

	m.BodyBytes = len(m.Body)
	m.Fingerprint = message.FingerprintOf(&m)
	return m
}

// What a replay changed and the journal kept restores the message byte for byte, through the journal's file.
func TestUndoOfAReplayRestores(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := anyMessage(t)
		topology := build.Described("", `
			queue failed
			queue worker
		`)
		want := replayOf("failed", "queue:worker", m)
		want.User, want.Mark = "guest", rapid.Bool().Draw(t, "mark")
		plan := newRun(topology, want)
		p := must.Get(plan.Publishing(&m))(t)
		text := must.Get(json.Marshal(new(NewEntry(&m, &p, rapid.Bool().Draw(t, "full"))).JSON()))(t)
		entry := must.Get(ParseEntry(text))(t)
		sent := message.Message{
			Exchange: p.Exchange, RoutingKey: p.RoutingKey, Properties: p.Properties, Headers: p.Headers, Body: p.Body,
		}
		must.Equal(t, entry.Sent.Fingerprint, message.FingerprintOf(&sent))
		must.Equal(t, entry.Fingerprint, m.Fingerprint)
		must.Equal(t, len(entry.Sent.Reached), 1, "%+v", entry)
		sent.Fingerprint = entry.Sent.Fingerprint
		u := Undoing{
			Back: build.Ref("failed"), User: "guest", Sent: []Sought{{entry.Position, entry.Sent.Fingerprint}},
		}
		retrieval := u.Retrieval(func(int) (Entry, error) { return entry, nil })
		back, _, err := retrieval.Publishing(&sent)
		must.Do(t, err)

		// The one difference: it went through the default exchange.
		m.Exchange, m.RoutingKey = "", "failed"
		for key := range m.Headers {
			if key == "CC" || key == "BCC" {
				delete(m.Headers, key)
			}
		}

		got := message.FingerprintOf(&message.Message{
			RoutingKey: back.RoutingKey, Properties: back.Properties, Headers: back.Headers, Body: back.Body,
		})
		must.That(t, got == message.FingerprintOf(&m), "%+v came back as %+v through %s", m, back, text)
		_, _, err = retrieval.Publishing(&sent)
		must.That(t, err != nil, "it comes back twice")
	})
}

func TestPlanUndo(t *testing.T) {
	s := build.Broker("", build.Text(`
		queue failed
		queue worker consumers=2
	`))
	s.Overview.ClusterName = "rabbit@b"
	topology := model.NewTopology(s)

	m := message.Message{Properties: message.Properties{MessageID: "m"}}
	m.Fingerprint = message.FingerprintOf(&m)

	for _, test := range must.Cases[struct {
		Name, Broker, Cluster, From string
		Operation                   Operation
		Running, OtherPrints        bool
		Entries                     []struct {
			Outcome       Outcome
			Reached       []string // the queues that a copy was sent to; nil: it was dropped
			Undone, Tried bool
		}
		There           int   // copies of the message in its queue
		Back            []int // positions whose acknowledgement was lost
		Restores, Takes int
		Words           string // of refusal, skips and warnings
	}](t, "testdata/undos.toml") {
		record := Record{
			ID: 4, Operation: cmp.Or(test.Operation, Drop), From: build.Ref(cmp.Or(test.From, "failed")),
			Broker: cmp.Or(test.Broker, "b:5672"), Cluster: test.Cluster, Ended: time.Unix(1e9, 0),
			Running: test.Running, OtherPrints: test.OtherPrints,
		}

		var there message.Twins // nil: nobody looked
		if test.There > 0 {
			there = message.Twins{m.Fingerprint: test.There}
		}

		var entries []Entry
		for i, made := range test.Entries {
			m.Position = i + 1
			e := NewEntry(&m, nil, false)
			e.Outcome, e.Undone = made.Outcome, made.Undone
			if made.Tried {
				e.Undoing = []Attempt{{By: 5}}
			}
			if made.Reached != nil {
				e.Sent = &Sent{Fingerprint: message.Fingerprint{byte(m.Position)}, Reached: made.Reached}
			}
			entries = append(entries, e)
		}

		plan := must.Get(ForUndo(topology, UndoWant{
			Record: record, User: "guest", Broker: "b:5672", There: there, Back: test.Back,
			Entries: entriesOf(entries...),
		}))(t)

		words := plan.Refusal.Words()
		for _, s := range plan.Skips {
			words += "; " + fmt.Sprint(s.Messages, " ", s.Words())
		}

		words = strings.Join(append([]string{words}, warned(plan.Warnings)...), "; ")
		words = strings.ReplaceAll(words, "  ", " ")
		takes := 0
		for _, p := range plan.Takes {
			takes += p.Planned
		}
		for part := range strings.SplitSeq(test.Words, "; ") {
			assert.Contains(t, words, part, "%s", test.Name)
		}

		assert.Equal(t, plan.Restores, test.Restores, "%v", test.Name)
		assert.Equal(t, takes, test.Takes, "%v", test.Name)
	}
}

// Each entry of twins is used once, and those not found can still be claimed.
func TestTwinsComeBackOnceEach(t *testing.T) {
	sought := func(positions ...int) (all []Sought) {
		for _, p := range positions {
			all = append(all, Sought{p, message.Fingerprint{byte(p % 3)}})
		}
		return all
	}

	u := Undoing{Sent: sought(1, 2, 3, 4, 5, 6, 7), Known: []int64{9}}
	r := u.Retrieval(func(position int) (Entry, error) { return Entry{Position: position, Sent: &Sent{}}, nil })

	var got []int
	for _, kind := range []byte{1, 0, 1, 0, 0, 2} {
		_, position, err := r.Publishing(&message.Message{Fingerprint: message.Fingerprint{kind}})
		got = append(got, position)
		assert.That(t, (err == nil) == (position > 0), "position %d, %v", position, err)
	}

	assert.List(t, got, []int{1, 3, 4, 6, 0, 2})
	left := r.Left()
	want := (Claim{Positions: []int{5, 7}, Known: []int64{9}})
	assert.That(t, reflect.DeepEqual(left, want), "%+v is left instead of %+v", left, want)
}

// One undo takes back, restores, skips and is refused, each for some of its entries.
func TestUndoOfAllKinds(t *testing.T) {
	topology := build.Described("3.10.8", `
		queue f ready=1 max-length=1
		queue w
		queue v consumers=1
	`)
	m := deadMessage()
	var entries []Entry
	for i, to := range []string{"w", "v", "gone"} {
		p := message.Publishing{
			Address: model.Address{RoutingKey: to}, Properties: m.Properties, Body: m.Body, Reaches: build.Refs(to),
		}
		e := NewEntry(&m, &p, i == 0)
		e.Outcome = Moved
		entries = append(entries, e)
	}

	dropped := NewEntry(&m, nil, false)
	dropped.Outcome = Dropped
	uncertain, claimed := dropped, dropped
	uncertain.Undoing = []Attempt{{By: 9, Sent: m.Fingerprint}}
	claimed.Claimed = 12
	entries = append(entries, dropped, uncertain, claimed)
	for i := range entries {
		entries[i].Position = i + 1
	}

	p, err := ForUndo(topology, UndoWant{
		User: "guest", Broker: "b", Entries: entriesOf(entries...),
		Record: Record{
			ID: 5, Operation: Replay, From: build.Ref("f"), Broker: "b", Began: time.Unix(1e9, 0), Ended: time.Unix(1e9+1, 0),
		},
	})

	must.Do(t, err)
	assert.Equal(t, len(p.Takes), 2, "%+v %v", p, err)
	assert.Equal(t, p.Restores, 2)
	assert.That(t, len(p.Skips) > 0, "%+v %v", p, err)
	assert.That(t, len(p.Losses) > 0, "%+v %v", p, err)
	assert.That(t, p.Refusal.Refused(), "%+v %v", p, err)

	for i := range p.Takes {
		sent := m
		sent.Fingerprint = p.Takes[i].Undoing.Sent[0].Fingerprint
		entry := func(position int) (Entry, error) { return entries[position-1], nil }
		back, _, err := p.Takes[i].Undoing.Retrieval(entry).Publishing(&sent)
		must.Do(t, err)
		assert.Equal(t, back.Address.RoutingKey, "f")
	}
}

// Messages that a limit may have dropped come back from the journal if nothing else can have taken them.
func TestUndoFromADropHeadTarget(t *testing.T) {
	whole := &message.Message{Properties: message.Properties{MessageID: "m"}, BodyBytes: 10}
	type expected struct {
		limited
		Digest bool
		Want   GoneWhy
	}

	for _, test := range must.Cases[expected](t, "testdata/drop_head_targets.toml") {
		topology := build.TopologyOf("3.10.8", test.part, build.Queue("failed"))
		entry := Entry{Position: 1, Outcome: Moved, Sent: &Sent{
			Fingerprint: message.Fingerprint{1}, Reached: []string{"w"},
		}}
		if !test.Digest {
			entry.Message = whole
		}

		for _, insist := range []bool{false, true} {
			want := test.Want
			if insist && want == GoneEither {
				want = GoneInsists
			}

			plan, err := ForUndo(topology, UndoWant{
				Record: Record{ID: 1, Operation: Move, From: build.Ref("failed"), Broker: "b"}, Broker: "b", Insist: insist,
				Counts:  test.counts(),
				Entries: entriesOf(entry),
			})

			must.That(t, err == nil, "%s: %v %+v", test.Name, err, plan)
			must.That(t, !plan.Refusal.Refused(), "%s: %v %+v", test.Name, err, plan)
			must.Equal(t, len(plan.Takes), 1, "%v", test.Name)
			assert.Equal(t, plan.Gone(), want, "%s, insisting %t", test.Name, insist)
			assert.That(t, want == GoneTaken || strings.Contains(plan.Gone().Words(), "consumer") == (want != GoneLimit),
				"%s: %s", test.Name, plan.Gone().Words())
		}
	}
}

// The queue that messages come back to may drop some, too.
func TestUndoIntoALimit(t *testing.T) {
	topology := build.Described("3.10.8", "queue failed ready=4 max-length=5")
	m := message.Message{Properties: message.Properties{MessageID: "m"}}
	var entries []Entry
	for i := range 3 {
		e := NewEntry(&m, nil, false)
		e.Position, e.Outcome = i+1, Dropped
		entries = append(entries, e)
	}

	want := UndoWant{
		Record: Record{ID: 1, Operation: Drop, From: build.Ref("failed"), Broker: "b"}, Broker: "b",
		Entries: entriesOf(entries...),
	}

	plan, err := ForUndo(topology, want)
	must.Do(t, err)
	assert.Contains(t, plan.Refusal.Words(), "2 messages would be dropped: 2 of the 4 that it holds")
	assert.That(t, plan.Refusal.Overridable(), "%v %q (%q)", err, plan.Refusal.Words(), plan.Refusal.Override())
	want.Insist = true
	plan, err = ForUndo(topology, want)
	must.Do(t, err)
	assert.That(t, !plan.Refusal.Refused(), "%v %q %q", err, plan.Refusal.Words(), warned(plan.Warnings))
	assert.Equal(t, len(plan.Losses), 1)
	assert.Contains(t, warnedOf(plan.Warnings), "would be dropped")
}

// An undo of a record with fingerprints of another kind does not look for its messages. Insisting can restore messages
// from the journal, but not those that must be found where they were sent.
func TestUndoOfOtherFingerprints(t *testing.T) {
	topology := build.Described("4.0.5", `
		queue failed ready=1
		queue worker ready=1
	`)
	m := &message.Message{RoutingKey: "k", Body: []byte("m")}
	m.Identify()
	dropped := NewEntry(m, nil, false)
	rescued := NewEntry(m, nil, false)
	dropped.Outcome, rescued.Outcome = Unsure, Unsure
	rescued.Sent = &Sent{Reached: []string{"failed"}}
	sent := Entry{Fingerprint: m.Fingerprint, Outcome: Unsure, Sent: &Sent{Reached: []string{"worker"}}}
	whole := sent

	whole.Message = m
	for _, test := range []struct {
		operation Operation
		entry     Entry
		says      string
		restores  int // with insisting
	}{
		{Drop, dropped, "in the queue, and cannot be recognized there", 1},
		{Rescue, rescued, "in the queue, and cannot be recognized there", 1},
		{Replay, sent, "cannot be recognized where they were sent to", 0},
		{Move, whole, "cannot be recognized where they were sent to", 0},
	} {
		for _, insist := range []bool{false, true} {
			want, err := UndoWant{
				Record: Record{ID: 7, Operation: test.operation, From: build.Ref("failed"), Broker: "b", OtherPrints: true},
				Broker: "b", Insist: insist, Entries: entriesOf(test.entry),
			}.Looked(t.Context(), topology, nil) // it does not look

			must.Do(t, err)
			p := must.Get(ForUndo(topology, want))(t)
			may := insist && test.restores > 0
			assert.That(t, p.Refusal.Refused() != may, "%s, insisting %v: %d restored, %q", test.operation, insist, p.Restores,
				p.Refusal.Words())
			assert.That(t, may || strings.Contains(p.Refusal.Words(), test.says), "%s, insisting %v: %d restored, %q",
				test.operation, insist, p.Restores, p.Refusal.Words())
			assert.That(t, may || p.Refusal.Overridable() == (test.restores > 0), "%s, insisting %v: %d restored, %q",
				test.operation, insist, p.Restores, p.Refusal.Words())
			assert.That(t, !may || p.Restores == test.restores, "%s, insisting %v: %d restored, %q", test.operation, insist,
				p.Restores, p.Refusal.Words())
		}
	}
}
