// Package find looks for a text or an expression in the messages of many queues: which queues are read and in which
// order, which are left out and why, and where in a message it was found. A Search is run by one goroutine and followed
// by another, so that nothing waits for a screen or a pipe while messages are held.
package find
