package message

import (
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
)

func headed(headers model.Table) Message { return Message{Headers: headers} }

func bodied(body string) Message { return Message{Body: []byte(body), BodyBytes: len(body)} }

// Each message is as its framework writes it.
func TestFailureOfEachConvention(t *testing.T) {
	for _, c := range []struct {
		name string
		m    Message
		want string // kind, message, source
		text string
	}{
		{
			"Spring AMQP",
			headed(model.Table{
				"x-exception-message": "smtp gateway",
				"x-exception-stacktrace": "org.springframework.amqp.rabbit.support.ListenerExecutionFailedException: " +
					"Listener threw exception\n" +
					"\tat org.springframework.amqp.rabbit.listener.AbstractMessageListenerContainer.invoke" +
					"(AbstractMessageListenerContainer.java:1700)\n" +
					"Caused by: java.util.concurrent.TimeoutException: smtp gateway\n\tat " +
					"com.example.Mail.send(Mail.java:12)\n\t... 23 more\n",
				"x-original-exchange": "orders", "x-original-routingKey": "new",
			}),
			"java.util.concurrent.TimeoutException | smtp gateway | Spring AMQP", "TimeoutException: smtp gateway",
		},
		{
			"Spring AMQP, an exception without a message",
			headed(model.Table{
				"x-exception-message":    nil,
				"x-exception-stacktrace": "java.lang.NullPointerException\n\tat com.example.Mail.send(Mail.java:12)\n",
			}),
			"java.lang.NullPointerException |  | Spring AMQP", "NullPointerException",
		},
		{
			"MassTransit _error",
			headed(model.Table{
				"MT-Reason": "fault", "MT-Fault-ExceptionType": "System.TimeoutException", "MT-Fault-Message": "smtp gateway",
				"MT-Fault-StackTrace": "   at Mail.Send()", "MT-Fault-Timestamp": "2024-05-01T12:00:00.0000000Z",
				"MT-Fault-RetryCount": int32(3),
			}),
			"System.TimeoutException | smtp gateway | MassTransit", "TimeoutException: smtp gateway",
		},
		{
			"MassTransit _skipped", headed(model.Table{"MT-Reason": "dead-letter"}), "dead-letter |  | MassTransit",
			"dead-letter",
		},
		{
			"NServiceBus",
			headed(model.Table{
				"NServiceBus.ExceptionInfo.ExceptionType": "System.TimeoutException",
				"NServiceBus.ExceptionInfo.Message":       "smtp gateway",
				"NServiceBus.FailedQ":                     "mail", "NServiceBus.TimeOfFailure": "2024-05-01 12:00:00:000000 Z",
			}),
			"System.TimeoutException | smtp gateway | NServiceBus", "TimeoutException: smtp gateway",
		},
		{
			"EasyNetQ",
			bodied(`{"RoutingKey":"","Exchange":"Mail, Messages","Queue":"Mail_mailer","Exception":"System.AggregateException: One or more errors occurred. (smtp gateway)\r\n ---> System.TimeoutException: smtp gateway\r\n   at Mail.Send() in Mail.cs:line 12\r\n   --- End of inner exception stack trace ---","Message":"{\"Id\":121}","DateTime":"2024-05-01T12:00:00Z","BasicProperties":{}}`),
			"System.TimeoutException | smtp gateway | EasyNetQ", "TimeoutException: smtp gateway",
		},
		{
			"Kicks",
			headed(model.Table{"retry_info": `{"error":"smtp gateway","num_attempts":6,"failed_at":"2024-05-01T12:00:00Z","error_class":"Net::OpenTimeout","error_message":"smtp gateway","backtrace":"mail.rb:12"}`}),
			"Net::OpenTimeout | smtp gateway | Sneakers", "OpenTimeout: smtp gateway",
		},
		{
			"Sneakers, a rejected message",
			headed(model.Table{"retry_info": `{"error":"reject","num_attempts":6,"failed_at":"2024-05-01T12:00:00Z"}`}),
			"reject |  | Sneakers", "reject",
		},
		{
			"Sneakers, the envelope",
			bodied(`{"error":"smtp gateway","num_attempts":6,"failed_at":"2024-05-01T12:00:00Z","payload":"eyJpZCI6MTIxfQ==\n","error_class":"Timeout::Error","error_message":"smtp gateway"}`),
			"Timeout::Error | smtp gateway | Sneakers", "Error: smtp gateway",
		},
		{
			"Dramatiq",
			bodied(`{"queue_name":"mail","actor_name":"send","args":[121],"kwargs":{},"options":{"retries":21,"traceback":"Traceback (most recent call last):\n  File \"worker.py\", line 503, in process_message\n    res = actor(*message.args)\n  File \"mail.py\", line 12, in send\n    raise TimeoutError(\"smtp gateway\")\nTimeoutError: smtp gateway\n","eta":1714564800000},"message_id":"1","message_timestamp":1714564700000}`),
			"TimeoutError | smtp gateway | Dramatiq", "TimeoutError: smtp gateway",
		},
		{
			"Wolverine",
			headed(model.Table{
				"exception-type":    "System.TimeoutException",
				"exception-message": "smtp gateway", "exception-stack": "   at Mail.Send()",
			}),
			"System.TimeoutException | smtp gateway | Wolverine", "TimeoutException: smtp gateway",
		},
		{
			"Rebus",
			headed(model.Table{
				"rbs2-source-queue": "mail",
				"rbs2-error-details": "System.AggregateException: 5 unhandled exceptions (smtp gateway) (smtp " +
					"gateway)\r\n ---> System.TimeoutException: smtp gateway\r\n   at Mail.Send()",
			}),
			"System.TimeoutException | smtp gateway | Rebus", "TimeoutException: smtp gateway",
		},
		{
			"Rebus, dated",
			headed(model.Table{"rbs2-error-details": "2 unhandled exceptions\r\n05/01/2024 12:00:00 " +
				"+00:00: System.TimeoutException: smtp gateway\r\n   at Mail.Send()"}),
			"System.TimeoutException | smtp gateway | Rebus", "TimeoutException: smtp gateway",
		},
		{
			"Watermill",
			headed(model.Table{"reason_poisoned": "cannot send: dial tcp: i/o timeout", "topic_poisoned": "mail"}),
			" | cannot send: dial tcp: i/o timeout | Watermill", "cannot send: dial tcp: i/o timeout",
		},
		{
			"Rascal",
			headed(model.Table{"rascal": model.Table{
				"originalQueue": "mail", "error": model.Table{"message": "smtp gateway", "code": "ETIMEDOUT"},
			}}),
			"ETIMEDOUT | smtp gateway | Rascal", "ETIMEDOUT: smtp gateway",
		},
		{
			"Rascal without a code",
			headed(model.Table{"rascal": model.Table{
				"error": model.Table{"message": "TimeoutError: smtp gateway", "code": nil},
			}}),
			"TimeoutError | smtp gateway | Rascal", "TimeoutError: smtp gateway",
		},
		{
			"a nested error", headed(model.Table{"error": model.Table{"name": "TimeoutError", "message": "smtp gateway"}}),
			"TimeoutError | smtp gateway | an error header", "TimeoutError: smtp gateway",
		},
		{
			"x-error", headed(model.Table{"x-error": "TimeoutError: smtp gateway"}),
			"TimeoutError | smtp gateway | an error header", "TimeoutError: smtp gateway",
		},
		{
			"X-Exception as bytes", headed(model.Table{"X-Exception": []byte("smtp gateway")}),
			" | smtp gateway | an error header", "smtp gateway",
		},
		{
			"error_class beside error_message",
			headed(model.Table{"error_message": "smtp gateway", "Error-Class": "TimeoutError"}),
			"TimeoutError | smtp gateway | an error header", "TimeoutError: smtp gateway",
		},
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
			"NServiceBus, with inner exceptions in the stack trace",
			headed(model.Table{
				"NServiceBus.ExceptionInfo.ExceptionType": "System.InvalidOperationException",
				"NServiceBus.ExceptionInfo.Message":       "no gateway\nfor tenant blue",
				"NServiceBus.ExceptionInfo.StackTrace": "System.InvalidOperationException: no gateway\n ---> " +
					"System.TimeoutException: smtp\n   at Mail.Send()", "NServiceBus.FailedQ": "mail",
			}),
			"System.InvalidOperationException | no gateway\nfor tenant blue | NServiceBus",
			"InvalidOperationException: no gateway\nfor tenant blue",
		},
		{"EasyNetQ version 6", bodied(easyNetQ6), "System.Exception | no | EasyNetQ", "Exception: no"},
		{
			"x-death unreadable", headed(model.Table{"x-last-death-reason": "delivery_limit", "x-last-death-queue": "mail"}),
			"delivery_limit | in mail | x-death", "delivery_limit in mail",
		},
		{
			"a framework goes before x-death",
			Message{Headers: model.Table{"x-error": "E: x"}, Deaths: []Death{{Reason: model.Expired}}},
			" | E: x | an error header", "E: x",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := c.m.Failure()
			assert.That(t, ok, "no failure")
			assert.Equal(t, strings.Join([]string{got.Kind, got.Message, got.Source}, " | "), c.want)
			assert.Equal(t, got.String(), c.text)
		})
	}
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
	for _, k := range frameworks {
		for _, c := range k.failures {
			assert.That(t, k.name != "" && len(c.needs) > 0 && len(c.kind)+len(c.message)+len(c.trace) > 0,
				"%s: %+v", k.name, c)
		}
	}
	for i, c := range originConventions {
		assert.That(t, c.name != "" && len(c.exchange.path) > 0 && len(c.key.path) > 0, "row %d: %+v", i, c)
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
		assert.That(t, kind == c.kind && message == c.message, "%q: %q and %q", c.in, kind, message)
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
		assert.That(t, len(f.Kind) <= maxFailureText && len(f.Message) <= maxFailureText,
			"%d and %d bytes", len(f.Kind), len(f.Message))
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
		{"rejected before it came here", died(expired, rejected), "rejected in w", "expired in w.retry"},
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
		assert.That(t, ok && f.Source == name && got == stack,
			"%s: failed %v as %+v with the stack %q", name, ok, f, got)
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
		assert.That(t, same(first, c.first) && same(last, c.last),
			"%s: failed from %v to %v instead of second %d to %d", name, first, last, c.first, c.last)
	}
}
