// Package journal writes to disk what dlxtop does to messages, before it is done: a drop's complete message, a replay's
// identity and every part of it that was changed. That is enough to undo the action.
//
// It is one SQLite database in WAL mode. Each Write is one transaction with synchronous=FULL, so that once it returns,
// its data survives a kill of the program and a power failure; writing some hundred messages at once needs one fsync
// for all of them (group commit). The messages of one Write are one row, as JSON lines: a row for each would cost more
// than replaying it.
package journal
