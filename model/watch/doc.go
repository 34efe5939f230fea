// Package watch works out what moved between polls, from the counts of queues alone: moves, rates, lines of waiting
// messages, and a log of them. It knows no messages.
package watch
