// Package trace plans taps and probes: the queues and bindings with which copies of messages are followed through
// exchanges, and what they tell. It declares nothing itself: broker does.
package trace
