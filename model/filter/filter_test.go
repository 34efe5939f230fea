package filter

import (
	"context"
	"fmt"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/limit"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
)

func filterMessage() *message.Message {
	body := `{"id":9007199254740993,"name":"Guan","price":1.5,"items":[{"sku":"A-1","n":2},{"sku":"B-2","n":40}],"ok":true,"none":null}`
	m := &message.Message{
		Position: 3, Exchange: "master.failed", RoutingKey: "user.create", Redelivered: true, Body: []byte(body),
		BodyBytes: len(body),
		Properties: message.Properties{
			MessageID: "m-121", CorrelationID: "c-7", Type: "user", AppID: "shop", ContentType: "application/json", Priority: 4,
			Timestamp: time.Now().Add(-time.Hour), Expiration: "30000",
		},
		Headers: model.Table{
			"x-error": "TimeoutError: SMTP gateway", "tries": int32(3), "ratio": float32(0.5), "raw": []byte("bytes"),
			"when":  build.Noon,
			"price": model.Decimal{Scale: 2, Value: 314}, "nested": model.Table{"deep": []any{model.Table{"key": "Needle"}}},
			"x-death": []any{
				model.Table{
					"queue": "user@retry", "reason": "expired", "count": int64(3), "exchange": "master",
					"routing-keys": []any{"user"}, "time": build.Noon,
				},
				model.Table{
					"queue": "user", "reason": "rejected", "count": int64(1), "exchange": "master",
					"routing-keys": []any{"user"}, "time": build.Noon,
				},
			},
		},
	}

	m.Deaths, m.DeathsError = message.ParseDeaths(m.Headers)
	return m
}

func TestFilterMatch(t *testing.T) {
	m := filterMessage()
	type filters struct {
		Matches bool
		Filters []string
	}

	for _, c := range must.Cases[filters](t, "testdata/matches.toml") {
		for _, text := range c.Filters {
			f, err := Parse(text)
			must.That(t, err == nil, "%s: %v", text, err)

			assert.Equal(t, f.Match(m), c.Matches, "%s", text)
			assert.Equal(t, f.Text, text, "text")
		}
	}
}

func TestFilterOfNothing(t *testing.T) {
	var none *Filter
	assert.That(t, none.Match(&message.Message{}), "no filter must match")
	assert.That(t, (&Filter{}).Match(&message.Message{}), "no filter must match")
	for expression, want := range map[string]bool{
		"age > 1": false, "age == nil": true, "json == nil": true, "headers.x == nil": true,
		"reason == '' and failure == ''": true,
		"deaths == 0 and size == 0":      true, "any(json, true)": false,
	} {
		f := must.Get(ParseExpression(expression))(t)
		assert.Equal(t, f.Match(&message.Message{}), want, "%s", expression)
	}
}

func TestFilterErrors(t *testing.T) {
	type mistake struct{ Expression, Want string }
	for _, c := range append(must.Cases[mistake](t, "testdata/errors.toml"),
		mistake{strings.Repeat("(", 1e6), "the filter is 977K long: 4K is the most"},
		mistake{strings.Repeat("1+", 2000) + "1 == 1", "the filter cannot be read"},
	) {
		expression, want := c.Expression, c.Want
		f, err := ParseExpression(expression)
		must.That(t, err != nil, "%.40q: no error", expression)
		must.That(t, f == nil, "%.40q: no error", expression)
		assert.That(t, strings.HasPrefix(err.Error(), want), "%.40q: %q, want %q", expression, err, want)
		assert.That(t, !strings.ContainsAny(err.Error(), "\n\x1b"), "%.40q: %q, want %q", expression, err, want)
	}

	_, err := Parse("= ")
	assert.That(t, err != nil, "= alone is no filter")
}

// Neither a message nor an expression may hang the program or fill its memory.
func TestFilterIsBounded(t *testing.T) {
	m := &message.Message{Body: []byte("[" + strings.Repeat("1,", 100_000) + "1]")}
	doubling := "let a0 = body + body; "
	for i := range 40 {
		s := string(rune('a'+i%26)) + string(rune('a'+i/26))
		previous := "a0"
		if i > 0 {
			previous = string(rune('a'+(i-1)%26)) + string(rune('a'+(i-1)/26))
		}
		doubling += "let " + s + " = " + previous + " + " + previous + "; "
	}

	sharing := "let v0 = [json, json]; "
	for i := range 60 {
		sharing += fmt.Sprintf("let v%d = [v%d, v%[2]d]; ", i+1, i)
	}

	for _, expression := range []string{
		sharing + "v59 == v60[0]",
		sharing + "v59 in v60",
		sharing + "string(v60) != ''",
		sharing + "max(v20) >= 0",
		"string(string(1..9000000) + string(1..9000000)) != ''",
		"count(json, count(json, # == #) == 0) == 0",
		"count(1..900000, {let n = #; count(1..900000, # == n) == 3}) == 0",
		"len(1..100000000) == 100000000",
		doubling + "len(nb) >= 0",
		"json == nil or json == json and any(json, any(json, any(json, # == 5)))",
	} {
		f, err := ParseExpression(expression)
		must.That(t, err == nil, "%.60s: %v", expression, err)
		f.steps = 200_000 // the real bound takes seconds
		began := time.Now()
		assert.That(t, !f.Match(m), "%.60s: matched", expression)
		took := time.Since(began)
		assert.That(t, took <= 30*time.Second, "%.60s: took %v", expression, took)
	}
}

