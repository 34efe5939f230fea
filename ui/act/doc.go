// Package act is what is done to messages: the dialogs of replay, drop, move, edit and export, the changes that a
// program makes in many, undo and resume, and the journal's screens.
package act
