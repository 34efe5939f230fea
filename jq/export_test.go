package jq

import "time"

// NewWith returns a Runner with other bounds: the time for a message, and without a message.
func NewWith(most, rest time.Duration) *Runner {
	r := New()
	r.most, r.rest = most, rest
	return r
}

// HasChild reports whether a child is running.
func (r *Runner) HasChild() bool {
	r.turn <- struct{}{}
	defer func() { <-r.turn }()
	return r.now != nil
}
