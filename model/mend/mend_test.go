package mend_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/limit"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/mend"
	"github.com/dlxtop/dlxtop/model/message"
)

func program(t *testing.T, text string) *mend.Program {
	t.Helper()
	p, err := mend.Parse(text)
	must.That(t, err == nil, "%s: %v", text, err)
	return p.Within(t.Context(), mend.InProcess{})
}

// What a program leaves alone stays as written.
func TestWhatAProgramLeavesAloneStaysAsWritten(t *testing.T) {
	type expected struct{ Name, Program, Body, Want string }

	for _, test := range append(must.Cases[expected](t, "testdata/what_a_program_leaves_alone.toml"), []expected{
		{"bytes", `.headers.a = 1`, "\xff\x00", "\xff\x00"},
		{"other bytes", `.body.value = "AAE="`, "\xff\x00", "\x00\x01"},
		{"bytes to a text", `.body = "a"`, "\xff\x00", "a"},
	}...) {
		t.Run(test.Name, func(t *testing.T) {
			in := message.Publishing{Body: []byte(test.Body)}
			made, changed, err := program(t, test.Program).Apply(&in)
			must.Do(t, err)
			assert.Equal(t, string(made.Body), test.Want)

			assert.Equal(t, changed, test.Body != test.Want || len(made.Headers) > 0, "changed")
		})
	}
}

func allTypes() model.Table {
	return model.Table{
		"bool": true, "nil": nil, "text": "a", "latin1": "\xe9", "int8": int8(-1), "uint8": uint8(1), "int16": int16(-2),
		"uint16": uint16(2), "int32": int32(3), "uint32": uint32(3), "int64": int64(1) << 60,
		"uint64": uint64(math.MaxUint64), "float32": float32(0.1), "float64": 2.0, "nan": math.NaN(),
		"decimal": model.Decimal{Scale: 2, Value: 125}, "bytes": []byte("abc"), "binary": []byte{0xff, 0},
		"time": time.Unix(1_700_000_000, 0), "list": []any{int32(1), "b", model.Table{"c": int8(4)}},
		"table": model.Table{"n": int16(5), "deep": model.Table{"at": time.Unix(1_600_000_000, 0)}},
		"odd":   model.Table{"$type": "int32", "value": "x"}, "\xff": int32(1), "repeated": model.Repeated{int32(1), "b"},
		"raw": model.RawValue{Type: 'z', Bytes: []byte{1}},
	}
}

// sameTypes compares headers with their types; NaN equals NaN.
var sameTypes = cmp.Options{
	cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }),
	cmp.Exporter(func(reflect.Type) bool { return true }),
}

func TestHeaders(t *testing.T) {
	for _, test := range must.Cases[struct{ Program, Want string }](t, "testdata/headers.toml") {
		t.Run(test.Program, func(t *testing.T) {
			in := message.Publishing{Headers: allTypes(), Body: []byte(`{"a":1}`)}
			made, changed, err := program(t, test.Program).Apply(&in)
			must.Do(t, err)

			want := allTypes()
			if test.Want != "" {
				maps.Copy(want, must.Get(message.ParseMessage([]byte(test.Want)))(t).Headers)
			}

			assert.NoDiff(t, cmp.Diff(want, made.Headers, sameTypes))
			assert.Equal(t, changed, test.Want != "", "changed %t, body %s", changed, made.Body)
			assert.Equal(t, string(made.Body), `{"a":1}`)
		})
	}

	made, _, err := program(t, `del(.headers[])`).Apply(&message.Publishing{Headers: allTypes()})
	must.Do(t, err)
	assert.That(t, made.Headers == nil, "%v %v", made.Headers, err)
}

