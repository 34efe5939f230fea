// Package kept holds what outlives the program, other than the journal: small files of choices (which columns are
// hidden, which commands were typed, how causes were marked), and an index of failed queues that were read, in the
// user's cache. It is separate from the journal, which refuses files that it does not trust: losing these costs little,
// and must never get in the way of looking at a broker. The callers own the formats.
package kept
