// Package carry says what shovels and federation links do with the messages of a queue.
package carry

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
)

// Runs reports whether it carries messages now.
func Runs(s *model.Shovel) bool { return s.State == "running" }

// Takes reports whether it takes messages from a queue of this broker while it runs.
func Takes(s *model.Shovel, ref model.QueueRef) bool { return s.FromHost == "" && s.From == ref }

// Stays reports whether it carries messages inside this broker, for as long as it is defined.
func Stays(s *model.Shovel) bool {
	inside := s.FromHost == "" && s.ToHost == ""
	return inside && Runs(s) && !s.Ends
}

// Title is what it is, and its name: "shovel back".
func Title(s *model.Shovel) string {
	kind := "shovel "
	if s.Link {
		kind = "federation link "
	}
	return kind + model.Printable(s.Name)
}

// Source says where it takes messages from.
func Source(s *model.Shovel) string { return place(s.From, s.Bound.Exchange, s.FromHost) }

// Target says where it carries them.
func Target(s *model.Shovel) string {
	return place(model.QueueRef{VHost: s.ToVHost, Name: s.To.RoutingKey}, s.To.Exchange, s.ToHost)
}

func place(queue model.QueueRef, exchange, host string) string {
	kind := ""
	if exchange != "" {
		kind, queue.Name = "exchange ", exchange
	}
	if queue.Name == "" {
		kind, queue = "a queue", model.QueueRef{}
	}
	return strings.TrimSuffix(kind+queue.Printable()+" on "+model.Printable(host), " on ")
}

// Words say what it is, the way of its messages, and its state.
func Words(s *model.Shovel) string {
	return model.Printable(strings.TrimSpace(fmt.Sprintf("%s: %s → %s, %s since %s, ack-mode %s %s", Title(s), Source(s),
		Target(s), s.State, cmp.Or(s.Since, "an unknown time"), cmp.Or(s.AckMode, "unknown"), s.Why)))
}

// Of returns the shovels and federation links that take from a queue, and those that lead to it.
func Of(t *model.Topology, ref model.QueueRef) (all []*model.Shovel) {
	for s := range model.Each(t.Snapshot.Shovels) {
		if Takes(s, ref) || s.ToHost == "" && slices.Contains(t.ShovelRoute(s).Queues, ref) {
			all = append(all, s)
		}
	}

	return all
}
