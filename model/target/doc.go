// Package target decides where a message goes: which worker it is for, by which address it reaches that one, and whom
// it reaches there.
package target
