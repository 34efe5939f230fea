package model

import (
	"slices"
	"strings"
)

// TapPrefix begins the name of the queue of every tap: the rights that a tap needs are granted on it.
const TapPrefix = "dlxtop.tap-"

// isTap reports whether a queue belongs to a tap, of this program or another.
func isTap(name string) bool { return strings.HasPrefix(name, TapPrefix) }

// withoutTaps is a snapshot without the queues and bindings of taps: they come and go with somebody's look, and are no
// part of a flow.
func withoutTaps(s *Snapshot) *Snapshot {
	if !slices.ContainsFunc(s.Queues, func(q Queue) bool { return isTap(q.Name) }) &&
		!slices.ContainsFunc(s.Bindings, func(b Binding) bool { return isTap(b.Destination) }) {
		return s
	}
	without := *s
	without.Queues = slices.DeleteFunc(slices.Clone(s.Queues), func(q Queue) bool { return isTap(q.Name) })
	without.Bindings = slices.DeleteFunc(slices.Clone(s.Bindings),
		func(b Binding) bool { return isTap(b.Destination) && !b.ToExchange })
	return &without
}
