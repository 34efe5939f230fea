// Package trace plans taps and probes: the queues and bindings with which copies of messages are followed through
// exchanges, and what they show. It declares nothing itself: package broker does.
package trace
