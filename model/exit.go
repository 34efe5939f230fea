package model

import "fmt"

// Exit is a way out of a queue with the fate of the messages that take it, one for every reason to leave, including
// those that lead nowhere.
type Exit struct {
	Hop
	Fate Fate
	Why  string // in words: how they arrive, or why they do not
}

// Fate is what becomes of messages on a way out of a queue.
type Fate string

const (
	Arrives Fate = "arrives" // in every queue of the route, or in some of them when the route is not exact
	Lost    Fate = "lost"    // dropped silently
	Held    Fate = "held"    // a quorum queue, this one or one behind it, keeps it until a queue takes it (at-least-once)
	Cut     Fate = "cut"     // it comes back through expiry alone, and the broker then drops it (all versions)
	Endless Fate = "endless" // it comes back after each rejection: no broker ends that loop
	Retried Fate = "retried" // it waits in its own queue and is delivered again (delayed retry, 4.3 and later)
	Unclear Fate = "unclear" // exchanges or bindings could not be read, or the messages' own keys are unknown
)

// DelayedRetry is the reason for which a quorum queue delays a returned message (4.3 and later). The message does not
// leave its queue and gets no x-death entry.
const DelayedRetry Reason = "delayed_retry"

// Exits returns all ways out of a queue, in the order expired, rejected, maxlen, delivery_limit, delayed_retry.
func (t *Topology) Exits(ref QueueRef) []Exit {
	q, ok := t.Queues[ref]
	if !ok || q.Type == Stream {
		return nil
	}
	s := t.settings.of(ref)
	var exits []Exit
	for _, hop := range t.hops[ref] {
		fate, why := t.fate(q, s, hop)
		exits = append(exits, Exit{hop, fate, why})
	}

	if len(exits) == 0 {
		for _, reason := range t.reasons(ref) {
			exit := Exit{Hop{From: ref, Reason: reason, Route: Route{Exact: true}}, Lost, "there is no dead-letter exchange"}
			if !q.NoDLX(*s) {
				exit.Fate = Unclear
				exit.Why = "the queue's policy is still unknown"
				exit.Route = Route{Unread: true}
			}
			exits = append(exits, exit)
		}
	}

	if retry := &s.DelayedRetry; retry.Type.Set {
		exits = append(exits, Exit{
			Hop{From: ref, Reason: DelayedRetry, Route: Route{Queues: []QueueRef{ref}, Exact: true}},
			Retried, Sayf("delayed-retry-type %s: it waits here, %s, and is delivered again", retry.Type, retry.Words()),
		})
	}

	return exits
}

func (t *Topology) fate(q *Queue, s *Settings, hop Hop) (Fate, string) {
	held := s.KeepsDeadLetters()
	route := hop.Route
	switch {
	case route.Unread:
		return Unclear, route.Why
	case route.MissingExchange != "" && held, len(route.Queues) == 0 && held:
		return Held, "no queue takes it, and dead-letter-strategy at-least-once keeps it until one does"
	case route.MissingExchange != "":
		return Lost, fmt.Sprintf("the exchange %s does not exist", route.MissingExchange)
	case len(route.Queues) == 0 && route.Keys != KeysKnown:
		return Unclear, fmt.Sprintf("each message keeps its own routing keys; %s has no queue for those that are bound",
			ExchangeName(hop.Exchange))
	case len(route.Queues) == 0:
		return Lost, fmt.Sprintf("%s leads to no queue for it", ExchangeName(hop.Exchange))
	}

	last, back := t.comesBack(hop)
	switch {
	case back && hop.Reason == Rejected:
		return Endless, "it comes back by expiry after each rejection"
	case back && t.settings.of(last).KeepsDeadLetters():
		return Held, Sayf("it would return by expiry alone: %v keeps it instead (dead-letter-strategy "+
			"at-least-once)", last.Name)
	case back:
		return Cut, "it would return by expiry alone: RabbitMQ then drops it"
	case !hop.Route.Exact:
		return Arrives, hop.Route.Why
	}

	return Arrives, ""
}

// comesBack reports whether everything that takes a hop returns to its queue: there is only one way, and each queue on
// it expires its messages and has no consumers. last is the queue that would send the message back.
func (t *Topology) comesBack(hop Hop) (last QueueRef, back bool) {
	last = hop.From
	seen := map[QueueRef]bool{}
	for at := hop.Route; at.Exact && len(at.Queues) == 1; {
		ref := at.Queues[0]
		if ref == hop.From {
			return last, true
		}
		next, ok := t.Hop(ref, Expired)
		if !ok || seen[ref] || !t.settings.of(ref).TTL.Set || t.Queues[ref].Consumers.Or(1) > 0 {
			return QueueRef{}, false
		}
		seen[ref] = true
		last, at = ref, next.Route
	}

	return QueueRef{}, false
}
