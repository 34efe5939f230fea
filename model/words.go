package model

import (
	"fmt"
	"strconv"
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
	if n == 1 {
		return "1 " + noun
	}
	return Count(int64(n)) + " " + noun + "s"
}

// PluralAre returns "1 message is", "2 messages are".
func PluralAre(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun + " is"
	}
	return Plural(n, noun) + " are"
}

// Sayf is fmt.Sprintf for people: queues become printable, lists of them become Names, durations are short.
func Sayf(format string, values ...any) string {
	for i, v := range values {
		switch v := v.(type) {
		case QueueRef:
			values[i] = Printable(v.String())
		case []QueueRef:
			values[i] = Names(v)
		case time.Duration:
			values[i] = ShortDuration(v)
		}
	}

	return fmt.Sprintf(format, values...)
}

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
