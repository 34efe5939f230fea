// Package watch tells what moved between polls, from the counts of queues alone: moves, rates, lines of waiting
// messages, and their log. It knows no message.
package watch
