package mend_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/limit"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/mend"
	"github.com/dlxtop/dlxtop/model/message"
)

// fuzzed are programs that change a body in all ways in which one can be written back.
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

// What was not changed stays byte for byte, and what was changed means what the program gave, however it was written.
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
		programs = append(programs, p)
	}
	f.Fuzz(func(t *testing.T, body []byte, which int, header string) {
		headers := model.Table{header: int32(5), "at": []byte(header), "t": model.Table{header: header}}
		in := message.Publishing{Body: body, Headers: headers}
		same, changed, err := programs[0].Apply(&in)
		must.That(t, !changed && err == nil && bytes.Equal(same.Body, body) && reflect.DeepEqual(same.Headers, in.Headers),
			"%t %v", changed, err)
		p := programs[1+int(uint(which)%uint(len(fuzzed)))]
		var made message.Publishing
		limit.Keep(t, len(body), func() { made, _, err = p.Apply(&in) })
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
		compact, err := json.Marshal(value)
		must.Do(t, err)
		plain := in
		plain.Body = compact
		want, _, err := p.Apply(&plain)
		a, okA := decodedJSON(made.Body)
		b, okB := decodedJSON(want.Body)
		assert.That(t, err == nil && okA && okB && reflect.DeepEqual(a, b),
			"%s: %q is made %q, want %q: %v", p.Text, body, made.Body, want.Body, err)
	})
}

// Whatever is typed is a program or says in one line why not.
func FuzzParse(f *testing.F) {
	odd := []string{"", ".body.", ".[", `"\u00`, "import \"a\" as a; .", "\x1b[2J", "reduce", "$__loc__"}
	for _, text := range append(odd, fuzzed...) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		limit.Keep(t, len(text), func() {
			_, err := mend.Parse(text)
			assert.That(t, err == nil || err.Error() != "" && model.Printable(err.Error()) == err.Error() &&
				len(err.Error()) <= 1000, "%q", err)
		})
	})
}
