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

func bodied(body string) Message { return Message{Body: []byte(body), BodyBytes: len(body)} }

// Each message is as its framework writes it.
func TestFailureOfEachConvention(t *testing.T) {
	type expected struct {
		Name, Want    string // kind, message, source
		Text          string
		Headers, Body string
	}

	for _, c := range must.Cases[expected](t, "testdata/failures.toml") {
		t.Run(c.Name, func(t *testing.T) {
			m := must.Get(ParseMessage([]byte(`{"headers":` + cmp.Or(c.Headers, "{}") + `}`)))(t)
			m.Body, m.BodyBytes = []byte(c.Body), len(c.Body)
			wantFailure(t, &m, c.Want, c.Text)
		})
	}

	for _, c := range []struct {
		name string
		m    Message
		want string
		text string
	}{
		{
			"an error that is no text",
			Message{Headers: model.Table{"error": true}, Deaths: []Death{
				{Reason: model.Rejected, Queue: "mail"},

				{Reason: model.Expired},
			}},
			"rejected | in mail | x-death", "rejected in mail",
		},
		{
			"none: a dead letter of a plain exchange",
			Message{
				Headers: model.Table{
					"x-death": []any{}, "x-first-death-reason": "rejected",
					"x-first-death-queue": "mail", "x-first-death-exchange": "",
				},
				Deaths: []Death{{Queue: "mail", Reason: model.Rejected, Count: 1, RoutingKeys: []string{"mail"}}},
			},
			"rejected | in mail | x-death", "rejected in mail",
		},
		{
			"quorum delayed retry: given up by the delivery limit",
			Message{
				Headers: model.Table{"x-delivery-count": int64(20)},
				Deaths:  []Death{{Queue: "mail", Reason: model.DeliveryLimit, Count: 1}},
			},
			"delivery_limit | in mail | x-death", "delivery_limit in mail",
		},

		{
			"a framework goes before x-death",
			Message{Headers: model.Table{"x-error": "E: x"}, Deaths: []Death{{Reason: model.Expired}}},
			" | E: x | an error header", "E: x",
		},
	} {
		t.Run(c.name, func(t *testing.T) { wantFailure(t, &c.m, c.want, c.text) })
	}
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

	for _, k := range frameworks {
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
	for _, c := range []struct{ in, kind, message string }{
		{"", "", ""},
		{"TimeoutError: smtp gateway", "TimeoutError", "smtp gateway"},
		{"TimeoutError", "TimeoutError", ""},
		{"KeyError: 'id'", "KeyError", "'id'"},
		{"Net::OpenTimeout: execution expired", "Net::OpenTimeout", "execution expired"},
		{`App\MailException: no gateway`, `App\MailException`, "no gateway"},
		{"ECONNREFUSED: 127.0.0.1:25", "ECONNREFUSED", "127.0.0.1:25"},
		{"ValidationError: two lines\nof text", "ValidationError", "two lines\nof text"},
		{"dial tcp: i/o timeout", "", "dial tcp: i/o timeout"},
		{"smtp: 550 no such user", "", "smtp: 550 no such user"},
		{"Note: nothing", "", "Note: nothing"},
		{"DBD::Pg::st execute failed: deadlock", "", "DBD::Pg::st execute failed: deadlock"},
		{"Net::Timeout::", "", "Net::Timeout::"},
		{"http://example.com: down", "", "http://example.com: down"},
	} {
		kind, message := splitError(c.in)
		assert.Equal(t, kind, c.kind, "%v", c.in)
		assert.Equal(t, message, c.message, "%v", c.in)
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
	for name, m := range map[string]Message{
		"MassTransit": {Headers: model.Table{"MT-Fault-ExceptionType": "T", "MT-Fault-StackTrace": stack}},
		"NServiceBus": {Headers: model.Table{
			"NServiceBus.ExceptionInfo.ExceptionType": "T", "NServiceBus.ExceptionInfo.StackTrace": stack,
		}},
		"Wolverine":   {Headers: model.Table{"exception-type": "T", "exception-stack": stack}},
		"Spring AMQP": {Headers: model.Table{"x-exception-message": "m", "x-exception-stacktrace": stack}},
		"Rascal": {Headers: model.Table{"rascal": model.Table{
			"error": model.Table{"message": "m", "stack": stack},
		}}},
		"an error header": {Headers: model.Table{"x-error-message": "m", "X-Stack-Trace": stack}},
		"Sneakers": {Body: []byte(`{"num_attempts":3,"failed_at":"x","payload":"e30=","error":"E",` +
			`"backtrace":"   at Shop.Mail.Send()"}`)},
		"Celery": {Body: []byte(`{"task_id":"1","status":"FAILURE","traceback":"   at Shop.Mail.Send()"}`)},
	} {
		f, ok := m.Failure()
		got := m.FailureStack(f)
		assert.That(t, ok, "%s: failed %v as %+v with the stack %q", name, ok, f, got)
		assert.Equal(t, f.Source, name)
		assert.Equal(t, got, stack, "%v", name)
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
	for name, c := range map[string]struct {
		m           Message
		first, last int // in seconds; 0: unknown
	}{
		"nothing says so": {headed(model.Table{"error": "m"}), 0, 0},
		"x-death": {
			Message{Deaths: []Death{{Reason: "rejected", Time: at(9)}, {Reason: "expired", Time: at(4)}, {Reason: "rejected"}}},
			4, 9,
		},
		"NServiceBus": {
			headed(model.Table{
				"NServiceBus.ExceptionInfo.ExceptionType": "T",
				"NServiceBus.TimeOfFailure":               "2026-03-04 05:06:07:000000 Z",
			}), 7, 7,
		},

		"MassTransit and x-death": {
			Message{
				Headers: model.Table{"MT-Fault-ExceptionType": "T", "MT-Fault-Timestamp": "2026-03-04T05:06:07.0000000Z"},
				Deaths:  []Death{{Reason: "rejected", Time: at(1)}},
			}, 1, 7,
		},
		"EasyNetQ": {
			Message{Body: []byte(`{"Exception":"E: m","RoutingKey":"k","Exchange":"x","Message":"{}","BasicProperties":{},` +
				`"DateTime":"2026-03-04T05:06:07Z"}`)}, 7, 7,
		},
		"a timestamp of AMQP": {headed(model.Table{"error": "m", "x-failed-at": at(3)}), 3, 3},
		"milliseconds":        {headed(model.Table{"error": "m", "failed_at": at(3).UnixMilli()}), 3, 3},
		"nonsense":            {headed(model.Table{"error": "m", "failed_at": "yesterday", "error_time": int64(-5)}), 0, 0},
	} {
		f, _ := c.m.Failure()
		first, last := c.m.Failed(f)

		same := func(got model.Opt[time.Time], second int) bool {
			return got.Known() == (second > 0) && (second == 0 || got.Or(time.Time{}).Equal(at(second)))
		}
		assert.That(t, same(first, c.first), "%s: failed from %v to %v instead of second %d to %d", name, first, last,
			c.first, c.last)
		assert.That(t, same(last, c.last), "%s: failed from %v to %v instead of second %d to %d", name, first, last, c.first,
			c.last)
	}
}
