package model

import (
	"slices"
	"strings"
)

// TapPrefix begins the queue names of all taps: the permissions for a tap are granted on it.
const TapPrefix = "dlxtop.tap-"

// isTap reports whether a queue belongs to a tap, of this process or another.
func isTap(name string) bool { return strings.HasPrefix(name, TapPrefix) }

// withoutTaps returns a snapshot without the queues and bindings of taps: they exist only while someone watches, and
// belong to no flow.
func withoutTaps(s *Snapshot) *Snapshot {
	if !slices.ContainsFunc(s.Queues, func(q Queue) bool { return isTap(q.Name) }) &&
		!slices.ContainsFunc(s.Bindings, func(b Binding) bool { return isTap(b.Destination) }) {
		return s
	}
	without := *s
	without.Queues = Without(s.Queues, func(q Queue) bool { return isTap(q.Name) })
	without.Bindings = Without(s.Bindings,
		func(b Binding) bool { return isTap(b.Destination) && !b.ToExchange })
	return &without
}
