package plan

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/limit"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/mend"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/target"
)

// sameData compares all of a plan. A filter is its text, and so is a program.
var sameData = cmp.Options{
	cmp.Exporter(func(reflect.Type) bool { return true }),
	cmp.Comparer(func(a, b *filter.Filter) bool {
		return a == nil && b == nil || a != nil && b != nil && a.Text == b.Text && a.Expression() == b.Expression()
	}),
	cmp.Comparer(func(a, b *mend.Program) bool {
		return a == nil && b == nil || a != nil && b != nil && a.Text == b.Text
	}),
}

// wantSurvives fails unless a plan is the same after it was written and read.
func wantSurvives[T any](t *testing.T, p T) (read T) {
	t.Helper()
	read = must.Get(build.ThroughJSON(p))(t)
	assert.NoDiff(t, cmp.Diff(p, read, sameData))
	return read
}

func TestPlansAreData(t *testing.T) {
	for _, kind := range []reflect.Type{
		reflect.TypeFor[plainPlan](), reflect.TypeFor[plainUndo](), reflect.TypeFor[plainPromise](),
	} {
		for _, part := range build.NotData(kind) {
			t.Error(part)
		}
	}
}

// oddMessage has what plain JSON would change.
func oddMessage() message.Message {
	m := deadMessage()
	m.Body = []byte("\x00\xff{}")
	m.BodyBytes = len(m.Body)
	m.Properties.Timestamp = time.Unix(1_700_000_000, 0)
	m.Headers["int32"], m.Headers["bytes"], m.Headers["\xff"] = int32(5), []byte{1, 2}, "\xfe"
	m.Headers["table"] = model.Table{"long": int64(1) << 62, "at": time.Unix(1e9, 0), "list": []any{int8(1), nil}}
	m.Fingerprint = message.FingerprintOf(&m)
	return m
}

// TestPlanSurvivesJSON: a full plan is the same, and publishes the same.
func TestPlanSurvivesJSON(t *testing.T) {
	topology := build.TopologyOf("3.10.8", append(build.ScenarioParts["pubsub"],
		build.Queue("small", maxLength(2), build.Ready(2), build.DLX("")))...)
	m := oddMessage()
	m.Exchange, m.RoutingKey = "master.failed", "ucenter@user"
	condition := must.Get(filter.Parse(`= deaths >= 0 and exchange == "master.failed"`))(t)
	expression := must.Get(filter.ParseExpression(`size > 1`))(t)
	plain := must.Get(filter.Parse("Master"))(t)
	edited := NewDraft(topology, build.Ref("ucenter@user@failed"), &m, "guest")
	edited.Headers["more"] = float32(1.5)
	chosen := Chosen([]message.Message{m, m})
	chosen.Except = map[message.Fingerprint]int{{7}: 1}
	base := ActionWant{
		Operation: Replay, From: build.Ref("ucenter@user@failed"), Sample: message.MessageList{m}, Planned: 3, Mark: true,
		User: "guest", Rate: 2.5, Canary: 10 * time.Second, Journaled: true,
	}
	program := programmed(t, `.headers.n = 1 | .properties.type = "\u00e9"`)
	for name, change := range map[string]func(*ActionWant){
		"chosen":           func(w *ActionWant) { w.Selection = chosen },
		"nobody":           func(w *ActionWant) { w.Selection = Nobody() },
		"by a filter":      func(w *ActionWant) { w.Selection = Selection{Filter: condition, Limit: 9} },
		"by an expression": func(w *ActionWant) { w.Selection = Selection{Filter: expression} },
		"by a text":        func(w *ActionWant) { w.Selection = Selection{Filter: plain, MessageID: "id"} },
		"by a cause":       func(w *ActionWant) { w.Selection = Selection{Cause: cause.Of(w.From, &m).ID(), Limit: 2} },
		"edited":           func(w *ActionWant) { w.Edited, w.Insist = &edited, true },
		"mended":           func(w *ActionWant) { w.Mend = program },
		"mended badly":     func(w *ActionWant) { w.Mend = programmed(t, `.body.a`) },
		"moved":            func(w *ActionWant) { w.Operation, w.Mode, w.Fixed.RoutingKey = Move, target.ToQueue, "small" },
		"dropping others":  func(w *ActionWant) { w.Mode, w.Fixed.RoutingKey, w.Insist = target.ToQueue, "small", true },
		"without a way":    func(w *ActionWant) { w.Mode, w.Fixed.Exchange = target.ToExchange, "nowhere" },
		"dropped":          func(w *ActionWant) { w.Operation, w.Canary = Drop, 0 },
		"to itself":        func(w *ActionWant) { w.Mode, w.Fixed.RoutingKey = target.ToQueue, w.From.Name },
		"out of nowhere":   func(w *ActionWant) { w.From = build.Ref("nowhere") },
		"of many flows":    func(w *ActionWant) { w.From, w.Sample = build.Ref("small"), message.MessageList{{}} },
	} {
		t.Run(name, func(t *testing.T) {
			want := base
			change(&want)
			p := New(topology, want)
			p.MarkName = "mark"
			p.Resuming = &Resuming{
				Record: 3, Found: map[int64][]Settled{3: {{Position: 1, Outcome: Moved}}, 4: nil},
				Acks: []Arrived{{3, 1, m.Fingerprint}},
			}
			read := wantSurvives(t, p)
			was, is := p.On(topology), read.On(topology)
			if p.Operation == Drop {
				return
			}
			a, errA := was.Publishing(&m)
			b, errB := is.Publishing(&m)
			must.That(t, (errA == nil) == (errB == nil) && (errA == nil || errA.Error() == errB.Error()),
				"%v, then %v", errA, errB)
			for _, made := range []*message.Publishing{&a, &b} { // the mark has the time
				delete(made.Headers, message.ReplayHeader)
			}
			assert.NoDiff(t, cmp.Diff(a, b, sameData))
			x, y := p.Selection.Picker(p.From), read.Selection.Picker(p.From)
			assert.That(t, x.Pick(&m) == y.Pick(&m), "it picks another message")
		})
	}
}

