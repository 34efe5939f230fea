// Package size tells tests how much to do. Without DLXTOP_FULL, as in `make test`, they are a sample that proves the
// same with less, and those that stop whole nodes wait for DLXTOP_FULL=0. DLXTOP_FULL=N is all of it, with N rounds of
// what is random: `make matrix` sets 2, `make faults` 50.
package size

import (
	"os"
	"strconv"
	"testing"
)

const variable = "DLXTOP_FULL"

// Of is sample, and in a full run full.
func Of(sample, full int) int {
	if rounds() > 0 {
		return full
	}
	return sample
}

// Rounds is sample, and in a full run how often to repeat what is random.
func Rounds(sample int) int {
	if n := rounds(); n > 0 {
		return n
	}
	return sample
}

// Long leaves a test to the runs that set the variable, be it to 0, so that `make test` ends within 5 minutes.
func Long(t testing.TB) {
	t.Helper()
	if os.Getenv(variable) == "" {
		t.Skip("takes long: " + variable + "=0 make test runs it, as make matrix does")
	}
}

// rounds is 0 for a sample. A variable that is no number must not pass for one.
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