// What an expression makes of a text is bounded, even if it is stored, and without a loop.
func TestFilterMakesLittleOfMuch(t *testing.T) {
	empty := &message.Message{Body: []byte("[" + strings.Repeat("{},", 100_000) + "1]")}
	for _, many := range []string{
		"lower(body)", "split(body, '')", "fromJSON(body)", "string(json)", "values({'a': json})",
	} {
		kept := strings.TrimSuffix(strings.Repeat(many+", ", 150), ", ")
		var before, after goruntime.MemStats
		goruntime.ReadMemStats(&before)
		assert.That(t, !matches(t, "any(["+kept+"], len(#) < 0)", empty), "%s: matched", many)
		goruntime.ReadMemStats(&after)
		made := after.TotalAlloc - before.TotalAlloc
		assert.That(t, made <= 2*maxBytes, "%s: it takes %d MB", many, made>>20)
	}

	for _, slow := range []string{"body matches body or size > 0", "trim(body, body) == '' or size > 0"} {
		assert.That(t, !matches(t, slow, empty), "%s: a pattern of 300 KB is read", slow)
	}
	plain := "size > 300000 and body contains '{},1' and body matches '^.{}' and lower(body) endsWith '1]'"
	assert.That(t, matches(t, plain, empty), "a plain condition on a large body does not match")
}

// A cancelled expression ends, and matches nothing.
func TestFilterEndsWithItsContext(t *testing.T) {
	m := &message.Message{Body: []byte("[" + strings.Repeat("1,", 100_000) + "1]")}
	for _, expression := range []string{
		"true or lower(body) == ''", "count(json, # == 1) > 5", "body matches '1'", "json != nil", "body contains '1'",
	} {
		f := must.Get(ParseExpression(expression))(t)
		ctx, stop := context.WithCancel(t.Context())
		assert.That(t, f.Within(ctx).Match(m), "%s does not match", expression)
		stop()
		assert.That(t, !f.Within(ctx).Match(m), "%s matches", expression)
	}
}

func matches(t *testing.T, expression string, m *message.Message) bool {
	t.Helper()
	f := must.Get(ParseExpression(expression))(t)
	return f.Match(m)
}

func TestFilterIsSafeForConcurrentUse(t *testing.T) {
	f := must.Get(ParseExpression("any(json.items, .n == 40) and failure + body contains 'Timeout'"))(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			m := filterMessage()
			for range 50 {
				assert.That(t, f.Match(m), "no match")
			}
		})
	}

	wg.Wait()
}

func FuzzParseExpression(f *testing.F) {
	for _, s := range []string{
		"deaths > 3", "any(json.items, .n > 1)", "body + 'x' contains json.name",
		"headers[\"x\"] == nil", "1..3", "let a = 1; a == 1",
	} {
		f.Add(s)
	}

	m := filterMessage()
	f.Fuzz(func(t *testing.T, s string) {
		var filter *Filter
		var err error
		limit.Check(t, len(s), func() { filter, err = ParseExpression(s) })
		must.That(t, (filter == nil) != (err == nil), "a filter or an error")
		if err != nil {
			build.CheckPrintable(t, err.Error())
			return
		}

		first := filter.Match(m)
		assert.That(t, first == filter.Match(m) || strings.Contains(s, "now"), "%q matches %t, and then not so", s, first)
	})
}

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
	place, ok := expression.Where(m)
	assert.That(t, ok, "an expression is at %+v, %v", place, ok)
	assert.Equal(t, place.Kind, Matched)
	_, ok = expression.InBody(m.Body)
	assert.That(t, !ok, "an expression is in a body")
}

// A text is found whatever its case, and as JSON escapes it; the place shows the original.
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
		assert.Equal(t, ok, c.found != "", "%q in %q: %d %d %v", c.text, c.in, from, to, ok)
		assert.That(t, !ok || c.in[from:to] == c.found, "%q in %q: %d %d %v", c.text, c.in, from, to, ok)
	}
}

