// Package plan is what is to be done with messages, as data that can be shown before it is done: replay, move, drop,
// edit, canary, import and undo; and what was done: the account, the journal's records and entries. How a record is
// gone on with after its program died is resume's.
//
// It has more than 6,000 lines: an undo is made of an account's entries, an edit and a canary of a plan, and each alone
// would have to export what it reads of the others.
package plan
