// Package resume finds out what became of the messages of a record whose program ended in the middle of it, and plans
// the rest: what arrived is acknowledged, what did not is done, what nobody can tell is asked about.
package resume
