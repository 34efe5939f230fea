// Package cause finds what several failures have in common: the type of the error, its text without what differs from
// message to message, and where in the application's own code it was raised. A thousand failed messages are often
// three causes.
package cause
