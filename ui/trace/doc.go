// Package trace is the screens that follow messages on their way: the probe, which sends one of its own, and the tap,
// which copies those that pass an exchange.
package trace
