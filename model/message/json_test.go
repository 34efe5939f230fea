package message

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
)

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
		assert.That(t, err == nil && string(got) == test.want,
			"%T %v is written as %s (%v) instead of %s", test.value, test.value, got, err, test.want)
	}
}

func TestMessageJSON(t *testing.T) {
	m := Message{Position: 1, Body: []byte{0xff}, BodyBytes: 1}
	got, err := json.Marshal(m.JSON())
	const want = `{"position":1,"exchange":"","routing_key":"","redelivered":false,"properties":{},"headers":{},` +
		`"body":"/w==","body_encoding":"base64","body_bytes":1,"deaths":[]}`
	assert.That(t, err == nil && string(got) == want, "an empty message is %s (%v)", got, err)
}

func TestMembersOf(t *testing.T) {
	must.That(t, len(memberBits) <= 64, "%d names do not fit into a set", len(memberBits))
	for _, c := range []struct{ text, names string }{
		{``, ""},
		{`{`, ""},
		{`{"task":1}`, "task"},
		{"\n\t {\"task\" : 1, \"id\":\"x\"}", "task id"},
		{`{"a":{"task":1},"id":[{"retries":1}]}`, "id"},
		{`{"a":"\"task\":1","jid":"\\"}`, "jid"},
		{`{"x":"task","task"}`, ""},
		{`{"a":1} {"task":1}`, ""},
		{`["task",{"id":1}]`, ""},
		{`task`, ""},
		{`{"jid":"` + strings.Repeat("x", MaxEnvelope) + `"}`, ""},
	} {
		var want members
		for _, name := range strings.Fields(c.names) {
			must.That(t, memberBits[name] != 0, "%s is no name that a framework writes", name)
			want |= memberBits[name]
		}
		assert.Equal(t, membersOf([]byte(c.text)), want, "%.80s", c.text)
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
		assert.Equal(t, FileName(model.QueueRef{VHost: "/", Name: queue}, at), want, "%q", queue)
	}
	got := FileName(model.QueueRef{VHost: "/", Name: strings.Repeat("ж", 255)}, at)
	assert.That(t, len(got) <= 130 && !strings.Contains(got, "\uFFFD"), "%d bytes: %s", len(got), got)
}
