// Package plan is what will be done with messages, as data that can be shown before it is done: replay, move, drop,
// edit, canary, import and undo; and what was done: the account, the journal's records and entries. Package resume
// continues records whose program died.
package plan