// TestUndoPlanSurvivesJSON: so does an undo, with the entries that it takes back, and it takes back the same.
func TestUndoPlanSurvivesJSON(t *testing.T) {
	topology := build.TopologyOf("3.10.8", build.Queue("f", build.Ready(1), maxLength(1)), build.Queue("w"),
		build.Queue("v", build.Consumers(1)))
	m := oddMessage()
	var entries []Entry
	for i, to := range []string{"w", "v", "gone"} {
		p := message.Publishing{
			Address: model.Address{RoutingKey: to}, Properties: m.Properties, Body: m.Body,
			Headers: model.Table{"int32": int32(5)}, Reaches: build.Refs(to),
		}
		e := NewEntry(&m, &p, i == 0)
		e.Outcome, e.Reason = Moved, "so it is"
		entries = append(entries, e)
	}
	dropped := NewEntry(&m, nil, false)
	dropped.Outcome = Dropped
	uncertain := dropped
	uncertain.Undoing = []Attempt{{By: 9, Sent: m.Fingerprint}}
	claimed := dropped
	claimed.Claimed = 12
	entries = append(entries, dropped, uncertain, claimed)
	p, err := ForUndo(topology, UndoWant{
		User: "guest", Broker: "b",
		Record: Record{
			ID: 5, Operation: Replay, From: build.Ref("f"), Broker: "b", Began: time.Unix(1e9, 0), Ended: time.Unix(1e9+1, 0),
			Account: Account{Strayed: []Stray{{Queue: build.Ref("v"), Messages: 2}}, Elapsed: time.Second},
			Intent:  &Intent{Source: build.Ref("f"), Depth: 3, Canary: time.Second, Selection: Nobody()},
		},
		Entries: func(each func(*Entry) error) error {
			for i := range entries {
				e := entries[i]
				e.Position = i + 1
				if err := each(&e); err != nil {
					return err
				}
			}
			return nil
		},
	})
	must.That(t, err == nil && len(p.Takes) == 2 && p.Restores == 2 && len(p.Skips) > 0 && len(p.Losses) > 0 &&
		p.Refusal.Refused(), "%+v %v", p, err)
	read := wantSurvives(t, p)
	for i := range p.Takes {
		sent := m
		sent.Fingerprint = p.Takes[i].Undoing.Sent[0].Fingerprint
		entry := func(position int) (Entry, error) { return entries[position-1], nil }
		a, position, errA := p.Takes[i].Undoing.Retrieval(entry).Publishing(&sent)
		b, again, errB := read.Takes[i].Undoing.Retrieval(entry).Publishing(&sent)
		if diff := cmp.Diff(a, b, sameData); diff != "" || position != again || errA != nil || errB != nil {
			t.Errorf("%s %d %d %v %v", diff, position, again, errA, errB)
		}
	}
}

