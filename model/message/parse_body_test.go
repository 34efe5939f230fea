package message

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
)

// TestBodyApart: a line whose body is taken out of it first is read as encoding/json reads it whole, and what is wrong
// with it is wrong either way.
func TestBodyApart(t *testing.T) {
	pieces := []string{
		`{`, `}`, `[`, `]`, `:`, `,`, ` `, "\t", `"`, `""`, `"body"`, `"Body"`, `"b\u006fdy"`, `"body":"x"`, `"body": "a\"b\\"`,
		`"body_encoding":"base64"`, `"body":"eA=="`, `"body_bytes":1`, `"headers":{"body":"y"}`, `"headers":`, `\`, `\n`,
		`\u00e9`, `\ud83d\ude00`, `\ud83d`, `\x`, "é", "\xff", "\x00", "\x7f", "\u2028", `1`, `null`, `"exchange":"e"`,
	}
	rapid.Check(t, func(t *rapid.T) {
		inside := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 8).Draw(t, "pieces"), "")
		for _, text := range []string{inside, `{` + inside + `}`, `{"body":"` + inside + `"}`} {
			got, err := ParseMessage([]byte(text))
			want, wrong := parseWhole([]byte(text))
			must.That(t, (err == nil) == (wrong == nil) && (err != nil || cmp.Equal(got, want, sameMessage)),
				"%q: %+v, %v\ninstead of %+v, %v", text, got, err, want, wrong)
		}
	})
}

func TestBodyIsApart(t *testing.T) {
	for text, want := range map[string]string{
		`{"body":"a \"b\" é \/ \u00e9"}`:                      "a \"b\" é / é",
		`{"headers":{"body":"x"},"body" : "a" , "deaths":[]}`: "a",
	} {
		_, inside, ok := cutBody([]byte(text))
		body, is := unquoted(inside)
		assert.That(t, ok && is && string(body) == want, "%s: %q, %v, %v", text, body, ok, is)
	}
	for _, text := range []string{
		``, `{}`, `[]`, `{"body":1}`, `{"body":"a","body":"b"}`, `{"Body":"a"}`, `{"body":"a`, `{"body"`, `[{"body":"a"}]`,
	} {
		if _, inside, ok := cutBody([]byte(text)); ok {
			t.Errorf("%s: %q was cut out", text, inside)
		}
	}
}

// BenchmarkParseMessage is a line of import.
func BenchmarkParseMessage(b *testing.B) {
	for _, size := range []int{1 << 10, 16 << 10} {
		body := []byte(`{"id":1,"email":"user1@example.com","text":"` + strings.Repeat("x", size-50) + `"}`)
		m := Message{
			Position: 1, RoutingKey: "orders", Body: body, BodyBytes: len(body),
			Properties: Properties{MessageID: "1", ContentType: "application/json", DeliveryMode: 2},
			Headers:    model.Table{"x-tenant": "acme"},
		}
		var line bytes.Buffer
		must.Do(b, m.WriteJSON(&line, nil, "", ""))
		for _, way := range []struct {
			name string
			of   func([]byte) (Message, error)
		}{{"Apart", ParseMessage}, {"Whole", parseWhole}} {
			b.Run(way.name+"/"+Size(int64(size)), func(b *testing.B) {
				for b.Loop() {
					must.Get(way.of(line.Bytes()))(b)
				}
			})
		}
	}
}
