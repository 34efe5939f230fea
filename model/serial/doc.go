// Package serial represents a serialized value as readable JSON, and decodes PHP's serialize into such values. Nothing
// is executed, and no object is created.
package serial
