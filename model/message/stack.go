package message

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// maxStack is the maximum size of a failure's stack trace, in bytes.
const maxStack = 64 << 10

// FailureStack is the stack trace that came with a failure, its first 64 KiB; "" when there is none.
func (m *Message) FailureStack(f Failure) string {
	r, k := reader{m: m}, frameworkNamed(f.Source)
	spots := slices.Clone(k.Stack)
	for _, form := range k.Failures {
		spots = append(spots, form.Trace...)
	}

	for _, s := range spots {
		if text, ok := r.text(s); ok && text != "" {
			return WholeRunes(text, maxStack)
		}
	}

	var fields []plainField
	switch f.Source {
	case FromDeaths:
	case fromBody:
		fields = m.bodyFailure()
	default:
		fields = m.plainFields()
	}

	return WholeRunes(cmp.Or(firstText(fields, stackRole), firstText(fields, traceRole)), maxStack)
}

// frameworkNamed is the row of a framework, an empty one when the source of a failure is not a framework.
func frameworkNamed(source string) framework {
	for _, k := range frameworks {
		if string(k.Name) == source {
			return k
		}
	}

	return framework{}
}

// Failed are the times of a message's first and last failure, as far as it says: from the writer of the failure, and
// from x-death, which has the time of the first death in each queue for each reason. Both are unknown when it has
// neither.
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
	for _, s := range frameworkNamed(f.Source).FailedAt {
		if text, ok := r.text(s); ok {
			take(failureTime(text))
		}
	}

	fields := m.plainFields()
	if f.Source == fromBody {
		fields = m.bodyFailure()
	}

	for _, field := range fields {
		if field.role == timeRole {
			take(failedAt(field.value))
		}
	}

	return first, last
}

// failedAt is the time in a header; zero when it has none.
func failedAt(v any) time.Time {
	if t, ok := v.(time.Time); ok {
		return plausible(t)
	} else if text, ok := model.AsText(v); ok {
		return failureTime(text)
	} else if n, ok := model.AsInteger(v); ok {
		return secondsOrMore(n)
	}

	return time.Time{}
}

// secondsOrMore is a time in seconds since 1970, or in milliseconds.
func secondsOrMore(n int64) time.Time {
	const firstMillisecond = 100_000_000_000 // as seconds this is after the year 5000
	if n >= firstMillisecond {
		return plausible(time.UnixMilli(n))
	}
	return plausible(time.Unix(n, 0))
}

// failureTimes are the layouts in which frameworks write times; the second is NServiceBus's.
var failureTimes = []string{
	time.RFC3339, "2006-01-02 15:04:05:000000 Z07:00", "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00",
	"2006-01-02 15:04:05", "01/02/2006 15:04:05 Z07:00",
}

// failureTime reads a time; zero when the text is not one. A text without a zone is taken as UTC.
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

	whole, _, _ := strings.Cut(text, ".") // a fraction of a second
	if n, err := strconv.ParseInt(whole, 10, 64); err == nil && n >= earliestSecond {
		return secondsOrMore(n)
	}

	return time.Time{}
}

// earliestSecond is in the year 2001: a smaller number in a text is no time.
const earliestSecond = 1_000_000_000

// plausible returns a time between 1970 and the year 3058 unchanged, any other as zero.
func plausible(t time.Time) time.Time {
	if s := t.Unix(); s < 1 || s >= 1<<35 {
		return time.Time{}
	}
	return t
}
