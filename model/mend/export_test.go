package mend

import "time"

// SetMostTime sets the limit of time for a test; back restores it.
func SetMostTime(d time.Duration) (back func()) {
	before := mostTime
	mostTime = d
	return func() { mostTime = before }
}

// SetIdleTime sets after how long without a message a child ends; back restores it.
func SetIdleTime(d time.Duration) (back func()) {
	before := idleTime
	idleTime = d
	return func() { idleTime = before }
}

// HasChild reports whether there is a child.
func HasChild() bool {
	children.turn <- struct{}{}
	defer func() { <-children.turn }()
	return children.now != nil
}
