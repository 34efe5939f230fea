// Package cause finds what several failures have in common: the type of the error, its text without varying parts, and
// where in the application's own code it was raised. A thousand failed messages often have three causes.
package cause
