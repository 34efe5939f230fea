// Package kept holds one small file of choices that outlive the program: which columns are hidden, which commands were
// typed. It is apart from the journal, which refuses files that it does not trust: a choice that is lost costs nothing,
// and must never be in the way of a look at a broker. What is in the file is the dashboard's matter.
package kept
