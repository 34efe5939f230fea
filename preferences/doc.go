// Package preferences holds small files of choices (hidden columns, typed commands, marks of causes), and an index of
// failed queues that were read, in the user's cache. It is separate from the journal, which refuses files that it does
// not trust: losing these costs little, and must never get in the way of looking at a broker. The callers own the
// formats.
package preferences