func TestProperties(t *testing.T) {
	in := message.Publishing{
		Address:    model.Address{Exchange: "x", RoutingKey: "\xff"},
		Properties: message.Properties{ContentType: "text/plain", Timestamp: time.Unix(1e9, 0), Priority: 3, AppID: "\xfe"},
	}

	for text, want := range map[string]func(*message.Publishing){
		`.properties.priority += 1`:      func(m *message.Publishing) { m.Properties.Priority = 4 },
		`del(.properties.content_type)`:  func(m *message.Publishing) { m.Properties.ContentType = "" },
		`.properties.expiration = "500"`: func(m *message.Publishing) { m.Properties.Expiration = "500" },
		`.properties.app_id = null`:      func(m *message.Publishing) { m.Properties.AppID = "" },
		`.properties.timestamp = "2001-09-09T01:46:41Z"`: func(m *message.Publishing) {
			m.Properties.Timestamp = time.Unix(1e9+1, 0)
		},
		`.routing_key = "k"`:   func(m *message.Publishing) { m.RoutingKey = "k" },
		`.exchange |= . + "y"`: func(m *message.Publishing) { m.Exchange = "xy" },
	} {
		made, changed, err := program(t, text).Apply(&in)
		is := in
		want(&is)
		diff := cmp.Diff(is, made, cmp.Comparer(func(a, b message.Properties) bool { return a == b }))
		must.That(t, err == nil, "%s: changed %t, %v: %s", text, changed, err, diff)
		assert.NoDiff(t, diff, "%v", text)
		assert.That(t, changed, "%s: changed %t, %v: %s", text, changed, err, diff)
	}
}

func TestBadPrograms(t *testing.T) {
	for _, test := range []struct{ program, want string }{
		{"", "missing query"},
		{".body.", "the jq program is not complete"},
		{".body = }", `unexpected token "}", behind .body =`},
		{"nothing_of_the_kind", "function not defined: nothing_of_the_kind/0"},
		{"$x", "variable not defined: $x"},
		{`input`, "input"},
		{`import "a" as a; .`, "cannot load module"},
		{`include "a"; .`, "cannot load module"},
	} {
		_, err := mend.Parse(test.program)
		must.Fails(t, err, test.want, "%v", test.program)
		assert.Lacks(t, err.Error(), "\n", "%v", test.program)
	}
}

func TestProblems(t *testing.T) {
	type problem struct {
		Program string
		Kind    mend.Kind
		Words   string
	}

	for _, test := range must.Cases[problem](t, "testdata/problems.toml") {
		t.Run(test.Program, func(t *testing.T) {
			in := message.Publishing{Body: []byte("5")}
			made, changed, err := program(t, test.Program).Apply(&in)
			var problem *mend.Problem

			if test.Program == `.headers.a = 1e30` { // a float
				must.Do(t, err)
				assert.That(t, made.Headers["a"] == 1e30, "%v %v", made.Headers, err)
				return
			}

			must.That(t, errors.As(err, &problem), "%+v %v", problem, err)
			must.Equal(t, problem.Kind, test.Kind)
			must.Contains(t, err.Error(), test.Words)
			assert.That(t, !changed, "changed %t, %s, %q", changed, made.Body, err)
			assert.Equal(t, string(made.Body), "5")
			assert.That(t, !strings.ContainsAny(err.Error(), "\n\x1b"), "changed %t, %s, %q", changed, made.Body, err)
		})
	}
}

// A program sees no environment.
func TestNothingElseIsSeen(t *testing.T) {
	must.Do(t, os.Setenv("DLXTOP_SECRET", "x"))
	made, _, err := program(t, `.body = [env, $ENV]`).Apply(&message.Publishing{})
	must.Do(t, err)
	assert.Equal(t, string(made.Body), "[{},{}]")
}

func TestProgramIsData(t *testing.T) {
	p := program(t, `.body = "\u2028<é"`)
	text := must.Get(json.Marshal(p))(t)
	var read mend.Program
	err := json.Unmarshal(text, &read)
	must.Do(t, err)
	assert.Equal(t, read.Text, p.Text)
	_, _, err = read.Apply(&message.Publishing{})
	var problem *mend.Problem
	must.That(t, errors.As(err, &problem), "without a runner: %v", err)
	assert.Equal(t, problem.Kind, mend.NotRun)

	made, _, err := read.Within(t.Context(), mend.InProcess{}).Apply(&message.Publishing{})
	must.Do(t, err)
	assert.Equal(t, string(made.Body), "\u2028<é")
	assert.That(t, json.Unmarshal([]byte(`".["`), &read) != nil, "a program that cannot be read is read")
}