func FuzzNeedle(f *testing.F) {
	f.Add("order", `{"Order":1}`)
	f.Add("é", "İ\xff\\u00e9")
	f.Fuzz(func(t *testing.T, text, in string) {
		n := newNeedle(text)
		from, to, ok := n.index(in)
		must.That(t, !ok || from >= 0 && to >= from && to <= len(in), "%q in %q: %d %d", text, in, from, to)
		must.That(t, ok || !strings.Contains(strings.ToLower(in), strings.ToLower(text)), "%q in %q is not found",
			text, in)
		filter := plainFilter(text)
		_, found := filter.Where(&message.Message{Body: []byte(in), Headers: model.Table{in: in}})
		must.That(t, !ok || found, "%q in %q is nowhere", text, in)
	})
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

func TestCompleteExpression(t *testing.T) {
	m := message.Message{
		Headers: model.Table{"x-tenant": "a", "x-trace": "b"},
		Body:    []byte(`{"user":{"id":1,"full name":"x"},"items":[{"sku":"a"},{"other":1}],"not":1}`),
	}

	paths := Paths(&m)
	for _, test := range must.Cases[struct {
		Text  string
		From  int
		Found string
	}](t, "testdata/completions.toml") {
		from, found := Complete(test.Text, paths)
		assert.Equal(t, from, test.From, "%v", test.Text)
		assert.Equal(t, strings.Join(found, " "), test.Found, "%v", test.Text)
	}

	_, found := Complete(" ", nil)
	assert.That(t, slices.Contains(found, "deaths"), "an empty expression can become %q", found)
	assert.That(t, !slices.Contains(found, "len("), "an empty expression can become %q", found)
}

// Each completion is a valid expression that applies to the message.
func TestPathsAreExpressions(t *testing.T) {
	m := message.Message{
		Headers: model.Table{`odd "name"`: "a", "é\n": "b"},
		Body:    []byte(`{"a b":1,"1x":2,"in":3,"ünï":4,"list":[[5]],"":6}`),
	}

	paths := Paths(&m)
	assert.That(t, len(paths) == 10, "%d paths: %q", len(paths), paths)
	for _, path := range paths {
		f, err := ParseExpression(path + " != nil")
		must.That(t, err == nil, "%s: %v", path, err)
		assert.That(t, f.Match(&m), "%s: %v", path, err)
	}

	deep := message.Message{Body: []byte(strings.Repeat(`{"a":`, 500) + "1" + strings.Repeat("}", 500))}
	n := len(Paths(&deep))
	assert.That(t, n <= pathDepth+1, "%d paths into a deep body", n)
}

func TestSavedFilterMatchesByItsName(t *testing.T) {
	saved := Saved{"often": "deaths > 1", "mine": `app_id == "me"`}
	m := message.Message{Properties: message.Properties{AppID: "me"}}
	f, err := saved.Filter(" =@mine ")
	must.Do(t, err)
	assert.That(t, f.Match(&m), "%+v, %v", f, err)
	assert.Equal(t, f.Expression(), `app_id == "me"`)
	f, err = saved.Expression("@often")
	must.Do(t, err)
	assert.That(t, !f.Match(&m), "%+v, %v", f, err)
	f, err = saved.Filter("@mine")
	must.Do(t, err)
	assert.Equal(t, f.Expression(), "")

	for text, want := range map[string]string{
		"@other":  "there is no saved filter @other: [filters] in the configuration file has @mine, @often",
		"@mine o": "there is no saved filter @mine o",
	} {
		_, err = saved.Expression(text)
		must.That(t, err != nil, "%s: %v", text, err)
		assert.That(t, strings.HasPrefix(err.Error(), want), "%s: %v", text, err)
	}

	_, err = Saved(nil).Filter("=@x")
	must.That(t, err != nil, "without any: %v", err)
	assert.That(t, strings.HasSuffix(err.Error(), "has none"), "without any: %v", err)
}

// Examples in the documentation match as they say.
func TestDocumentedExpressions(t *testing.T) {
	m := &message.Message{
		Exchange: "orders", RoutingKey: "order.created", Position: 1, BodyBytes: 44,
		Body:       []byte(`{"user":{"id":121},"items":[{"sku":"a-1"}]}`),
		Properties: message.Properties{MessageID: "m-1", Expiration: "6000", Timestamp: time.Now().Add(-2 * time.Hour)},
		Headers:    map[string]any{"x-tenant": "acme"},
		Deaths:     []message.Death{{Queue: "orders", Reason: "rejected", Count: 3}},
	}

	for expression, want := range map[string]bool{
		`deaths >= 3 and reason == "rejected"`:  true,
		`json.user.id == 121`:                   true,
		`json.user.id in [1, 2]`:                false,
		`json.items[0].sku == "a-1"`:            true,
		`any(json.items, .sku startsWith "a-")`: true,
		`headers["x-tenant"] == "acme"`:         true,
		`headers["nothing"] == nil`:             true,
		`routing_key matches "^order\\."`:       true,
		`int(expiration) > 5000`:                true,
		`age != nil and age > 3600`:             true,
		`lower(body) contains "sku"`:            true,

		`not (size > 1024)`:                         true,
		`(headers["n"] ?? 7) == 7`:                  true,
		`(deaths > 2 ? "old" : "new") == "old"`:     true,
		`routing_key endsWith ".created"`:           true,
		`position <= 10`:                            true,
		`failure contains "smtp" and deaths >= 3`:   false,
		`message_id in ["m-1", "m-2"]`:              true,
		`json.missing.deeper == 1`:                  false,
		`failure_kind == "TimeoutError" or age > 1`: true,
	} {
		f, err := ParseExpression(expression)
		must.That(t, err == nil, "%s: %v", expression, err)
		assert.That(t, f.Match(m) == want, "%s: %t", expression, !want)
	}
}
