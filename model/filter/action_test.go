package filter

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// A value stays where it was inserted, whatever it is.
func TestActionURL(t *testing.T) {
	a, err := NewAction("ctrl-t", "trace", "https://t.example/trace/{{headers.trace}}?at={{json.user.id}}#x", "", false)
	must.Do(t, err)
	for _, value := range []string{
		"4bf9-2f", "a b&c=d#e?f/g", "é\x00\n\x1b[2J", "%2e%2e", "https://evil.example/", "\xff\xfe", "@", "...", "+",
	} {
		m := message.Message{Headers: model.Table{"trace": value}, Body: []byte(`{"user":{"id":12345678901234567}}`)}
		text, err := a.URL(&m)
		must.That(t, err == nil, "%q: %v", value, err)
		u, err := url.Parse(text)
		assert.That(t, err == nil && u.Host == "t.example" && u.Path == "/trace/"+value && u.Fragment == "x" &&
			u.Query().Get("at") == "12345678901234567" && len(u.Query()) == 1, "%q: %s", value, text)
	}
	climbing := message.Message{Headers: model.Table{"trace": "../.."}, Body: []byte(`{"user":{"id":1}}`)}
	assert.That(t, !a.Offered(&climbing), "a value leads to another path on a server that unescapes it")
	for what, m := range map[string]message.Message{
		"has no headers.trace": {Body: []byte(`{"user":{"id":1}}`)},
		"has no json.user.id":  {Headers: model.Table{"trace": "a"}, Body: []byte(`{"user":{"id":{}}}`)},
		"more than 4KB":        {Headers: model.Table{"trace": strings.Repeat("a", 5000)}, Body: []byte(`{"user":{"id":1}}`)},
		". or ..":              {Headers: model.Table{"trace": ".."}, Body: []byte(`{"user":{"id":1}}`)},
	} {
		_, err = a.URL(&m)
		assert.That(t, err != nil && strings.Contains(err.Error(), what) && !a.Offered(&m), "%s: %v", what, err)
	}
}

// A value never becomes another word, or an option.
func TestActionCommand(t *testing.T) {
	a, err := NewAction("ctrl-t", "look", "",
		`tool  --id={{message_id}} "two words" -- '' {{headers.a}}:x {{headers.b.c}}`, false)
	must.Do(t, err)
	const hostile = "x; rm -rf ~ $(id) `id` \"'\n-v"
	m := message.Message{
		Properties: message.Properties{MessageID: hostile}, Headers: model.Table{"a": hostile, "b.c": int64(-5)},
	}
	_, err = a.Command(&m)
	assert.That(t, err != nil && strings.Contains(err.Error(), "headers.b.c begins with -"),
		"a value that would be an option: %v", err)
	m.Headers["b.c"] = int64(5)
	words, err := a.Command(&m)
	want := []string{"tool", "--id=" + hostile, "two words", "--", "", hostile + ":x", "5"}
	assert.That(t, err == nil && slices.Equal(words, want), "%q, %v", words, err)
	m.Headers["a"] = "zero\x00"
	assert.That(t, !a.Offered(&m), "a zero byte is taken")
}

