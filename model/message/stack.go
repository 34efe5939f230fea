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

// FailureStack returns the stack trace that came with a failure, its first 64 KiB; "" when there is none.
func (m *Message) FailureStack(f Failure) string {
	r, k := reader{m: m}, frameworkNamed(f.Source)
	spots := slices.Clone(k.Stack)
	for _, form := range k.Failures {
		spots = append(spots, form.Trace...)
	}

	if text := r.first(spots); text != "" {
		return WholeRunes(text, maxStack)
	}

	fields := m.fieldsOf(f)
	return WholeRunes(cmp.Or(firstText(fields, stackRole), firstText(fields, traceRole)), maxStack)
}

// fieldsOf returns the fields beside a failure that no framework describes.
func (m *Message) fieldsOf(f Failure) []plainField {
	switch f.Source {
	case FromDeaths:
		return nil
	case fromBody:
		return m.bodyFailure()
	}

	return m.plainFields()
}

// frameworkNamed returns the row of a framework, an empty one when the source of a failure is not a framework.
func frameworkNamed(source string) framework {
	for _, k := range frameworks() {
		if string(k.Name) == source {
			return k
		}
	}

	return framework{}
}

// Failed returns the times of a message's first and last failure, as far as it says: from the writer of the failure,
// and from x-death, which has the time of the first death in each queue for each reason. Both are unknown when it has
// neither.
func (m *Message) Failed(f Failure) (first, last model.Opt[time.Time]) {
	times := m.WrittenTimes(f)
	for d := range model.Each(m.Deaths) {
		times = append(times, d.Time)
	}

	for _, t := range times {
		if t.IsZero() {
			continue
		}
		if was, known := first.Get(); !known || t.Before(was) {
			first = model.Some(t)
		}
		if was, known := last.Get(); !known || t.After(was) {
			last = model.Some(t)
		}
	}

	return first, last
}

// LastFailure returns when the message failed last. exact is false where it failed again after that, nobody says when:
// x-death counts further deaths, and keeps the time of the first.
func (m *Message) LastFailure() (at time.Time, exact, ok bool) {
	f, _ := m.Failure()
	_, last := m.Failed(f)
	at, ok = last.Get()
	again := slices.ContainsFunc(m.Deaths, func(d Death) bool { return d.Count > 1 })

	return at, !again || slices.ContainsFunc(m.WrittenTimes(f), at.Equal), ok
}

// WrittenTimes returns the times of a failure that its writer gives.
func (m *Message) WrittenTimes(f Failure) (times []time.Time) {
	r := reader{m: m}
	for _, s := range frameworkNamed(f.Source).FailedAt {
		if text, ok := r.text(s); ok {
			times = append(times, failureTime(text))
		}
	}

	for _, field := range m.fieldsOf(f) {
		if field.role == timeRole {
			times = append(times, failedAt(field.value))
		}
	}

	return times
}

// failedAt returns the time in a header; zero when it has none.
func failedAt(v any) time.Time {
	switch v := v.(type) {
	case time.Time:
		return plausible(v)
	case float64:
		return sinceEpoch(int64(v))
	}

	if text, ok := model.AsText(v); ok {
		return failureTime(text)
	}
	n, _ := model.AsInteger(v)
	return sinceEpoch(n)
}

// sinceEpoch returns a time in seconds since 1970, or in milliseconds, microseconds or nanoseconds.
func sinceEpoch(n int64) time.Time {
	const firstMillisecond = 100_000_000_000 // as seconds this is after the year 5000
	perSecond := int64(1)
	for n/perSecond >= firstMillisecond {
		perSecond *= 1000
	}
	return plausible(time.Unix(n/perSecond, n%perSecond*(1_000_000_000/perSecond)))
}

// failureTimes are the layouts in which frameworks and languages write times; the second is NServiceBus's. The
// abbreviation of a zone says nothing without an offset, so it is UTC or GMT, as it is written here.
var failureTimes = []string{
	time.RFC3339, "2006-01-02 15:04:05:000000 Z07:00", "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00",
	"2006-01-02 15:04:05", "01/02/2006 15:04:05 Z07:00",
	time.RFC1123Z, "Mon, 02 Jan 2006 15:04:05 GMT", "Mon Jan _2 15:04:05 UTC 2006",
	"Mon Jan 02 2006 15:04:05 GMT-0700",                                                     // JavaScript
	"2006-01-02 15:04:05 UTC", "2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05 -0700 MST", // Ruby, Go
}

// failureTime reads a time; zero when the text is not one. A text without a zone is taken as UTC.
func failureTime(text string) time.Time {
	const longest = 100
	if len(text) > longest {
		return time.Time{}
	}
	text, _, _ = strings.Cut(text, " (") // the zone's name in JavaScript
	for _, layout := range failureTimes {
		if t, err := time.Parse(layout, text); err == nil {
			return plausible(t)
		}
	}

	whole, _, _ := strings.Cut(text, ".") // a fraction of a second
	if n, err := strconv.ParseInt(whole, 10, 64); err == nil && n >= earliestSecond {
		return sinceEpoch(n)
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
