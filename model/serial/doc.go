// Package serial represents a serialized value as readable JSON, and decodes Python's pickle and PHP's serialize into
// such values. Nothing is executed, and no object is created.
package serial
