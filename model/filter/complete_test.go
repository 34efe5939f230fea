package filter

import (
	"slices"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

func TestCompleteExpression(t *testing.T) {
	m := message.Message{
		Headers: model.Table{"x-tenant": "a", "x-trace": "b"},
		Body:    []byte(`{"user":{"id":1,"full name":"x"},"items":[{"sku":"a"},{"other":1}],"not":1}`),
	}
	paths := Paths(&m)
	for _, test := range []struct {
		text  string
		from  int
		found string
	}{
		{"fail", 0, "failure failure_kind failure_message"},
		{"deaths > 3 and rout", 15, "routing_key"},
		{"deaths > 3 and routing_key", 26, ""},
		{"headers[\"x-te", 0, `headers["x-tenant"]`},
		{`deaths > 1 or headers`, 14, `headers["x-tenant"] headers["x-trace"]`},
		{"json.u", 0, `json.user json.user["full name"] json.user.id`},
		{"json.items[", 0, "json.items[0] json.items[0].sku"},
		{`not (json.n`, 11, ""},
		{`json[`, 0, `json["not"]`},
		{"failure cont", 8, "content_type contains"},
		{`failure contains "siz`, 21, ""},
		{`failure contains "a b" and siz`, 27, "size"},
		{`failure contains "a\" siz`, 25, ""},
		{"any(json.it", 4, "json.items json.items[0] json.items[0].sku"},
		{"lowe", 0, "lower("},
		{"nothing_like_it", 15, ""},
		{"deaths > ", 9, ""},
	} {
		from, found := Complete(test.text, paths)
		assert.That(t, from == test.from && strings.Join(found, " ") == test.found,
			"%q: %q at %d, not %q at %d", test.text, found, from, test.found, test.from)
	}
	if _, found := Complete(" ", nil); !slices.Contains(found, "deaths") || slices.Contains(found, "len(") {
		t.Errorf("an empty expression can become %q", found)
	}
}

// What is offered of a message can be read as an expression, and says something of this message.
func TestPathsAreExpressions(t *testing.T) {
	m := message.Message{
		Headers: model.Table{`odd "name"`: "a", "é\n": "b"},
		Body:    []byte(`{"a b":1,"1x":2,"in":3,"ünï":4,"list":[[5]],"":6}`),
	}
	paths := Paths(&m)
	assert.That(t, len(paths) == 10, "%d paths: %q", len(paths), paths)
	for _, path := range paths {
		f, err := ParseExpression(path + " != nil")
		assert.That(t, err == nil && f.Match(&m), "%s: %v", path, err)
	}
	deep := message.Message{Body: []byte(strings.Repeat(`{"a":`, 500) + "1" + strings.Repeat("}", 500))}
	n := len(Paths(&deep))
	assert.That(t, n <= pathDepth+1, "%d paths into a deep body", n)
}

func TestSavedFilterMatchesByItsName(t *testing.T) {
	saved := Saved{"often": "deaths > 1", "mine": `app_id == "me"`}
	m := message.Message{Properties: message.Properties{AppID: "me"}}
	f, err := saved.Filter(" =@mine ")
	assert.That(t, err == nil && f.Match(&m) && f.Expression() == `app_id == "me"`, "%+v, %v", f, err)
	if f, err := saved.Expression("@often"); err != nil || f.Match(&m) {
		t.Errorf("%+v, %v", f, err)
	}
	if f, err := saved.Filter("@mine"); err != nil || f.Expression() != "" {
		t.Errorf("plain text that begins so is %+v, %v", f, err)
	}
	for text, want := range map[string]string{
		"@other":  "there is no saved filter @other: [filters] in the configuration file has @mine, @often",
		"@mine o": "there is no saved filter @mine o",
	} {
		if _, err := saved.Expression(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := Saved(nil).Filter("=@x"); err == nil || !strings.HasSuffix(err.Error(), "has none") {
		t.Errorf("without any: %v", err)
	}
}
