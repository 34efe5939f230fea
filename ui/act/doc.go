// Package act is what is done to messages: the dialogs of replay, drop, move, edit and export, edits of many messages
// by a program, undo and resume, and the journal's screens.
package act
