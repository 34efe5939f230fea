// Package journal keeps what dlxtop does to messages on disk, before it is done: a drop's complete message, a replay's
// identity and every part of it that was changed. What it holds is enough to take the action back.
//
// It is one SQLite database in WAL mode. Each Write is one transaction with synchronous=FULL, so that what it returned
// from survives a kill of the program and a loss of power; writing some hundred messages at once makes that one fsync
// for all of them (group commit). The messages of one Write are one row, as JSON lines: writing a row for each would
// cost more than replaying it.
package journal
