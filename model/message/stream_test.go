package message

import (
	"bytes"
	"encoding/json"
	"io"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
)

// TestWriteJSONIsJSON: a body that is written in parts is the same text as one in memory, wherever the parts end.
func TestWriteJSONIsJSON(t *testing.T) {
	pieces := []string{
		"a", "\"", "\\", "\n", "\x00", "\x1b", "\u2028", "\u202e", "é", "世", "🎉", "\U000e0100", "<&>", "\xff", "\xe4\xb8",
	}
	rapid.Check(t, func(t *rapid.T) {
		some := pieces[:rapid.IntRange(1, len(pieces)).Draw(t, "kinds")]
		body := strings.Repeat("x", bodyChunk-rapid.IntRange(0, 8).Draw(t, "before the end of a part")) +
			strings.Join(rapid.SliceOfN(rapid.SampledFrom(some), 0, 20).Draw(t, "pieces"), "")
		if rapid.Bool().Draw(t, "short") {
			body = strings.TrimLeft(body, "x")
		}
		m := Message{
			Position: 3, RoutingKey: "\xff", Body: []byte(body), BodyBytes: len(body),
			Headers: model.Table{"body": "", "a": model.Table{"body": ""}, `"body":""`: `"body": ""`},
		}
		want, err := model.JSONLine(m.JSON())
		must.Do(t, err)
		var line, indented, wanted bytes.Buffer
		head := m
		head.Body = head.Body[:min(len(head.Body), 10)]
		must.Do(t, head.WriteJSON(&line, BodyOf(MessageList{m}, 0), "", ""))
		if !bytes.Equal(line.Bytes(), want) {
			t.Fatalf("%q\n%q", line.Bytes(), want)
		}
		line.Reset()
		if err := m.WriteJSON(&line, nil, "", ""); err != nil || !bytes.Equal(line.Bytes(), want) {
			t.Fatalf("of what is in memory: %v\n%q\n%q", err, line.Bytes(), want)
		}
		must.Do(t, head.WriteJSON(&indented, BodyOf(MessageList{m}, 0), "    ", "  "))
		if err := json.Indent(&wanted, want, "    ", "  "); err != nil || indented.String() != wanted.String() {
			t.Fatalf("%v\n%s\n%s", err, indented.String(), wanted.String())
		}
	})
}

// endless is a body that is nowhere: a rune of two bytes again and again.
type endless struct{ last byte }

func (e endless) ReadAt(b []byte, from int64) (int, error) {
	for i := range b {
		b[i] = "é"[(from+int64(i))%2]
	}
	if e.last != 0 && len(b) > 0 {
		b[len(b)-1] = e.last
	}
	return len(b), nil
}

// weighing measures what is in memory while it is written to.
type weighing struct {
	written, measured int64
	most              uint64
}

func (w *weighing) Write(b []byte) (int, error) {
	if w.written += int64(len(b)); w.written-w.measured >= 8<<20 {
		w.measured = w.written
		runtime.GC()
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		w.most = max(w.most, now.HeapAlloc)
	}
	return len(b), nil
}

// TestWriteJSONHoldsNoBody: what is in memory does not depend on how large the body is.
func TestWriteJSONHoldsNoBody(t *testing.T) {
	for name, body := range map[string]io.ReaderAt{"utf-8": endless{}, "base64": endless{0xff}} {
		var before runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		w := &weighing{}
		length := size.Of(8, 64) << 20
		m := Message{BodyBytes: length}
		must.Do(t, m.WriteJSON(w, body, "", ""))
		must.That(t, w.most != 0 && w.written >= int64(length), "%s: %d bytes were written", name, w.written)
		assert.That(t, w.most <= before.HeapAlloc+2<<20,
			"%s: %d MiB are in memory for a body of %d MiB", name, (w.most-before.HeapAlloc)>>20, length>>20)
	}
}

// TestBodyThatCannotBeRead: an error of the disk is no message with half a body.
func TestBodyThatCannotBeRead(t *testing.T) {
	m := Message{BodyBytes: 100}
	assert.That(t, m.WriteJSON(io.Discard, io.NewSectionReader(endless{}, 0, 0), "", "") != nil,
		"a body that ends too early was written")
}

// BenchmarkWriteJSON is a message of export and of peek -o json.
func BenchmarkWriteJSON(b *testing.B) {
	for _, c := range []struct{ name, text string }{{"ASCII", "x"}, {"Quoted", `\"a\":1,`}, {"Accents", "é "}} {
		for _, n := range []int{1 << 10, 16 << 10} {
			b.Run(c.name+"/"+Size(int64(n)), func(b *testing.B) {
				body := []byte(`{"id":1,"email":"user1@example.com","text":"` + strings.Repeat(c.text, n/len(c.text)) + `"}`)
				m := Message{
					Position: 1, RoutingKey: "orders", Body: body, BodyBytes: len(body),
					Properties: Properties{MessageID: "1", ContentType: "application/json", DeliveryMode: 2},
					Headers:    model.Table{"x-tenant": "acme"},
				}
				b.SetBytes(int64(len(body)))
				for b.Loop() {
					must.Do(b, m.WriteJSON(io.Discard, nil, "", ""))
				}
			})
		}
	}
}
