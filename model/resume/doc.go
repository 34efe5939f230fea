// Package resume finds out what happened to the messages of a record whose program died, and plans the rest: what
// arrived is acknowledged, what did not is done, and the user decides where the outcome is unknown.
package resume
