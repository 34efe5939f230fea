package model

// Filter is a condition on messages.
type Filter struct{ Text string }

// Match reports whether a message meets the condition.
func (f *Filter) Match(m *Message) bool { return true }
