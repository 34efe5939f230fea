// Package serial is a value that was serialized, as JSON that a person can read, and Python's pickle as such a value.
// Nothing is executed, and no object is made.
package serial
