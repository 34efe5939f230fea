// Package assert reports what does not hold in a test, which goes on; package must ends it.
//
// Where a check has values at its end, these are a format and its values, and say what was looked at.
package assert

import (
	"fmt"
	"slices"
	"strings"
)

// test is a test, or a property that is tried with many values.
type test interface {
	Helper()
	Errorf(format string, args ...any)
}

// That reports a condition that does not hold, with a format and its values.
func That(t test, holds bool, format string, args ...any) {
	t.Helper()
	if !holds {
		t.Errorf(format, args...)
	}
}

// Succeeds reports an error.
func Succeeds(t test, err error) {
	t.Helper()
	That(t, err == nil, "%v", err)
}

// Equal reports a value that is not the wanted one.
func Equal[T comparable](t test, got, want T, of ...any) {
	t.Helper()
	if got != want {
		t.Errorf("%s%s, want %s", subject(of), shown(got), shown(want))
	}
}

// List reports a list that has not the wanted values in their order.
func List[S ~[]E, E comparable](t test, got, want S, of ...any) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s%s, want %s", subject(of), shown(got), shown(want))
	}
}

// Contains reports a text without a part that it needs.
func Contains(t test, text, part string, of ...any) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%s%q has no %q", subject(of), text, part)
	}
}

// NoDiff reports what cmp.Diff found.
func NoDiff(t test, diff string, of ...any) {
	t.Helper()
	That(t, diff == "", "%s%s", subject(of), diff)
}

// subject is what a check is about, and a colon.
func subject(of []any) string {
	if len(of) == 0 {
		return ""
	}
	return fmt.Sprintf(of[0].(string), of[1:]...) + ": "
}

// shown is a value as a failure shows it: texts in quotes, as the end of one is part of it.
func shown(value any) string {
	switch value.(type) {
	case string, []string:
		return fmt.Sprintf("%q", value)
	}
	return fmt.Sprintf("%+v", value)
}
