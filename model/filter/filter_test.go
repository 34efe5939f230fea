package filter

import (
	"context"
	goruntime "runtime"
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
	for text, want := range map[string]bool{
		"": true, "guan": true, "GUAN": true, "m-121": true, "c-7": true, "user.CREATE": true, "master.failed": true,
		"shop":         true,
		"smtp gateway": true, "needle": true, "deep": true, "expired ×3": true, "user@retry": true, "nobody": false,
		"2024-05-01":         true,
		"timeouterror: smtp": true, " guan": false,

		"=deaths > 3":                                 true,
		" = deaths == 4 ":                             true,
		"=json.id == 9007199254740993":                true,
		"=json.id == 9007199254740992":                false,
		"=json.price > 1":                             true,
		"=json.ok":                                    true,
		"=json.none == nil and json.missing == nil":   true,
		"=json.missing.deeper == 1":                   false,
		"=not (json.missing.deeper == 1)":             false,
		"=json?.missing?.deeper == nil":               true,
		"=any(json.items, .sku startsWith 'B')":       true,
		"=count(json.items, .n > 1) == 2":             true,
		"=sum(json.items, .n) == 42":                  true,
		"=all(json.items, {#.n > 2})":                 false,
		"=len(json.items) == 2":                       true,
		"=body contains 'Guan'":                       true,
		"=body matches '\"name\":\\\\s*\"G'":          true,
		"=headers['tries'] >= 3":                      true,
		"=headers.tries + 1 == 4":                     true,
		"=headers.ratio == 0.5":                       true,
		"=headers.raw == 'bytes'":                     true,
		"=headers.price > 3.13":                       true,
		"=headers.when < date('2024-06-01')":          true,
		"=headers.nested.deep[0].key == 'Needle'":     true,
		"=any(headers['x-death'], .queue == 'user')":  true,
		"=routing_key startsWith 'user.'":             true,
		"=exchange == 'master.failed'":                true,
		"=message_id in ['m-120', 'm-121']":           true,
		"=correlation_id == 'c-7'":                    true,
		"=type == 'user' and app_id == 'shop'":        true,
		"=size > 100":                                 true,
		"=reason == 'expired'":                        true,
		"=failure contains 'Timeout'":                 true,
		"=failure_kind == 'TimeoutError'":             true,
		"=failure_message == 'SMTP gateway'":          true,
		"=redelivered":                                true,
		"=age > 3599 and age < 3700":                  true,
		"=position in 1..5":                           true,
		"=priority == 4 and int(expiration) == 30000": true,
		"=upper(app_id) + '!' == 'SHOP!'":             true,
		"=json.name + 1 == 'x'":                       false,
		"=json.id":                                    false,
		"=split(message_id, '-')[1] == '121'":         true,
		"=fromJSON(body).name == 'Guan'":              true,
		"=let n = json.items[1].n; n == 40":           true,
		"=json.items[7].n == 1":                       false,
	} {
		f, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		assert.Equal(t, f.Match(m), want, "%s", text)
		assert.Equal(t, f.Text, text, "text")
	}
}

func TestFilterOfNothing(t *testing.T) {
	var none *Filter
	assert.That(t, none.Match(&message.Message{}) && (&Filter{}).Match(&message.Message{}), "no filter must match")
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
	for expression, want := range map[string]string{
		"":   "the filter is empty: write a condition, for example deaths > 3",
		"  ": "the filter is empty",
		"deth > 3": "the filter cannot be read at character 1: unknown name deth (there " +
			"are age, app_id, body,",
		"deaths >": "the filter cannot be read at character 8: unexpected token EOF",
		"deaths > 'a'": "the filter cannot be read at character 8: invalid operation: > " +
			"(mismatched types int and string)",
		"deaths + 1":                          "the filter is not a condition: it gives a value (int)",
		"body matches '['":                    "the filter cannot be read at character",
		"repeat('a', 9) == ''":                "the filter cannot be read at character 1: unknown name repeat",
		"\x1b[2J":                             "the filter cannot be read",
		strings.Repeat("(", 1e6):              "the filter is 977K long: 4K is the most",
		strings.Repeat("1+", 2000) + "1 == 1": "the filter cannot be read",
	} {
		f, err := ParseExpression(expression)
		if err == nil || f != nil {
			t.Errorf("%.40q: no error", expression)
			continue
		}
		assert.That(t, strings.HasPrefix(err.Error(), want) && !strings.ContainsAny(err.Error(), "\n\x1b"),
			"%.40q: %q, want %q", expression, err, want)
	}
	if _, err := Parse("= "); err == nil {
		t.Error("= alone is no filter")
	}
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
	for _, expression := range []string{
		"count(json, count(json, # == #) == 0) == 0",
		"count(1..900000, {let n = #; count(1..900000, # == n) == 3}) == 0",
		"len(1..100000000) == 100000000",
		doubling + "len(nb) >= 0",
		"json == nil or json == json and any(json, any(json, any(json, # == 5)))",
	} {
		f, err := ParseExpression(expression)
		if err != nil {
			t.Errorf("%.60s: %v", expression, err)
			continue
		}
		f.steps = 200_000 // the real bound takes seconds
		began := time.Now()
		assert.That(t, !f.Match(m), "%.60s: matched", expression)
		took := time.Since(began)
		assert.That(t, took <= 30*time.Second, "%.60s: took %v", expression, took)
	}
}

// What an expression makes of a text is bounded, also where it is kept, and where no loop is.
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
	assert.That(t, !matches(t, "body matches body or size > 0", empty), "a pattern of 300 KB is read")
	if !matches(t, "size > 300000 and body contains '{},1' and body matches '^.{}' and lower(body) endsWith '1]'", empty) {
		t.Error("a plain condition on a large body does not match")
	}
}

// Where nobody waits for it any more, an expression ends, and matches nothing.
func TestFilterEndsWithItsContext(t *testing.T) {
	m := &message.Message{Body: []byte("[" + strings.Repeat("1,", 100_000) + "1]")}
	for _, expression := range []string{
		"true or lower(body) == ''", "count(json, # == 1) > 5", "body matches '1'", "json != nil", "body contains '1'",
	} {
		f := must.Get(ParseExpression(expression))(t)
		ctx, stop := context.WithCancel(t.Context())
		assert.That(t, f.Within(ctx).Match(m), "%s does not match", expression)
		if stop(); f.Within(ctx).Match(m) {
			t.Errorf("%s matches", expression)
		}
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
		limit.Keep(t, len(s), func() { filter, err = ParseExpression(s) })
		must.That(t, (filter == nil) != (err == nil), "a filter or an error")
		if err != nil {
			build.CheckPrintable(t, err.Error())
			return
		}
		first := filter.Match(m)
		assert.That(t, first == filter.Match(m) || strings.Contains(s, "now"), "%q matches %t, and then not so", s, first)
	})
}