// A field is refused where a shell or another interpreter would interpret its value; with shell = true only where
// quoting cannot make it one value for exactly one shell.
func TestActionsThatLeadIntoAShell(t *testing.T) {
	for command, want := range map[string]struct{ direct, shell string }{ // the refusal's words; "": none
		`tail -n 5 /var/log/{{app_id}}.log`:                   {"", ""},
		`tmux new-window 'tail -n 5 /var/log/{{app_id}}.log'`: {"several words", ""},
		`tmux new-window tail {{app_id}}`:                     {"behind tmux", "would be the program"},
		`/usr/bin/tmux new-window {{app_id}}`:                 {"behind /usr/bin/tmux", "would be the program"},
		`tmux new-window "sh -c 'tail {{app_id}}'"`:           {"several words", "more than once"},
		`tmux new-window 'sh -c tail\ {{app_id}}'`:            {"several words", "more than once"},
		`tmux new-window 'ssh h tail {{app_id}}'`:             {"several words", "more than once"},
		`notify 'an error of {{app_id}}'`:                     {"several words", "in quotes"},
		`sh -c 'tail {{app_id}}'`:                             {"several words", ""},
		`sh -c {{app_id}}`:                                    {"behind sh", "would be the program"},
		`sh -c 'tail "$1"' sh {{app_id}}`:                     {"behind sh", "no part of the command behind sh -c"},
		`sh {{app_id}}`:                                       {"behind sh", "no part of the command"},
		`BASH.EXE -lc 'tail {{app_id}}'`:                      {"several words", ""},
		`sudo bash -c 'tail {{app_id}}'`:                      {"several words", ""},
		`docker exec c sh -c tail:{{app_id}}`:                 {"behind exec", "would be the program"},
		`ssh h sh -c 'tail {{app_id}}'`:                       {"several words", "more than ssh"},
		`ssh "h'" 'tail {{app_id}}'`:                          {"several words", "more than ssh"},
		`ssh h 'tail {{app_id}}'`:                             {"several words", ""},
		`ssh {{app_id}}`:                                      {"behind ssh", "would be the program"},
		`su -c 'tail {{app_id}}' me`:                          {"several words", ""},
		`script -c 'tail {{app_id}}'`:                         {"several words", ""},
		`watch 'tail {{app_id}}'`:                             {"several words", ""},
		`env A={{app_id}} tool`:                               {"behind env", "would be the program"},
		`env tool {{app_id}}`:                                 {"behind env", ""},
		`xargs tool {{app_id}}`:                               {"behind xargs", ""},
		`sudo tool {{app_id}}`:                                {"behind sudo", ""},
		`nice -n 5 tool {{app_id}}`:                           {"behind nice", ""},
		`timeout 5 tool {{app_id}}`:                           {"behind timeout", ""},
		`timeout 5 {{app_id}}`:                                {"behind timeout", "would be the program"},
		`screen tool {{app_id}}`:                              {"behind screen", "no value can be quoted"},
		`parallel tool {{app_id}}`:                            {"behind parallel", "no value can be quoted"},
		`eval tool {{app_id}}`:                                {"behind eval", "no value can be quoted"},
		`python3.11 -c "print('{{app_id}}')"`:                 {"behind python3.11", "no value can be quoted"},
		`perl -e print({{app_id}})`:                           {"behind perl", "no value can be quoted"},
		`C:\tools\look.bat {{app_id}}`:                        {"behind C:", "no value can be quoted"},
		`cmd /c type {{app_id}}`:                              {"behind cmd", "no value can be quoted"},
		`tail /var/log/{{app_id}}.log | grep error`:           {"", ""},
		`tail '/var/log/{{app_id}}.log'`:                      {"", "in quotes"},
		`tail "/var/log/{{app_id}}.log"`:                      {"", "in quotes"},
		`tail \{{app_id}}`:                                    {"", "in quotes, or behind"},
		"tool `cat {{app_id}}`":                               {"", "more than once"},
		"cat <<x {{app_id}}":                                  {"", "more than once"},
		`tool $'a' {{app_id}}`:                                {"", "more than once"},
		`tool $((1+{{app_id}}))`:                              {"", "more than once"},
		`tool ${x:-{{app_id}}}`:                               {"", "more than once"},
		`tool; test -v {{app_id}}`:                            {"", "more than once"},
		`tool; eval {{app_id}}`:                               {"behind eval", "no value can be quoted"},
		`tool | {{app_id}}`:                                   {"", "would be the program"},
		`tool; a=b {{app_id}}`:                                {"", "would be the program"},
		`tool > {{app_id}}`:                                   {"", "the file that is written"},
		`tool >/tmp/{{app_id}}`:                               {"", "the file that is written"},
		`tool 2>/dev/null {{app_id}}`:                         {"", ""},
		`tool {{app_id}} | sh -c 'cat'`:                       {"", ""},
	} {
		for _, shell := range []bool{false, true} {
			says := want.direct
			if shell {
				says = want.shell
			}
			_, err := NewAction("a", "n", "", command, shell)
			assert.That(t, (err == nil) == (says == "") && (err == nil || strings.Contains(err.Error(), says)),
				"%s, shell = %t: %v, want %q", command, shell, err, says)
			assert.That(t, err == nil || strings.Contains(err.Error(), "app_id") && !strings.ContainsAny(err.Error(), "\n"),
				"%s: %v", command, err)
		}
	}
	_, err := NewAction("a", "n", "https://h/", "", true)
	assert.That(t, err != nil, "a url has a shell")
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
		_, err := NewAction(test.key, test.name, test.url, test.command, false)
		assert.That(t, err != nil && strings.Contains(err.Error(), test.want) && !strings.Contains(err.Error(), "\n"),
			"%+v: %v", test, err)
	}
}
