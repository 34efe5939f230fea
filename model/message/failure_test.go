package message

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
)

func headed(headers model.Table) Message { return Message{Headers: headers} }

// asJSON are headers that a file of cases has as JSON, as dlxtop writes them, with the types that TOML does not know.
type asJSON model.Table

func (h *asJSON) UnmarshalText(text []byte) error {
	var fields map[string]any
	if err := Decode(text, &fields); err != nil {
		return err
	}
	read, err := parseTable(fields)
	*h = asJSON(read)
	return err
}

func bodied(body string) Message { return Message{Body: []byte(body), BodyBytes: len(body)} }

// Each message is as its framework writes it.
func TestFailureOfEachConvention(t *testing.T) {
	type expected struct {
		Name, Want    string // kind, message, source
		Text          string
		Headers, Body string
		Deaths        []Death
	}

	must.Run(t, "testdata/failures.toml", func(t *testing.T, c expected) {
		m := must.Get(ParseMessage([]byte(`{"headers":` + cmp.Or(c.Headers, "{}") + `}`)))(t)
		m.Body, m.BodyBytes, m.Deaths = []byte(c.Body), len(c.Body), append(m.Deaths, c.Deaths...)
		wantFailure(t, &m, c.Want, c.Text)
	})
}

func wantFailure(t *testing.T, m *Message, want, text string) {
	t.Helper()
	got, ok := m.Failure()
	assert.That(t, ok, "no failure")
	assert.Equal(t, strings.Join([]string{got.Kind, got.Message, got.Source}, " | "), want)
	assert.Equal(t, got.String(), text)
}

func TestNoFailure(t *testing.T) {
	for _, m := range []Message{
		{},
		{Body: []byte(`{"Exception":"none","note":"no envelope"}`)},
		{Headers: model.Table{"x-delay": int32(-5000)}}, // as the x-delayed-message plugin passes it on
		{Body: []byte(`{"actor_name":"send","queue_name":"mail","options":{}}`)},
		{Headers: model.Table{"x-error": "", "error": model.Table{}, "retry_info": "no JSON", "rascal": "text"}},
	} {
		f, ok := m.Failure()
		assert.That(t, !ok, "%v: %#v", m, f)
	}
}

func TestEveryConventionHasANameAndAPlace(t *testing.T) {
	read := must.Get(toml.Decode(frameworksFile, &struct{ Framework []framework }{}))(t)
	assert.Equal(t, len(read.Undecoded()), 0, "unknown keys %v", read.Undecoded())

	for _, k := range frameworks() {
		assert.That(t, k.Name != "", "%+v", k)
		for _, c := range k.Failures {
			assert.That(t, len(c.Needs) > 0, "%s: %+v", k.Name, c)
			assert.That(t, len(c.Kind)+len(c.Message)+len(c.Trace) > 0, "%s: %+v", k.Name, c)
		}

		if c := k.Origin; c != nil {
			assert.That(t, len(c.Exchange.path) > 0, "%s: %+v", k.Name, c)
			assert.That(t, len(c.Key.path) > 0, "%s: %+v", k.Name, c)
		}
	}
}

func TestSplitError(t *testing.T) {
	for _, c := range must.Cases[struct{ In, Kind, Message string }](t, "testdata/split_errors.toml") {
		kind, message := splitError(c.In)
		assert.Equal(t, kind, c.Kind, "%v", c.In)
		assert.Equal(t, message, c.Message, "%v", c.In)
	}
}

func TestFailureIsBounded(t *testing.T) {
	long := strings.Repeat("é", 1<<20)
	for _, m := range []Message{
		{Headers: model.Table{"x-error": long}},
		{Headers: model.Table{"x-exception-message": long, "x-exception-stacktrace": long}},
		{Headers: model.Table{"x-error": strings.Repeat("a.", 1<<20) + ": b"}},
		{Headers: model.Table{"rbs2-error-details": strings.Repeat("---> ", 1<<18)}},
	} {
		f, _ := m.Failure()
		assert.That(t, len(f.Kind) <= maxFailureText, "%d and %d bytes", len(f.Kind), len(f.Message))
		assert.That(t, len(f.Message) <= maxFailureText, "%d and %d bytes", len(f.Kind), len(f.Message))
	}
}

