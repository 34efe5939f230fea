package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/limit"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
)

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

// A document that somebody edited is a draft, which is the same when it is written and read again, or an error with its
// line.
func FuzzParseDraft(f *testing.F) {
	for _, line := range build.ExportedLines(f) {
		m := must.Get(message.ParseMessage(line))(f)
		d := Draft{
			model.Address{Exchange: m.Exchange, RoutingKey: m.RoutingKey},
			m.Properties,
			model.Table{"tenant": "blue", "raw": []byte{0xff}},
			m.Body,
		}
		f.Add(d.Text())
	}
	f.Add([]byte("# x\n{\"exchange\":\"\",\n\"routing_key\":7}\n----- body (utf-8) -----\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var d Draft
		var err error
		limit.Keep(t, len(text), func() { d, err = ParseDraft(text) })
		if err != nil {
			build.CheckError(t, err)
			var at *lineError
			assert.That(t, errors.As(err, &at) && at.line >= 1 && at.line <= bytes.Count(text, []byte("\n"))+2,
				"no line of the document: %v", err)
			return
		}
		again, err := ParseDraft(d.Text())
		if err != nil || !d.Same(&again) || !bytes.Equal(d.Body, again.Body) {
			t.Errorf("written and read again it is another draft, %v:\n%s\n%s", err, d.Text(), again.Text())
		}
		lines := d.Differences(&again)
		assert.That(t, len(lines) == 0, "differences where there are none: %q", lines)
	})
}
