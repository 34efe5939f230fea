package findings

import (
	"fmt"
	"slices"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/story"
)

// Dead letters that no binding leads on. With a dead-letter key, or without any binding, they are certainly lost, or
// kept by a queue with the strategy at-least-once. Without a key each message keeps its own, those of CC and BCC too,
// which no binding shows: then it is a warning, until statistics or messages that were looked at show that they arrive.
// That they are lost LosingNow sees.
func findUnroutableDeadLetters(t *model.Topology, found func(Finding)) {
	var explained map[model.QueueRef]bool
	for i := range t.Snapshot.Queues {
		q := &t.Snapshot.Queues[i]
		hops := t.Hops(q.QueueRef)
		if len(hops) == 0 || hops[0].Route.MissingExchange != "" || hops[0].Route.Unread {
			continue
		}
		switch route := hops[0].Route; route.Keys {
		case model.KeysKnown:
			if len(route.Queues) == 0 {
				found(deadLettersLost(q, t.Settings(q.QueueRef)))
			}
		case model.KeysBound:
			if len(route.Queues) == 0 {
				found(deadLettersAstray(q, t.Settings(q.QueueRef), nil))
			}
		case model.KeysBeyond:
			if explained == nil {
				explained = surelyFed(t)
			}
			if !slices.ContainsFunc(route.Queues, func(ref model.QueueRef) bool {
				behind, _ := t.Queue(ref)
				return behind.DeadLettered().Or(0) > 0 && !explained[ref]
			}) {
				found(deadLettersAstray(q, t.Settings(q.QueueRef), route.Queues))
			}
		}
	}
}

// surelyFed are the queues whose dead letters a hop of another queue explains.
func surelyFed(t *model.Topology) map[model.QueueRef]bool {
	fed := map[model.QueueRef]bool{}
	for i := range t.Snapshot.Queues {
		for _, hop := range t.Hops(t.Snapshot.Queues[i].QueueRef) {
			if hop.Route.Keys != model.KeysBeyond {
				for _, ref := range hop.Route.Queues {
					fed[ref] = true
				}
			}
		}
	}
	return fed
}

func deadLettersLost(q *model.Queue, s model.Settings) Finding {
	name, exchange := model.Printable(q.Name), model.Printable(model.ExchangeName(s.DLX.Value))
	end := endOf(s)
	f := Finding{
		Code: "dead-letter-unroutable", Level: end.level, VHost: q.VHost, Queue: q.Name, Exchange: s.DLX.Value,
		Message:  fmt.Sprintf("dead letters of %s %s: no queue is bound to %s", name, end.are, exchange),
		Evidence: "dead-letter-exchange " + exchange + " (" + s.DLX.Source.String() + "); no queue is reached",
		Remedy:   "bind a queue to " + exchange,
	}
	if s.Key.Set {
		key := model.Printable(model.Quoted(s.Key.Value))
		f.Message = fmt.Sprintf("dead letters of %s %s: no queue is bound to %s for the key %s", name, end.are, exchange, key)
		f.Evidence += ", dead-letter-routing-key " + model.Printable(s.Key.String())
		f.Remedy = fmt.Sprintf("bind a queue to %s with the key %s, or correct the dead-letter-routing-key", exchange, key)
	}
	f.Evidence += end.evidence
	return f
}

// deadLettersAstray is for messages that keep their own keys, of which only those that are bound are known. others are
// the queues that other keys reach.
func deadLettersAstray(q *model.Queue, s model.Settings, others []model.QueueRef) Finding {
	name, exchange := model.Printable(q.Name), model.Printable(model.ExchangeName(s.DLX.Value))
	f := Finding{
		Code: "dead-letter-unroutable", Level: LevelWarning, VHost: q.VHost, Queue: q.Name, Exchange: s.DLX.Value,
		Message: fmt.Sprintf("dead letters of %s %s: %s has no queue for the keys that messages arrive with",
			name, endOf(s).may, exchange),
		Evidence: "dead-letter-exchange " + exchange + " (" + s.DLX.Source.String() +
			"); no dead-letter-routing-key, so each message keeps its own keys, including CC and BCC" + endOf(s).evidence,
		Remedy: fmt.Sprintf("bind a queue to %s for their keys, or set a dead-letter-routing-key; do nothing "+
			"if they carry another key that is bound (CC)", exchange),
	}
	if len(others) > 0 {
		f.Evidence += "; other keys reach " + model.Names(others) + ", where no dead letter was counted yet"
	}
	return f
}

// strays are messages that will be lost when they expire, or kept, as their own keys show.
type strays struct {
	ways     *story.Ways
	settings model.Settings
}

func (s *strays) see(m *message.Message) { s.ways.See(m) }

func (s *strays) finding() (Finding, bool) {
	n, keys := s.ways.Lost()
	if n == 0 {
		return Finding{}, false
	}
	dlx, end := s.settings.DLX, endOf(s.settings)
	exchange := model.Printable(model.ExchangeName(dlx.Value))
	return Finding{
		Code: "dead-letter-unroutable", Level: end.level, Exchange: dlx.Value,
		Message: fmt.Sprintf("%s %s on expiry: %s has no queue for the keys that they keep", willBe(n), end.will, exchange),
		Evidence: fmt.Sprintf("keys of the first one: %s; dead-letter-exchange %s, no dead-letter-routing-key%s",
			model.Printable(keys), model.Printable(dlx.String()), end.evidence),
		Remedy: fmt.Sprintf("before they expire, bind a queue to %s for these keys, or set a dead-letter-routing-key "+
			"by policy", exchange),
	}, true
}

func willBe(n int) string { return model.Plural(n, "message") + " will be" }
