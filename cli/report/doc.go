// Package report shows what a plan would do, and the account of what became of it, to a person and as JSON. It decides
// nothing and asks nothing.
package report
