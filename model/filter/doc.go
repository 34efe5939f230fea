// Package filter decides which messages are meant: by a text that they contain, or by an expression, bounded in steps,
// memory and time. It also fills fields of a message into the templates of actions.
package filter
