// Package filter says which messages are meant: by a text that is in them, or by an expression, bounded in steps,
// memory and time. It also fills the fields of a message into the templates of actions.
package filter
