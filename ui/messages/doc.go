// Package messages is the screen of a queue's messages, with its panes, its filter and its search, and the search for
// messages in all queues.
package messages
