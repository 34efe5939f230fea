// Package plan is what is to be done with messages, as data that can be shown before it is done: replay, move, drop,
// edit, canary, import and undo; and what was done: the account, the journal's records and entries. How a record is
// gone on with after its program died is resume's.
package plan
