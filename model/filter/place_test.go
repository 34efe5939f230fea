package filter

import (
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

func TestPlaceOfATextIsNamed(t *testing.T) {
	m := filterMessage()
	for text, want := range map[string]string{
		"M-121": "property message_id||m-121|", "c-7": "property correlation_id||c-7|",
		"ser.cre": "property routing_key|u|ser.cre|ate", "shop": "property app_id||shop|",
		"smtp": "header x-error|TimeoutError: |SMTP| gateway", "DEEP": "header nested||deep|",
		"needle": "header nested||Needle|", "tries": "header tries||tries|", "Ynl0ZXM=": "header raw||Ynl0ZXM=|",
		"2024-05": "header when||2024-05|-01T12:00:00Z",
		"guan":    `body|007199254740993,"name":"|Guan|","price":1.5,"items":[{"sku":"A-1","n":2},{"sku":"B-2","n":`,
		"nothing": "",
	} {
		f := must.Get(Parse(text))(t)
		place, ok := f.Where(m)
		got := ""
		if ok {
			where := strings.TrimSpace(string(place.Kind) + " " + place.Name)
			got = where + "|" + place.Before + "|" + place.Found + "|" + place.After
		}
		assert.Equal(t, got, want, "%q is at", text)
	}
	expression, _ := Parse("=deaths > 3")
	if place, ok := expression.Where(m); !ok || place.Kind != Matched {
		t.Errorf("an expression is at %+v, %v", place, ok)
	}
	if _, ok := expression.InBody(m.Body); ok {
		t.Error("an expression is in a body")
	}
}

// TestNeedle: whatever the case, and as JSON writes it; what was found is what lies there.
func TestNeedle(t *testing.T) {
	for _, c := range []struct{ text, in, found string }{
		{"abc", "xxABcx", "ABc"},
		{"abc", "ababc", "abc"},
		{"aab", "aaab", "aab"},
		{"a", "", ""},
		{"abc", "ab", ""},
		{"121", "order 0121", "121"},
		{"Müller", "frau MÜLLER!", "MÜLLER"},
		{"müller", `{"name":"M\u00fcller"}`, `M\u00fcller`},
		{"a/b", `{"path":"x A\/b"}`, `A\/b`},
		{`App\Order`, `{"class":"App\\Order"}`, `App\\Order`},
		{"<b>", `{"html":"<B>"}`, "<B>"},
		{`say "hi"`, `{"text":"Say \"hi\""}`, `Say \"hi\"`},
		{"😀", `{"text":"\ud83d\ude00"}`, `\ud83d\ude00`},
		{"ß", "İİİ straße", "ß"}, // İ has another length in lower case
		{"éx", "İÉX", "ÉX"},
		{"x", "\xff\xfe X", "X"},
		{"é", "\xff\xfe\xc9 É", "É"},
	} {
		n := newNeedle(c.text)
		from, to, ok := n.index(c.in)
		assert.That(t, ok == (c.found != "") && (!ok || c.in[from:to] == c.found),
			"%q in %q: %d %d %v", c.text, c.in, from, to, ok)
	}
}

func FuzzNeedle(f *testing.F) {
	f.Add("order", `{"Order":1}`)
	f.Add("é", "İ\xff\\u00e9")
	f.Fuzz(func(t *testing.T, text, in string) {
		n := newNeedle(text)
		from, to, ok := n.index(in)
		must.That(t, !ok || from >= 0 && to >= from && to <= len(in), "%q in %q: %d %d", text, in, from, to)
		must.That(t, ok || !strings.Contains(strings.ToLower(in), strings.ToLower(text)) || n.ascii != isASCII(in),
			"%q in %q is not found", text, in)
		filter := plainFilter(text)
		_, found := filter.Where(&message.Message{Body: []byte(in), Headers: model.Table{in: in}})
		must.That(t, !ok || found, "%q in %q is nowhere", text, in)
	})
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > 127 })
}

func BenchmarkWhere(b *testing.B) {
	m := filterMessage()
	m.Body = []byte(`{"filler":"` + strings.Repeat("some Order text ", 62) + `"}`)
	for name, text := range map[string]string{"letters": "order-121-x", "accents": "Müller"} {
		b.Run(name, func(b *testing.B) {
			filter := plainFilter(text)
			b.SetBytes(int64(len(m.Body)))
			for b.Loop() {
				_, ok := filter.Where(m)
				must.That(b, !ok, "found")
			}
		})
	}
}
