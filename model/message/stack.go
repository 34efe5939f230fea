package message

import (
	"cmp"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// maxStack bounds the stack trace of a failure, in bytes.
const maxStack = 64 << 10

// stackSpots are where each framework writes the stack trace of a failure. A text that holds error and trace is one.
var stackSpots = map[string][]spot{
	"Spring AMQP": {header("x-exception-stacktrace")},
	"MassTransit": {header("MT-Fault-StackTrace")},
	"NServiceBus": {header("NServiceBus.ExceptionInfo.StackTrace")},
	"Wolverine":   {header("exception-stack")},
	"Rebus":       {header("rbs2-error-details")},
	"Watermill":   {header("reason_poisoned")},
	"Rascal":      {header("rascal", "error", "stack")},
	"Celery":      {body("traceback")},
	"Sneakers":    {header("retry_info", "backtrace"), body("backtrace")},
	"EasyNetQ":    {body("Exception")},
	"Dramatiq":    {body("options", "traceback")},
}

// failedAtSpots are where each framework writes when a message failed.
var failedAtSpots = map[string][]spot{
	"MassTransit": {header("MT-Fault-Timestamp")},
	"NServiceBus": {header("NServiceBus.TimeOfFailure")},
	"Wolverine":   {header("failed-at")},
	"Sneakers":    {header("retry_info", "failed_at"), body("failed_at")},
	"EasyNetQ":    {body("DateTime")},
	"Faktory":     {body("failure", "failed_at")},
}

// FailureStack is the stack trace that the writer of a failure added to it, its first 64 KiB; "" when there is none.
func (m *Message) FailureStack(f Failure) string {
	r := reader{m: m}
	for _, s := range stackSpots[f.Source] {
		if text, ok := r.text(s.in, s.path); ok && text != "" {
			return cut(text, maxStack)
		}
	}
	var fields []plainField
	switch f.Source {
	case FromDeaths:
	case fromBody:
		fields = m.bodyFields()
	default:
		fields = m.plainFields()
	}
	return cut(cmp.Or(firstText(fields, stackRole), firstText(fields, traceRole)), maxStack)
}

// Failed are the times between which a message failed, the first time and the last, as far as it says: what the writer
// of the failure wrote, and x-death, which has the time of the first death in each queue for each reason. Both are
// unknown when it says nothing.
func (m *Message) Failed(f Failure) (first, last model.Opt[time.Time]) {
	take := func(t time.Time) {
		if t.IsZero() {
			return
		}
		if was, known := first.Get(); !known || t.Before(was) {
			first = model.Some(t)
		}
		if was, known := last.Get(); !known || t.After(was) {
			last = model.Some(t)
		}
	}
	for i := range m.Deaths {
		take(m.Deaths[i].Time)
	}
	if f.Source == FromDeaths {
		return first, last
	}
	r := reader{m: m}
	for _, s := range failedAtSpots[f.Source] {
		if text, ok := r.text(s.in, s.path); ok {
			take(failureTime(text))
		}
	}
	for _, field := range m.plainFields() {
		if field.role == timeRole {
			take(failedAt(field.value))
		}
	}
	return first, last
}

// failedAt is the time in a header; zero when it is none.
func failedAt(v any) time.Time {
	if t, ok := v.(time.Time); ok {
		return plausible(t)
	} else if text, ok := model.AsText(v); ok {
		return failureTime(text)
	} else if n, ok := model.AsInteger(v); ok {
		return sinceEpoch(n)
	}
	return time.Time{}
}

// failureTimes are the layouts in which frameworks write times; the second is that of NServiceBus.
var failureTimes = []string{
	time.RFC3339, "2006-01-02 15:04:05:000000 Z07:00", "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00",
	"2006-01-02 15:04:05", "01/02/2006 15:04:05 Z07:00",
}

// failureTime reads a time; it is zero when the text is none. A text without a zone is taken as UTC.
func failureTime(text string) time.Time {
	const longest = 64
	if len(text) > longest {
		return time.Time{}
	}
	for _, layout := range failureTimes {
		if t, err := time.Parse(layout, text); err == nil {
			return plausible(t)
		}
	}
	return time.Time{}
}

// sinceEpoch reads seconds or milliseconds since 1970.
func sinceEpoch(n int64) time.Time {
	const firstMillisecond = 100_000_000_000 // as seconds that is after the year 5000
	if n >= firstMillisecond {
		return plausible(time.UnixMilli(n))
	}
	return plausible(time.Unix(n, 0))
}

// plausible is a time after 1970 and before the year 3058, else zero.
func plausible(t time.Time) time.Time {
	if s := t.Unix(); s < 1 || s >= 1<<35 {
		return time.Time{}
	}
	return t
}
