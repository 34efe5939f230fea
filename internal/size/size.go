// Package size says how much tests do. Without DLXTOP_FULL, as in `make test`, tests run a sample that proves the
// same with less, and tests that stop whole nodes are skipped unless DLXTOP_FULL=0. DLXTOP_FULL=N runs everything, with
// N rounds of random tests: `make matrix` sets 2, `make faults` 50.
package size

import (
	"os"
	"strconv"
	"testing"
)

const variable = "DLXTOP_FULL"

// Of returns sample, or full in a full run.
func Of(sample, full int) int {
	if rounds() > 0 {
		return full
	}
	return sample
}

// Rounds returns sample, or in a full run how often to repeat random tests.
func Rounds(sample int) int {
	if n := rounds(); n > 0 {
		return n
	}
	return sample
}

// Long skips a test unless the variable is set, even to 0, so that `make test` ends within 5 minutes.
func Long(t testing.TB) {
	t.Helper()
	if os.Getenv(variable) == "" {
		t.Skip("takes long: " + variable + "=0 make test runs it, as make matrix does")
	}
}

// rounds returns 0 for a sample. It rejects a variable that is not a number.
func rounds() int {
	text := os.Getenv(variable)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		panic(variable + "=" + text + " is not a number of rounds")
	}

	return n
}
