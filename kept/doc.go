// Package kept holds what outlives the program and is not the journal: small files of choices (which columns are
// hidden, which commands were typed, what was said of causes), and an index of failed queues that were read, in the
// user's cache. It is apart from the journal, which refuses files that it does not trust: what is lost here costs
// little, and must never be in the way of a look at a broker. What is in the files is the matter of others.
package kept
