package story

import (
	"slices"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// RabbitMQ drops a message that would enter a queue in which it has died without a rejection since (all versions): it
// goes by x-death, newest first. Up to 3.12 it trusts the x-death that clients publish; from 4.0 it only knows its own.

// cutOnExpiry reports whether RabbitMQ drops a message when it expires in a queue, because that holds for each queue
// that it would enter.
func cutOnExpiry(t *model.Topology, m *message.Message, in model.QueueRef) bool {
	if s := t.Settings(in); !s.DLX.Set || s.KeepsDeadLetters() {
		return false
	}
	died := diedSince(t, m, in)
	if hop, ok := t.Hop(in, model.Expired); ok && len(died) == 0 && !slices.Contains(hop.Route.Queues, in) {
		return false
	}
	targets := t.DeadLetter(in, message.WithCC(m.RoutingKey, m.Headers), m.Headers).Queues
	return len(targets) > 0 && len(arrivals(targets, in, died)) == 0
}

func arrivals(targets []model.QueueRef, in model.QueueRef, died []string) []model.QueueRef {
	return model.Without(targets, func(ref model.QueueRef) bool { return ref == in || slices.Contains(died, ref.Name) })
}

// diedSince returns the queues, other than the current one, in which a message died without being rejected since. The
// death in the current one becomes the newest when it expires there again.
func diedSince(t *model.Topology, m *message.Message, in model.QueueRef) (queues []string) {
	if m.DeathsError != "" || !countsDeaths(t, m, in) {
		return nil
	}
	deaths := m.Deaths
	if t.Behaviour.ReversesDeaths {
		deaths, _ = message.WrittenDeaths(m.Headers)
		slices.Reverse(deaths)
	}

	for d := range model.Each(deaths) {
		switch {
		case d.Queue == in.Name && d.Reason == model.Expired:
		case d.Reason == model.Rejected:
			return queues
		default:
			queues = append(queues, d.Queue)
		}
	}

	return queues
}

// countsDeaths reports whether RabbitMQ knows the deaths that a message shows. When it ignores those that clients
// publish it shows them all the same, until the message dies again: then the newest death does not explain how it got
// here.
func countsDeaths(t *model.Topology, m *message.Message, in model.QueueRef) bool {
	if t.Behaviour.CountsRepublishedDeaths || len(m.Deaths) == 0 {
		return true
	}
	from := in.Beside(m.Deaths[0].Queue)
	s := t.Settings(from)
	if _, there := t.Queue(from); !there {
		return true // deleted since: its settings are unknown
	}

	return s.DLX.Set && s.DLX.Value == m.Exchange && (!s.Key.Set || s.Key.Value == m.RoutingKey) &&
		slices.Contains(t.DeadLetter(from, message.WithCC(m.RoutingKey, m.Headers), m.Headers).Queues, in)
}
