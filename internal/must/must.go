// Package must ends a test at an error that is not its subject, where going on makes no sense.
package must

import (
	"reflect"
	"testing"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/dlxtop/dlxtop/internal/assert"
)

// test is a test, or a property that is tried with many values.
type test interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Do ends the test at an error.
func Do(t test, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// Get returns a value, or ends the test at an error.
func Get[T any](value T, err error) func(test) T {
	return func(t test) T {
		t.Helper()
		Do(t, err)
		return value
	}
}

// That ends the test when a condition is false, with a format and its arguments.
func That(t test, holds bool, format string, args ...any) {
	t.Helper()
	if !holds {
		t.Fatalf(format, args...)
	}
}

// Equal is assert.Equal, but ends the test.
func Equal[T comparable](t test, got, want T, of ...any) {
	t.Helper()
	assert.Equal(ends{t}, got, want, of...)
}

// Contains is assert.Contains, but ends the test.
func Contains(t test, text, part string, of ...any) {
	t.Helper()
	assert.Contains(ends{t}, text, part, of...)
}

// Lacks is assert.Lacks, but ends the test.
func Lacks(t test, text, part string, of ...any) {
	t.Helper()
	assert.Lacks(ends{t}, text, part, of...)
}

// Fails is assert.Fails, but ends the test.
func Fails(t test, err error, part string, of ...any) {
	t.Helper()
	assert.Fails(ends{t}, err, part, of...)
}

// Same is assert.Same, but ends the test.
func Same(t test, want, got any, of ...any) {
	t.Helper()
	assert.Same(ends{t}, want, got, of...)
}

// Cases reads the cases of a test from a file of TOML, [[case]] each, in which every key is known.
func Cases[C any](t test, path string) []C {
	t.Helper()
	var file struct{ Case []C }
	read, err := toml.DecodeFile(path, &file)
	Do(t, err)
	That(t, len(read.Undecoded()) == 0, "%s: unknown keys %v", path, read.Undecoded())
	return file.Case
}

// Run runs a test for each case of a file, under the case's field Name.
func Run[C any](t *testing.T, path string, run func(*testing.T, C)) {
	t.Helper()
	for _, c := range Cases[C](t, path) {
		t.Run(reflect.ValueOf(c).FieldByName("Name").String(), func(t *testing.T) { run(t, c) })
	}
}

// ends turns a reported error into the end of the test.
type ends struct{ test }

// Errorf ends the test.
func (e ends) Errorf(format string, args ...any) {
	e.Helper()
	e.Fatalf(format, args...)
}

// Patience limits every wait of a test, on a machine that is busy with other tests.
const Patience = 2 * time.Minute

// Await waits until a condition holds.
func Await(t test, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(Patience); !holds(); time.Sleep(20 * time.Millisecond) {
		That(t, time.Now().Before(end), "after %v still not: %s", Patience, what)
	}
}
