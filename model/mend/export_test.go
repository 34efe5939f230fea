package mend

import "time"

// SetMostTime sets the limit of time for a test; back restores it.
func SetMostTime(d time.Duration) (back func()) {
	before := mostTime
	mostTime = d
	return func() { mostTime = before }
}