// fuzzed are programs that cover all ways of changing a body.
var fuzzed = []string{
	`.body.a = 1`, `.body |= (if type == "object" then del(.[keys[0]]?) else . end)`, `.body.a.b = [1]`, `.body[0] = {}`,
	`.body |= (if type == "array" then .[1:] else . end)`, `.body |= (if type == "array" then . + [null] else . end)`,
	`.body |= walk(if type == "number" then 7 else . end)`, `.body |= walk(if type == "object" then .z = "\u0000é" else . end)`,
	`.body |= (if type == "object" then with_entries(.key += "x") else . end)`, `.headers.a = .body`,
}

func decodedJSON(text []byte) (v any, ok bool) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return v, json.Valid(text) && decoder.Decode(&v) == nil
}

// Unchanged parts stay byte for byte, and changed ones mean what the program returned, however they were written.
func FuzzApply(f *testing.F) {
	for i := range fuzzed {
		f.Add([]byte(`{"a": 1, "b": [1,  2.50, {"c":"\ud83d\ude00"}], "a\u0062": {} }`), i, "x-tries")
		f.Add([]byte("[ [], {}, 1e400, \"\\/\" ]\n"), i, "$type")
		f.Add([]byte("\xff\x00"), i, "$base64:x")
		f.Add([]byte(`{"a":1,"a":{"b":2}}`), i, "\xff")
	}

	var programs []*mend.Program
	for _, text := range append([]string{"."}, fuzzed...) {
		p, err := mend.Parse(text)
		must.That(f, err == nil, "%v %v", text, err)
		programs = append(programs, p.Within(f.Context(), mend.InProcess{}))
	}

	f.Fuzz(func(t *testing.T, body []byte, which int, header string) {
		headers := model.Table{header: int32(5), "at": []byte(header), "t": model.Table{header: header}}
		in := message.Publishing{Body: body, Headers: headers}
		same, changed, err := programs[0].Apply(&in)
		must.Do(t, err)
		must.That(t, !changed, "%t %v", changed, err)
		must.That(t, bytes.Equal(same.Body, body), "%t %v", changed, err)
		must.That(t, reflect.DeepEqual(same.Headers, in.Headers), "%t %v", changed, err)
		p := programs[1+int(uint(which)%uint(len(fuzzed)))]
		var made message.Publishing
		limit.Check(t, len(body), func() { made, _, err = p.Apply(&in) })

		if err != nil {
			assert.That(t, bytes.Equal(made.Body, body), "%v, and the body is %q", err, made.Body)
			return
		}

		assert.That(t, reflect.DeepEqual(made.Headers[header], in.Headers[header]) || header == "a",
			"the header is %#v", made.Headers[header])
		value, isJSON := decodedJSON(body)
		if !isJSON || !utf8.Valid(body) {
			return
		}
		compact := must.Get(json.Marshal(value))(t)
		plain := in
		plain.Body = compact
		want, _, err := p.Apply(&plain)
		a, okA := decodedJSON(made.Body)
		b, okB := decodedJSON(want.Body)
		must.Do(t, err)
		must.That(t, okA, "%s: %q is made %q, want %q: %v", p.Text, body, made.Body, want.Body, err)
		must.That(t, okB, "%s: %q is made %q, want %q: %v", p.Text, body, made.Body, want.Body, err)
		assert.That(t, reflect.DeepEqual(a, b), "%s: %q is made %q, want %q: %v", p.Text, body, made.Body, want.Body, err)
	})
}

// Any input is a program, or gives an error of one line.
func FuzzParse(f *testing.F) {
	odd := []string{"", ".body.", ".[", `"\u00`, "import \"a\" as a; .", "\x1b[2J", "reduce", "$__loc__"}
	for _, text := range append(odd, fuzzed...) {
		f.Add(text)
	}

	f.Fuzz(func(t *testing.T, text string) {
		limit.Check(t, len(text), func() {
			_, err := mend.Parse(text)
			assert.That(t, err == nil || err.Error() != "" && model.Printable(err.Error()) == err.Error() &&
				len(err.Error()) <= 1000, "%q", err)
		})
	})
}
