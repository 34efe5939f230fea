package model

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Count formats a number for people: 88,310.
func Count[N ~int | ~int32 | ~int64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	start := 0
	if n < 0 {
		start = 1
	}
	for i := len(s) - 3; i > start; i -= 3 {
		s = s[:i] + "," + s[i:]
	}

	return s
}

// Plural returns "1 message", "2 messages".
func Plural[N int | int64](n N, noun string) string {
	return Sayf("%v "+noun+"(s)", n)
}

// Sayf is fmt.Sprintf for people: queues become printable, lists of them become Names, and durations are short. What %v
// shows of a whole number is a Count, and of a string it is Printable. Words behind a number agree with it:
// "%v message(s) (is|are) lost".
func Sayf(format string, values ...any) string { return Errorf(format, values...).Error() }

// Errorf is fmt.Errorf for people, as Sayf is fmt.Sprintf.
func Errorf(format string, values ...any) error {
	if false {
		_ = fmt.Errorf(format, values...) // lets vet check the formats
	}

	const percent, one, several = "\x00", "$1", "$2"
	format = strings.NewReplacer("%%", percent, "(s)", "(|s)").Replace(format)
	pieces := strings.Split(format, "%")
	form := several

	for i, v := range values {
		behind := &pieces[min(i+1, len(pieces)-1)] // its verb, and the text up to the next one
		shown := strings.HasPrefix(*behind, "v")

		switch v := v.(type) {
		case QueueRef:
			values[i] = v.Printable()
		case []QueueRef:
			values[i] = Names(v)
		case time.Duration:
			values[i] = ShortDuration(v)
		case string:
			if shown {
				values[i] = Printable(v)
			}
		case int, int32, int64:
			n := reflect.ValueOf(v).Int()
			if form = several; n == 1 {
				form = one
			}
			if shown {
				values[i] = Count(n)
			}
		}

		*behind = choices.ReplaceAllString(*behind, form)
	}

	return fmt.Errorf(strings.ReplaceAll(strings.Join(pieces, "%"), percent, "%%"), values...)
}

// choices are the words in a format for one and for several: "(is|are)".
var choices = regexp.MustCompile(`\(([^|()]*)\|([^|()]*)\)`)

// ConsumerWords returns a number of consumers: "no consumers".
func ConsumerWords(consumers Opt[int64]) string {
	n, known := consumers.Get()
	switch {
	case !known:
		return "consumers unknown"
	case n == 0:
		return "no consumers"
	}

	return Plural(n, "consumer")
}
