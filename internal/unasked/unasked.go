// Package unasked keeps the start of the program from asking the terminal for its background: Bubble Tea 1.3.10 does so
// in an init function, and waits 5 s for a terminal that does not answer, whatever the command is.
//
// termenv asks nothing where CI is set. Go initializes the packages whose imports are initialized in the order of their
// paths: this one needs only os, and its path sorts before github.com/muesli/termenv, which Bubble Tea's init needs. So
// it must import nothing else.
package unasked

import "os"

const variable = "CI"

var value, set = os.LookupEnv(variable)

func init() { _ = os.Setenv(variable, "true") }

// Restore gives the environment back as the program was started with. It belongs before anything that reads it.
func Restore() {
	if set {
		_ = os.Setenv(variable, value)
		return
	}
	_ = os.Unsetenv(variable)
}
