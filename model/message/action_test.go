package message

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/model"
)

// A value stays where it was put, whatever it is.
func TestActionURL(t *testing.T) {
	a, err := NewAction("ctrl-t", "trace", "https://t.example/trace/{{headers.trace}}?at={{json.user.id}}#x", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{
		"4bf9-2f", "a b&c=d#e?f/g", "é\x00\n\x1b[2J", "%2e%2e", "https://evil.example/", "\xff\xfe", "@", "...", "+",
	} {
		m := Message{Headers: model.Table{"trace": value}, Body: []byte(`{"user":{"id":12345678901234567}}`)}
		text, err := a.URL(&m)
		if err != nil {
			t.Errorf("%q: %v", value, err)
			continue
		}
		u, err := url.Parse(text)
		if err != nil || u.Host != "t.example" || u.Path != "/trace/"+value || u.Fragment != "x" ||
			u.Query().Get("at") != "12345678901234567" || len(u.Query()) != 1 {
			t.Errorf("%q: %s", value, text)
		}
	}
	climbing := Message{Headers: model.Table{"trace": "../.."}, Body: []byte(`{"user":{"id":1}}`)}
	if a.Offered(&climbing) {
		t.Error("a value leads to another path on a server that unescapes it")
	}
	for what, m := range map[string]Message{
		"has no headers.trace": {Body: []byte(`{"user":{"id":1}}`)},
		"has no json.user.id":  {Headers: model.Table{"trace": "a"}, Body: []byte(`{"user":{"id":{}}}`)},
		"more than 4KB":        {Headers: model.Table{"trace": strings.Repeat("a", 5000)}, Body: []byte(`{"user":{"id":1}}`)},
		". or ..":              {Headers: model.Table{"trace": ".."}, Body: []byte(`{"user":{"id":1}}`)},
	} {
		if _, err := a.URL(&m); err == nil || !strings.Contains(err.Error(), what) || a.Offered(&m) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A value never becomes another word, or an option.
func TestActionCommand(t *testing.T) {
	a, err := NewAction("ctrl-t", "look", "", `tool  --id={{message_id}} "two words" -- '' {{headers.a}}:x {{headers.b.c}}`)
	if err != nil {
		t.Fatal(err)
	}
	const hostile = "x; rm -rf ~ $(id) `id` \"'\n-v"
	m := Message{Properties: Properties{MessageID: hostile}, Headers: model.Table{"a": hostile, "b.c": int64(-5)}}
	if _, err := a.Command(&m); err == nil || !strings.Contains(err.Error(), "headers.b.c begins with -") {
		t.Errorf("a value that would be an option: %v", err)
	}
	m.Headers["b.c"] = int64(5)
	words, err := a.Command(&m)
	want := []string{"tool", "--id=" + hostile, "two words", "--", "", hostile + ":x", "5"}
	if err != nil || !slices.Equal(words, want) {
		t.Errorf("%q, %v", words, err)
	}
	m.Headers["a"] = "zero\x00"
	if a.Offered(&m) {
		t.Error("a zero byte is taken")
	}
}

func TestActionMistakes(t *testing.T) {
	for _, test := range []struct{ key, name, url, command, want string }{
		{"", "n", "https://h/", "", "a key and a name"},
		{"a", "", "https://h/", "", "a key and a name"},
		{"a", "n", "", "", "either a url or a command"},
		{"a", "n", "https://h/", "c", "either a url or a command"},
		{"a", "n", "https://h/{{x}}", "", "no field x: there are age, app_id"},
		{"a", "n", "https://h/{{headers}}", "", "headers.NAME"},
		{"a", "n", "https://h/{{message_id.x}}", "", "headers.NAME"},
		{"a", "n", "https://h/{{message_id", "", "not closed"},
		{"a", "n", "https://{{message_id}}/", "", "begins with https://"},
		{"a", "n", "https://h{{message_id}}/", "", "begins with https://"},
		{"a", "n", "{{message_id}}", "", "begins with https://"},
		{"a", "n", "file:///etc/{{message_id}}", "", "begins with https://"},
		{"a", "n", "javascript:{{message_id}}", "", "begins with https://"},
		{"a", "n", "", "{{message_id}} x", "the program"},
		{"a", "n", "", "  ", "the program"},
		{"a", "n", "", "c 'x", "not closed"},
	} {
		if _, err := NewAction(test.key, test.name, test.url, test.command); err == nil ||
			!strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: %v", test, err)
		}
	}
}
