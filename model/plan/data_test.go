package plan

import (
	"bytes"
	"encoding/json"
	"reflect"
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
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/target"
)

// A resume after a kill relies on the intent. Names are bytes.
func TestIntentSurvivesJSON(t *testing.T) {
	m := deadMessage()
	m.Properties.Timestamp = time.Unix(1_700_000_000, 0)
	m.Headers["\xff"] = "\xfe"
	m.Headers["table"] = model.Table{"long": int64(1) << 62, "bytes": []byte{1, 2}, "list": []any{int8(1), nil}}
	edited := NewDraft(build.TopologyOf("3.10.8", build.Queue("f")), build.Ref("f"), &m, "guest")
	condition := must.Get(filter.ParseExpression(`deaths >= 0 and exchange == "master.failed"`))(t)

	same := cmp.Options{
		cmp.Exporter(func(reflect.Type) bool { return true }),
		cmp.Comparer(func(a, b *filter.Filter) bool {
			return a == b || a != nil && b != nil && a.Text == b.Text && a.Expression() == b.Expression()
		}),
	}

	for name, in := range map[string]Intent{
		"odd names": {
			Source: model.QueueRef{VHost: "v\xff", Name: "f\xfe"}, Depth: 3, Mode: target.ToExchange,
			Fixed: model.Address{Exchange: "x\xfd", RoutingKey: "$base64:x"},
			Recipients: []Recipient{
				{Queue: build.Ref("w\xfc"), Consumers: build.Some(0), Taken: build.Some(7)},
				{Queue: build.Ref("v")},
			},
		},
		"nobody":        {Source: build.Ref("f"), Selection: Nobody()},
		"chosen":        {Source: build.Ref("f"), Selection: chosen([]message.Message{m, m})},
		"an expression": {Source: build.Ref("f"), Selection: Selection{Filter: condition, Limit: 9}},

		"a text": {
			Source: build.Ref("f"), Selection: Selection{Filter: must.Get(filter.Parse("Master"))(t), MessageID: "id\xff"},
		},
		"a cause": {Source: build.Ref("f"), Selection: Selection{Cause: cause.Of(build.Ref("f"), &m).ID()}},
		"edited":  {Source: build.Ref("f"), Options: Options{Edited: &edited}},
		"all that was asked for": {
			Source: build.Ref("f"),
			Options: Options{
				Mark: true, MarkName: "mark", KeepTries: true, KeepDelay: true, Doubles: true, Rate: 2.5, Insist: true,
			},
			Canary: 1500 * time.Millisecond,
		},
		"an import": {Depth: 4, File: "/tmp/\xff", Recipients: []Recipient{{Queue: build.Ref("w")}}},
	} {
		read := must.Get(ParseIntent(must.Get(json.Marshal(&in))(t)))(t)
		diff := cmp.Diff(&in, read, same)
		assert.That(t, diff == "", "%s: %s", name, diff)
	}
}

// Reading a journal entry gives what was written. Fingerprints stand for the messages.
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
		limit.Check(t, len(text), func() { e, err = ParseEntry(text) })
		if err != nil {
			build.CheckError(t, err)
			return
		}

		assert.That(t, e.Sent != nil || e.Message != nil && e.Undoes == 0, "it cannot be undone, and that is not said")
		written := build.CheckLine(t, e.JSON())
		again, err := ParseEntry(written)
		must.That(t, err == nil, "written as %s it cannot be read: %v", written, err)
		twice := build.CheckLine(t, again.JSON())
		assert.That(t, bytes.Equal(written, twice), "written twice it is\n%s\n%s", written, twice)
	})
}

// A parsed target is written as --to would name it, and parses to the same one again.
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
			assert.Equal(t, model.Printable(text), text, "the error cannot be shown")
			return
		}

		p := Plan{Operation: Replay, Target: target.Target{Mode: mode, Fixed: address}}
		m, a, err := target.Parse(p.To(), model.Unknown[string]())
		if mode == target.ToExchange {
			address.Exchange += "/" // an empty key
		}

		must.Do(t, err)
		assert.Equal(t, m, mode)
		assert.Equal(t, a, address)
	})
}

// A killed program's messages are requeued a moment after its connection is gone: nothing is examined before that.
func TestIsBack(t *testing.T) {
	ref := build.Ref
	for _, test := range must.Cases[struct {
		Name                string
		Operation           Operation
		Moved, Entries      int
		From, To, Consumers int64
		Back                bool
	}](t, "testdata/is_back.toml") {
		r := Record{
			Operation: test.Operation, Entries: test.Entries, Account: Account{Moved: test.Moved},
			Intent: &Intent{Source: ref("failed"), Depth: 1000, Recipients: []Recipient{{Queue: ref("worker")}}},
		}

		got := r.IsBack(model.CountsByQueue{
			ref("failed"): {Ready: model.Some(test.From), Consumers: build.Some(0)},
			ref("worker"): {Ready: model.Some(test.To), Consumers: model.Some(test.Consumers)},
		})

		assert.Equal(t, got, test.Back, "%s", test.Name)
	}
}
