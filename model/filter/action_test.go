package filter

import (
	"fmt"
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
	a, err := NewAction("ctrl-t", "trace", "https://t.example/trace/{{headers.trace}}?at={{json.user.id}}#x", "")
	must.Do(t, err)
	for _, value := range []string{
		"4bf9-2f", "a b&c=d#e?f/g", "é\x00\n\x1b[2J", "%2e%2e", "https://evil.example/", "\xff\xfe", "@", "...", "+",
	} {
		m := message.Message{Headers: model.Table{"trace": value}, Body: []byte(`{"user":{"id":12345678901234567}}`)}
		text, err := a.URL(&m)
		must.That(t, err == nil, "%q: %v", value, err)
		u, err := url.Parse(text)
		must.That(t, err == nil, "%q: %s", value, text)
		assert.Equal(t, u.Host, "t.example", "%v", value)
		assert.Equal(t, u.Path, "/trace/"+value, "%v", value)
		assert.Equal(t, u.Fragment, "x", "%v", value)
		assert.Equal(t, u.Query().Get("at"), "12345678901234567", "%v", value)
		assert.Equal(t, len(u.Query()), 1, "%v", value)
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
		assert.Fails(t, err, what)
		assert.That(t, !a.Offered(&m), "%s: %v", what, err)
	}
}

// A command gets each field that has one value, under its own name, and nothing of another message.
func TestActionEnvironment(t *testing.T) {
	const hostile = "x; touch ran $(id) `id` \"'\n-v \xff#{}"
	m := message.Message{
		Properties: message.Properties{MessageID: hostile, AppID: "zero\x00", Type: strings.Repeat("a", mostOfValue+1)},
		Body:       []byte("body"),
		Headers: model.Table{
			"x-tenant": "acme", "é": int64(5), "PATH": "/tmp", "a=b": true, "list": []any{"a"}, "table": model.Table{"a": 1},
			"none": nil, "x.twice": "1", "X-Twice": "2", "bytes": []byte("b\x00"),
		},
	}
	inherited := []string{
		"PATH=/bin", "DLXTOP_URL=amqp://h", "DLXTOP_APP_ID=old", "DLXTOP_HEADER_OLD=old", "DLXTOP_MESSAGE_ID=old",
	}
	environment := Environment(inherited, &m)
	got := map[string]string{}
	for _, entry := range environment {
		variable, value, _ := strings.Cut(entry, "=")
		_, twice := got[variable]
		assert.That(t, !twice, "%s is there twice", variable)
		got[variable] = value
	}

	for variable, want := range map[string]string{
		"PATH": "/bin", "DLXTOP_URL": "amqp://h", "DLXTOP_MESSAGE_ID": hostile, "DLXTOP_SIZE": "4",
		"DLXTOP_HEADER_X_TENANT": "acme", "DLXTOP_HEADER__": "5", "DLXTOP_HEADER_PATH": "/tmp", "DLXTOP_HEADER_A_B": "true",
	} {
		assert.That(t, got[variable] == want, "%s is %q", variable, got[variable])
	}
	for _, variable := range []string{
		"DLXTOP_APP_ID", "DLXTOP_TYPE", "DLXTOP_BODY", "DLXTOP_JSON", "DLXTOP_HEADERS", "DLXTOP_HEADER_OLD",
		"DLXTOP_HEADER_LIST", "DLXTOP_HEADER_TABLE", "DLXTOP_HEADER_NONE", "DLXTOP_HEADER_X_TWICE", "DLXTOP_HEADER_BYTES",
	} {
		value, there := got[variable]
		assert.That(t, !there, "%s is %q", variable, value)
	}
	must.Equal(t, len(inherited), 5, "what was inherited changed: %q", inherited)
	assert.Equal(t, inherited[2], "DLXTOP_APP_ID=old")
}

// A message with many headers does not make an environment that a system refuses; the fields come first.
func TestActionEnvironmentIsBounded(t *testing.T) {
	m := message.Message{Properties: message.Properties{MessageID: "m"}, Headers: model.Table{}}
	for i := range 1000 {
		m.Headers[fmt.Sprintf("h%d", i)] = strings.Repeat("a", mostOfValue-i)
	}

	environment := Environment(nil, &m)
	bytes := 0
	for _, entry := range environment {
		bytes += len(entry) + 1
	}
	assert.That(t, bytes <= mostOfEnvironment, "%d bytes", bytes)
	assert.That(t, bytes > mostOfEnvironment-mostOfValue, "%d bytes: more would fit", bytes)
	assert.That(t, slices.Contains(environment, "DLXTOP_MESSAGE_ID=m"), "the message's id is left out")
}

// No field has the variable of a setting of dlxtop, which commands may need.
func TestActionVariablesAreFree(t *testing.T) {
	for _, name := range append(fieldNames(), "header_x") {
		taken := slices.Contains([]string{
			"DLXTOP_URL", "DLXTOP_API", "DLXTOP_CONTEXT", "DLXTOP_RABBITMQ_SERVER",
		}, variableOf(name))
		assert.That(t, !taken, "%s", variableOf(name))
	}
}

// A field in a command is refused with what to write instead; what only looks like one is the command's own.
func TestFieldsInCommands(t *testing.T) {
	for _, test := range must.Cases[struct{ Command, Want string }](t, "testdata/commands.toml") {
		_, err := NewAction("a", "n", "", test.Command)
		said := ""
		if err != nil {
			said = err.Error()
		}
		assert.That(t, (said == "") == (test.Want == ""), "%s: %q", test.Command, said)
		assert.Contains(t, said, test.Want)
		assert.That(t, !strings.Contains(said, "\n"), "%s: %q", test.Command, said)
	}
}

func TestActionMistakes(t *testing.T) {
	for _, test := range must.Cases[struct{ Key, Name, URL, Command, Want string }](t, "testdata/action_mistakes.toml") {
		_, err := NewAction(test.Key, test.Name, test.URL, test.Command)
		must.Fails(t, err, test.Want, "%v", test)
		assert.Lacks(t, err.Error(), "\n", "%v", test)
	}
}