// TestOddNamesSurviveJSON: names are bytes, in AMQP and so in a plan, in its refusal and in its warnings.
func TestOddNamesSurviveJSON(t *testing.T) {
	const odd, marked = "w\xff", "$base64:x"
	topology := build.TopologyOf("3.10.8", build.Queue("f", build.Ready(3)), build.Queue(odd), build.Queue(marked),
		build.Exchange("direct", "x\xfe"), build.Bind("x\xfe", "k\xfd", odd))
	m := deadMessage()
	m.Headers["h\xfc"], m.RoutingKey = "v\xfb", "k\xfd"
	told, refused := 0, false
	for _, want := range []ActionWant{
		{Operation: Replay, Mode: target.ToQueue, Fixed: model.Address{RoutingKey: odd}},
		{Operation: Move, Mode: target.ToQueue, Fixed: model.Address{RoutingKey: marked}},
		{
			Operation: Replay, Mode: target.ToExchange, Fixed: model.Address{Exchange: "x\xfe", RoutingKey: "k\xfd"},
			Canary: time.Second,
		},
		{Operation: Replay, Mode: target.ToExchange, Fixed: model.Address{Exchange: "none\xfa", RoutingKey: odd}},
	} {
		want.From, want.Planned, want.Sample = build.Ref("f"), 1, message.MessageList{m}
		p := New(topology, want)
		told += len(p.Warnings)
		refused = refused || p.Refusal.Refused()
		wantSurvives(t, p)
		wantSurvives(t, p.Promise())
	}
	assert.That(t, told != 0 && refused, "%d warnings, and refused %t", told, refused)
	undo, err := ForUndo(topology, UndoWant{
		Record: Record{ID: 1, Operation: Drop, From: build.Ref(odd), User: "u\xff", Ended: time.Unix(1e9, 0)},
		Entries: func(each func(*Entry) error) error {
			e := NewEntry(&m, nil, false)
			e.Outcome, e.Position = Dropped, 1
			return each(&e)
		},
	})
	must.That(t, err == nil && undo.Restores == 1, "%+v %v", undo, err)
	wantSurvives(t, undo)
}

// Each type of an objection can be read: json.go lists them all.
func TestKindsAreListed(t *testing.T) {
	words := regexp.MustCompile(`(?m)^func \((?:o )?(\w+)\) Words\(\)`)
	found := 0
	files := append(must.Get(filepath.Glob("*.go"))(t), must.Get(filepath.Glob("../target/*.go"))(t)...)
	files = append(files, "../refusal.go")
	for _, file := range files {
		for _, of := range words.FindAllStringSubmatch(string(must.Get(os.ReadFile(file))(t)), -1) {
			if found++; kinds[of[1]] == nil {
				t.Errorf("%s: kinds does not have %s", file, of[1])
			}
		}
	}
	assert.That(t, found == len(kinds), "%d of %d kinds have words", found, len(kinds))
}

