package mend

import "time"

// SetMostTime bounds programs for a test, and says how to go back.
func SetMostTime(d time.Duration) (back func()) {
	before := mostTime
	mostTime = d
	return func() { mostTime = before }
}
