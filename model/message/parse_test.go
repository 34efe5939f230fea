package message

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// Any properties, nested headers of every type, any bytes in any text: what is written is what is read.
func TestMessageSurvivesJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := Message{
			Exchange: build.AnyText(t, "exchange"), RoutingKey: build.AnyText(t, "routing key"), Headers: build.AnyTable(t, 3),
			Body: rapid.SliceOf(rapid.Byte()).Draw(t, "body"),
			Properties: Properties{
				ContentType: build.AnyText(t, "content type"), ContentEncoding: build.AnyText(t, "encoding"),
				DeliveryMode: rapid.Uint8().Draw(t, "mode"), Priority: rapid.Uint8().Draw(t, "priority"),
				CorrelationID: build.AnyText(t, "correlation"), ReplyTo: build.AnyText(t, "reply"),
				Expiration: build.AnyText(t, "expiration"), MessageID: build.AnyText(t, "id"), Type: build.AnyText(t, "type"),
				UserID: build.AnyText(t, "user"), AppID: build.AnyText(t, "app"),
				Timestamp: time.Unix(rapid.Int64().Draw(t, "timestamp"), 0),
			},
		}

		m.BodyBytes = len(m.Body)
		text := must.Get(json.Marshal(m.JSON()))(t)
		got, err := ParseMessage(text)
		must.That(t, err == nil, "%v: %s", err, text)
		must.That(t, got.Fingerprint == FingerprintOf(&m), "%+v became %+v through %s", m, got, text)
	})
}

// A line written by hand need not give the size of its body.
func TestParseMessageWithoutSize(t *testing.T) {
	for text, want := range map[string]string{
		`{"body":"x"}`: "x", `{"body":"/w==","body_encoding":"base64"}`: "\xff", `{"routing_key":"k"}`: "",
		`{"body":"x","body_bytes":null}`: "x",
	} {
		m, err := ParseMessage([]byte(text))
		must.That(t, err == nil, "%s: %q, %d bytes, %v", text, m.Body, m.BodyBytes, err)
		assert.Equal(t, string(m.Body), want, "%v", text)
		assert.Equal(t, m.BodyBytes, len(want), "%v", text)
	}
}

func TestParseMessageRefuses(t *testing.T) {
	for _, test := range must.Cases[struct{ Text, Says string }](t, "testdata/no_messages.toml") {
		_, err := ParseMessage([]byte(test.Text))
		assert.Fails(t, err, test.Says, "%v", test.Text)
	}
}

// A body written in parts gives the same text as one in memory, wherever the parts end.
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

		want := must.Get(model.JSONLine(m.JSON()))(t)
		var line, indented, wanted bytes.Buffer
		head := m
		head.Body = head.Body[:min(len(head.Body), 10)]
		must.Do(t, head.WriteJSON(&line, BodyOf(MessageList{m}, 0), "", ""))
		must.That(t, bytes.Equal(line.Bytes(), want), "%q\n%q", line.Bytes(), want)
		line.Reset()
		err := m.WriteJSON(&line, nil, "", "")
		must.Do(t, err)
		must.That(t, bytes.Equal(line.Bytes(), want), "of what is in memory: %v\n%q\n%q", err, line.Bytes(), want)
		must.Do(t, head.WriteJSON(&indented, BodyOf(MessageList{m}, 0), "    ", "  "))
		err = json.Indent(&wanted, want, "    ", "  ")
		must.Do(t, err)
		must.Equal(t, indented.String(), wanted.String())
	})
}

// endless is a body that is stored nowhere: it repeats a rune of two bytes.
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

// weighing measures the memory in use while it is written to.
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

// The memory in use does not depend on the size of the body.
func TestWriteJSONHoldsNoBody(t *testing.T) {
	for name, body := range map[string]io.ReaderAt{"utf-8": endless{}, "base64": endless{0xff}} {
		var before runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		w := &weighing{}
		length := size.Of(8, 64) << 20
		m := Message{BodyBytes: length}
		must.Do(t, m.WriteJSON(w, body, "", ""))
		must.That(t, w.most != 0, "%s: %d bytes were written", name, w.written)
		must.That(t, w.written >= int64(length), "%s: %d bytes were written", name, w.written)
		assert.That(t, w.most <= before.HeapAlloc+2<<20,
			"%s: %d MiB are in memory for a body of %d MiB", name, (w.most-before.HeapAlloc)>>20, length>>20)
	}
}

// A disk error must not give a message with half a body.
func TestBodyThatCannotBeRead(t *testing.T) {
	m := Message{BodyBytes: 100}
	assert.That(t, m.WriteJSON(io.Discard, io.NewSectionReader(endless{}, 0, 0), "", "") != nil,
		"a body that ends too early was written")
}