// An entry of the journal is read as it was written. Fingerprints stand for the messages.
func FuzzParseEntry(f *testing.F) {
	f.Add([]byte(`{"position":1,"fingerprint":"00112233445566778899aabbccddeeff","exchange":"","routing_key":"q"}`))
	for _, line := range build.ExportedLines(f) {
		m := must.Get(message.ParseMessage(line))(f)
		e := NewEntry(&m, nil, true)
		e.Sent = &Sent{
			Fingerprint: m.Fingerprint, To: model.Address{Exchange: "x", RoutingKey: "\xff"}, Reached: []string{"q"},
			Changed: []string{"the body"}, Removed: []string{"x-death"},
			Former: Former{Expiration: "5", UserID: "guest", Headers: m.Headers, Added: []string{"x-dlxtop"}},
		}
		e.Undoes = 7
		text := must.Get(json.Marshal(e.JSON()))(f)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var e Entry
		var err error
		limit.Keep(t, len(text), func() { e, err = ParseEntry(text) })
		if err != nil {
			build.CheckError(t, err)
			return
		}
		assert.That(t, e.Sent != nil || e.Message != nil && e.Undoes == 0, "nobody can undo it, and nobody is told")
		written := build.CheckLine(t, e.JSON())
		again, err := ParseEntry(written)
		must.That(t, err == nil, "written as %s it cannot be read: %v", written, err)
		twice := build.CheckLine(t, again.JSON())
		assert.That(t, bytes.Equal(written, twice), "written twice it is\n%s\n%s", written, twice)
	})
}

// A target that is read is written as --to would name it, and read again as the same one.
func FuzzParseTarget(f *testing.F) {
	for _, to := range []string{
		"", "auto", "origin", "queue:orders", "exchange:x/a/b", "exchange:x", "queue:", "q:\x1b\n\u202e\xff", "\ufe050",
	} {
		f.Add(to)
	}
	f.Fuzz(func(t *testing.T, to string) {
		mode, address, err := target.Parse(to, model.Unknown[string]())
		if err != nil {
			text := err.Error()
			assert.That(t, model.Printable(text) == text, "the error cannot be shown: %q", text)
			return
		}
		p := Plan{Operation: Replay, Target: target.Target{Mode: mode, Fixed: address}}
		m, a, err := target.Parse(p.To(), model.Unknown[string]())
		if mode == target.ToExchange {
			address.Exchange += "/" // an empty key
		}
		assert.That(t, err == nil && m == mode && a == address,
			"%q is %s %+v, and then %s %+v, %v", to, mode, address, m, a, err)
	})
}

// A killed program's messages come back a moment after its connection is gone: before they are, nothing is looked at.
func TestIsBack(t *testing.T) {
	ref := func(name string) model.QueueRef { return model.QueueRef{VHost: "/", Name: name} }
	for name, test := range map[string]struct {
		operation           Operation
		moved, entries      int
		from, to, consumers int64
		back                bool
	}{
		"all but what was dropped":                 {Drop, 250, 250, 750, 0, 0, true},
		"some are still held":                      {Drop, 250, 250, 500, 0, 0, false},
		"some may be gone":                         {Drop, 250, 750, 250, 0, 0, true},
		"moved, and the rest is there":             {Move, 250, 250, 750, 250, 0, true},
		"moved, and some are still held":           {Move, 250, 250, 500, 250, 0, false},
		"uncertain ones are there or here":         {Replay, 250, 750, 400, 600, 0, true},
		"uncertain ones are still held":            {Replay, 250, 750, 300, 600, 0, false},
		"consumers take what came to the target":   {Replay, 250, 750, 300, 0, 1, true},
		"they take none of what was not published": {Replay, 250, 750, 200, 0, 1, false},
		"an undo takes nothing out":                {Undo, 0, 0, 0, 0, 0, true},
	} {
		r := Record{
			Operation: test.operation, Entries: test.entries, Account: Account{Moved: test.moved},
			Intent: &Intent{Source: ref("failed"), Depth: 1000, Recipients: []Recipient{{Queue: ref("worker")}}},
		}
		got := r.IsBack(map[model.QueueRef]model.QueueCounts{
			ref("failed"): {Ready: model.Some(test.from), Consumers: model.Some[int64](0)},
			ref("worker"): {Ready: model.Some(test.to), Consumers: model.Some(test.consumers)},
		})
		assert.Equal(t, got, test.back, "%s", name)
	}
}
