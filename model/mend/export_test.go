package mend

import "time"

// SetMostTime sets the time limit for a test; back restores it.
func SetMostTime(d time.Duration) (back func()) {
	before := mostTime
	mostTime = d
	return func() { mostTime = before }
}

// SetIdleTime sets how long an idle child lives; back restores it.
func SetIdleTime(d time.Duration) (back func()) {
	before := idleTime
	idleTime = d
	return func() { idleTime = before }
}

// HasChild reports whether a child is running.
func HasChild() bool {
	children.turn <- struct{}{}
	defer func() { <-children.turn }()
	return children.now != nil
}
