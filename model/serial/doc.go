// Package serial is a value that was serialized, as JSON that a person can read; Python's pickle and PHP's serialize as
// such values. Nothing is executed, and no object is made.
package serial
