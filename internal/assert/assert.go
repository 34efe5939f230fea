// Package assert reports failed checks and lets the test go on; package must ends the test.
//
// The optional values at the end of a check are a format and its arguments, which say what was checked.
package assert

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// test is a test, or a property that is tried with many values.
type test interface {
	Helper()
	Errorf(format string, args ...any)
}

// That reports a false condition, with a format and its arguments.
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

// Equal reports a value that differs from the wanted one.
func Equal[T comparable](t test, got, want T, of ...any) {
	t.Helper()
	if got != want {
		t.Errorf("%s%s, want %s", subject(of), shown(got), shown(want))
	}
}

// List reports a list that differs from the wanted values or their order.
func List[S ~[]E, E comparable](t test, got, want S, of ...any) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s%s, want %s", subject(of), shown(got), shown(want))
	}
}

// Contains reports a text that lacks a part.
func Contains(t test, text, part string, of ...any) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%s%q has no %q", subject(of), text, part)
	}
}

// Lacks reports a text that has a part.
func Lacks(t test, text, part string, of ...any) {
	t.Helper()
	That(t, !strings.Contains(text, part), "%s%q has %q", subject(of), text, part)
}

// Fails reports that there is no error, or one whose text lacks a part.
func Fails(t test, err error, part string, of ...any) {
	t.Helper()
	if err == nil {
		t.Errorf("%sno error, want one with %q", subject(of), part)
		return
	}
	Contains(t, err.Error(), part, of...)
}

// Same reports how values differ that have parts.
func Same(t test, want, got any, of ...any) {
	t.Helper()
	NoDiff(t, cmp.Diff(want, got), of...)
}

// NoDiff reports a difference that cmp.Diff found.
func NoDiff(t test, diff string, of ...any) {
	t.Helper()
	That(t, diff == "", "%s%s", subject(of), diff)
}

// subject returns what a check is about, and a colon.
func subject(of []any) string {
	if len(of) == 0 {
		return ""
	}
	return fmt.Sprintf(of[0].(string), of[1:]...) + ": "
}

// shown formats a value for a failure message: texts are quoted, so that blanks at their ends are seen.
func shown(value any) string {
	switch value.(type) {
	case string, []string:
		return fmt.Sprintf("%q", value)
	}

	return fmt.Sprintf("%+v", value)
}
