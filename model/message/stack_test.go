package message

import (
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
)

func TestFailureStack(t *testing.T) {
	const stack = "   at Shop.Mail.Send()"
	for name, m := range map[string]Message{
		"MassTransit": {Headers: model.Table{"MT-Fault-ExceptionType": "T", "MT-Fault-StackTrace": stack}},
		"NServiceBus": {Headers: model.Table{
			"NServiceBus.ExceptionInfo.ExceptionType": "T", "NServiceBus.ExceptionInfo.StackTrace": stack,
		}},
		"Wolverine": {Headers: model.Table{"exception-type": "T", "exception-stack": stack}},
		"Spring AMQP": {Headers: model.Table{
			"x-exception-message": "m", "x-exception-stacktrace": stack,
		}},
		"Rascal": {Headers: model.Table{"rascal": model.Table{
			"error": model.Table{"message": "m", "stack": stack},
		}}},
		"an error header": {Headers: model.Table{"x-error-message": "m", "X-Stack-Trace": stack}},
		"Celery":          {Body: []byte(`{"task_id":"1","status":"FAILURE","traceback":"   at Shop.Mail.Send()"}`)},
	} {
		f, ok := m.Failure()
		if got := m.FailureStack(f); !ok || f.Source != name || got != stack {
			t.Errorf("%s: failed %v as %+v with the stack %q", name, ok, f, got)
		}
	}
	long := Message{Headers: model.Table{"error": "m", "stack": strings.Repeat("at é\n", 1<<20)}}
	f, _ := long.Failure()
	if got := long.FailureStack(f); len(got) > maxStack || len(got) < maxStack-4 {
		t.Errorf("the stack has %d bytes", len(got))
	}
	died := Message{Deaths: []Death{{Reason: model.Rejected, Queue: "q"}}, Headers: model.Table{"trace": stack}}
	f, _ = died.Failure()
	assert.Equal(t, died.FailureStack(f), "", "a death has the stack")
}

func TestFailed(t *testing.T) {
	at := func(s int) time.Time { return time.Date(2026, 3, 4, 5, 6, s, 0, time.UTC) }
	for name, c := range map[string]struct {
		m           Message
		first, last model.Opt[time.Time]
	}{
		"nothing says so": {Message{Headers: model.Table{"error": "m"}}, model.Opt[time.Time]{}, model.Opt[time.Time]{}},
		"x-death": {
			Message{Deaths: []Death{{Reason: "rejected", Time: at(9)}, {Reason: "expired", Time: at(4)}, {Reason: "rejected"}}},
			model.Some(at(4)), model.Some(at(9)),
		},
		"NServiceBus": {
			Message{Headers: model.Table{
				"NServiceBus.ExceptionInfo.ExceptionType": "T",
				"NServiceBus.TimeOfFailure":               "2026-03-04 05:06:07:000000 Z",
			}},
			model.Some(at(7)), model.Some(at(7)),
		},
		"MassTransit and x-death": {
			Message{
				Headers: model.Table{"MT-Fault-ExceptionType": "T", "MT-Fault-Timestamp": "2026-03-04T05:06:07.0000000Z"},
				Deaths:  []Death{{Reason: "rejected", Time: at(1)}},
			},
			model.Some(at(1)), model.Some(at(7)),
		},
		"a timestamp of AMQP": {
			Message{Headers: model.Table{"error": "m", "x-failed-at": at(3)}}, model.Some(at(3)), model.Some(at(3)),
		},
		"milliseconds": {
			Message{Headers: model.Table{"error": "m", "failed_at": at(3).UnixMilli()}},
			model.Some(at(3)), model.Some(at(3)),
		},
		"nonsense": {
			Message{Headers: model.Table{"error": "m", "failed_at": "yesterday", "error_time": int64(-5)}},
			model.Opt[time.Time]{},
			model.Opt[time.Time]{},
		},
	} {
		f, _ := c.m.Failure()
		first, last := c.m.Failed(f)
		same := func(a, b model.Opt[time.Time]) bool {
			return a.Known() == b.Known() && a.Or(time.Time{}).Equal(b.Or(time.Time{}))
		}
		assert.That(t, same(first, c.first) && same(last, c.last),
			"%s: failed from %v to %v instead of %v to %v", name, first, last, c.first, c.last)
	}
}
