// Package find looks for a text or an expression in the messages of many queues: which queues are read and in which
// order, which are left out and why, and where in a message it was found. One goroutine runs a Search and another
// follows it, so that holding messages never waits for a screen or a pipe.
package find