// In a buffer a message has not failed for good: a table shows why its last try failed, and not that it expired there
// before. Its JSON is the same everywhere.
func TestFailureInABuffer(t *testing.T) {
	rejected := Death{Queue: "w", Reason: model.Rejected, Count: 2}
	expired := Death{Queue: "w.retry", Reason: model.Expired, Count: 1}
	died := func(deaths ...Death) Message { return Message{Deaths: deaths} }
	timedOut := Message{Deaths: []Death{expired}, Headers: model.Table{"x-error": "TimeoutError: smtp gateway"}}
	for _, c := range []struct {
		name           string
		m              Message
		buffer, failed string
	}{
		{"nothing says of one", Message{}, "", ""},
		{"on its way through levels", died(expired), "", "expired in w.retry"},
		{"rejected", died(rejected, expired), "rejected in w", "rejected in w"},
		{"rejected before it came here", died(expired, rejected), "rejected in w", "rejected in w"},
		{"expired where it was rejected before", died(
			Death{Queue: "w", Reason: model.Expired}, Death{Queue: "w", Reason: model.Rejected}), "", "expired in w"},
		{"an error of its worker", timedOut, "TimeoutError: smtp gateway", "TimeoutError: smtp gateway"},
	} {
		assert.Equal(t, c.m.FailureIn(true), c.buffer, "%s, in a buffer", c.name)
		assert.Equal(t, c.m.FailureIn(false), c.failed, "%s, elsewhere", c.name)
	}
}

func TestFailureStack(t *testing.T) {
	const stack = "   at Shop.Mail.Send()"
	type expected struct {
		Source  string
		Headers asJSON
		Body    string
	}

	for _, c := range must.Cases[expected](t, "testdata/stacks.toml") {
		m := Message{Headers: model.Table(c.Headers), Body: []byte(c.Body)}
		f, ok := m.Failure()
		got := m.FailureStack(f)
		assert.That(t, ok, "%s: failed %v as %+v with the stack %q", c.Source, ok, f, got)
		assert.Equal(t, f.Source, c.Source)
		assert.Equal(t, got, stack, "%v", c.Source)
	}

	long := Message{Headers: model.Table{"error": "m", "stack": strings.Repeat("at é\n", 1<<20)}}
	f, _ := long.Failure()
	got := long.FailureStack(f)
	assert.That(t, len(got) <= maxStack && len(got) >= maxStack-4, "the stack has %d bytes", len(got))
	died := Message{Deaths: []Death{{Reason: model.Rejected, Queue: "q"}}, Headers: model.Table{"trace": stack}}
	f, _ = died.Failure()
	assert.Equal(t, died.FailureStack(f), "", "a death has the stack")
}

func TestFailed(t *testing.T) {
	at := func(s int) time.Time { return time.Date(2026, 3, 4, 5, 6, s, 0, time.UTC) }
	type expected struct {
		Name        string
		Headers     asJSON
		Body        string
		Deaths      []Death
		First, Last int // in seconds; 0: unknown
	}

	for _, c := range must.Cases[expected](t, "testdata/failed.toml") {
		m := Message{Headers: model.Table(c.Headers), Body: []byte(c.Body), Deaths: c.Deaths}
		f, _ := m.Failure()
		first, last := m.Failed(f)

		same := func(got model.Opt[time.Time], second int) bool {
			return got.Known() == (second > 0) && (second == 0 || got.Or(time.Time{}).Equal(at(second)))
		}
		assert.That(t, same(first, c.First), "%s: failed from %v to %v instead of second %d to %d", c.Name, first, last,
			c.First, c.Last)
		assert.That(t, same(last, c.Last), "%s: failed from %v to %v instead of second %d to %d", c.Name, first, last,
			c.First, c.Last)
	}
}
