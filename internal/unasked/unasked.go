// Package unasked keeps the program from asking the terminal for its background at the start: Bubble Tea 1.3.10 does so
// in an init function, for every command, and waits 5 s for a terminal that does not answer.
//
// termenv asks nothing when CI is set. Among packages whose imports are initialized, Go initializes in the order of
// their paths: this package needs only os, and its path sorts before github.com/muesli/termenv, which Bubble Tea's init
// needs. So it must import nothing else.
package unasked

import "os"

const variable = "CI"

var value, set = os.LookupEnv(variable)

func init() { _ = os.Setenv(variable, "true") }

// Restore restores the environment that the program was started with. Call it before anything reads the environment.
func Restore() {
	if set {
		_ = os.Setenv(variable, value)
		return
	}
	_ = os.Unsetenv(variable)
}