func TestHeaderJSON(t *testing.T) {
	for _, test := range []struct {
		value any
		want  string
	}{
		{nil, `null`},
		{true, `true`},
		{"text", `"text"`},
		{"\xff", `{"$type":"string","value":"/w=="}`},
		{[]byte("text"), `{"$type":"bytes","value":"dGV4dA=="}`},
		{int64(math.MaxInt64), `9223372036854775807`},
		{uint64(math.MaxUint64), `{"$type":"uint64","value":18446744073709551615}`},
		{int8(-1), `{"$type":"int8","value":-1}`},
		{uint8(1), `{"$type":"uint8","value":1}`},
		{int16(-1), `{"$type":"int16","value":-1}`},
		{uint16(1), `{"$type":"uint16","value":1}`},
		{int32(-1), `{"$type":"int32","value":-1}`},
		{uint32(1), `{"$type":"uint32","value":1}`},
		{0.5, `0.5`},

		{5e-324, `5e-324`},
		{2.0, `{"$type":"float64","value":2}`},
		{1e300, `{"$type":"float64","value":1e+300}`},
		{math.NaN(), `{"$type":"float64","value":"NaN"}`},
		{math.Inf(-1), `{"$type":"float64","value":"-Inf"}`},
		{float32(0.1), `{"$type":"float32","value":0.1}`},
		{float32(math.Inf(1)), `{"$type":"float32","value":"+Inf"}`},
		{time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC), `{"$type":"timestamp","value":"2026-05-06T07:08:09.000Z"}`},
		{model.Decimal{Scale: 2, Value: 1250}, `{"$type":"decimal","value":{"scale":2,"value":1250}}`},
		{[]any{"a", int32(1)}, `["a",{"$type":"int32","value":1}]`},
		{model.Table{"a": model.Table{"b": int64(1)}}, `{"a":{"b":1}}`},
		{model.Repeated{"a", int32(1)}, `{"$type":"repeated","value":["a",{"$type":"int32","value":1}]}`},
		{model.RawValue{Type: 'F', Bytes: []byte{0xff}}, `{"$type":"raw","value":{"letter":"F","bytes":"/w=="}}`},
		{model.RawValue{Type: 0xff, Bytes: nil}, `{"$type":"raw","value":{"letter":"ÿ","bytes":""}}`},
		{model.Table{"$type": "int8", "value": int64(1)}, `{"$type":"table","value":{"$type":"int8","value":1}}`},
	} {
		got, err := json.Marshal(HeaderJSON(test.value))
		must.That(t, err == nil, "%T %v is written as %s (%v) instead of %s", test.value, test.value, got, err, test.want)
		assert.Equal(t, string(got), test.want, "%v", test.value)
	}
}

func TestMessageJSON(t *testing.T) {
	m := Message{Position: 1, Body: []byte{0xff}, BodyBytes: 1}
	got, err := json.Marshal(m.JSON())
	const want = `{"position":1,"exchange":"","routing_key":"","redelivered":false,"properties":{},"headers":{},` +
		`"body":"/w==","body_encoding":"base64","body_bytes":1,"deaths":[]}`
	must.Do(t, err)
	assert.Equal(t, string(got), want)
}

func TestMembersOf(t *testing.T) {
	for _, c := range []struct{ text, names string }{
		{``, ""},
		{`{`, ""},
		{`{"task":1}`, "task"},
		{"\n\t {\"task\" : 1, \"id\":\"x\"}", "task id"},
		{`{"a":{"task":1},"id":[{"retries":1}]}`, "a id"},
		{`{"a":"\"task\":1","jid":"\\"}`, "a jid"},
		{`{"x":"task","task"}`, "x"},
		{`{"a":1} {"task":1}`, "a"},
		{`["task",{"id":1}]`, ""},
		{`task`, ""},
		{`{"jid":"` + strings.Repeat("x", MaxEnvelope) + `"}`, ""},
	} {
		found := membersOf([]byte(c.text))
		assert.Equal(t, string(bytes.Join(found, []byte(" "))), c.names, "%.80s", c.text)
	}
}

func TestFileName(t *testing.T) {
	at := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	for queue, want := range map[string]string{
		"orders.failed":       "orders.failed-20260506-070809.jsonl",
		"ucenter@user@failed": "ucenter@user@failed-20260506-070809.jsonl",
		"../../etc/passwd":    "_.._etc_passwd-20260506-070809.jsonl",
		"-rf $HOME; `x`":      "rf__HOME___x_-20260506-070809.jsonl",
		".hidden":             "hidden-20260506-070809.jsonl",
		"a\x1b[2J\xff":        "a__2J_-20260506-070809.jsonl",
		"":                    "queue-20260506-070809.jsonl",
		"приём":               "приём-20260506-070809.jsonl",
	} {
		assert.Equal(t, FileName(build.Ref(queue), at), want, "%q", queue)
	}

	got := FileName(build.Ref(strings.Repeat("ж", 255)), at)
	assert.That(t, len(got) <= 130, "%d bytes: %s", len(got), got)
	assert.Lacks(t, got, "\uFFFD")
}
