package target

import (
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// ClueKind is how it is known which queue a message is for.
type ClueKind string

// The kinds, strongest first. All but ByLikeness decide; that one is only offered.
const (
	ByFramework ClueKind = "framework" // the framework wrote it into the message
	ByRejection ClueKind = "rejection" // the last queue in x-death that gave it up, or where it waited for a worker
	ByExpiry    ClueKind = "expiry"    // the queue behind the last buffer in x-death in which it expired
	ByOrigin    ClueKind = "origin"    // its first exchange and key reach it
	ByFlow      ClueKind = "flow"      // its dead letters end here
	ByName      ClueKind = "name"      // this queue is named like it
	ByLikeness  ClueKind = "likeness"  // the names begin with the same words
)

// Clue is evidence of which queue a message is for.
type Clue struct {
	Kind      ClueKind
	Queue     model.QueueRef
	Gone      bool          // there is no such queue in the vhost of the messages
	Elsewhere string        // with Gone: a vhost with a queue of that name
	Framework string        // for ByFramework
	Topic     bool          // for ByFramework: it recorded the name of a topic
	Through   string        // for ByExpiry: the buffer
	Reason    model.Reason  // for ByRejection: why the message left it
	Address   model.Address // for ByOrigin
	Reaches   int           // for ByOrigin: how many queues that address reaches
}

// cluesIn are the clues in a message itself, except its origin: strongest first.
func (t *Target) cluesIn(r *model.Topology, m *message.Message, e *message.Envelope) (clues []Clue) {
	if s, ok := m.Stated(e); ok {
		c := Clue{
			Kind: ByFramework, Queue: model.QueueRef{VHost: t.From.VHost, Name: s.Queue}, Framework: s.Framework, Topic: s.Topic,
		}
		if vhost, known := s.VHost.Get(); known && vhost != t.From.VHost {
			c.Queue.VHost, c.Gone, c.Elsewhere = vhost, true, vhost
		}
		clues = append(clues, t.locate(r, c))
	}
	for d := range model.Each(m.Deaths) {
		c := Clue{Kind: ByRejection, Queue: model.QueueRef{VHost: t.From.VHost, Name: d.Queue}, Reason: d.Reason}
		gaveUp := d.Reason != model.Expired && t.notWaiting(r, c.Queue) || t.stoodBesideWorkers(r, d)
		if d.Queue != "" && c.Queue != t.From && gaveUp {
			clues = append(clues, t.locate(r, c))
			break
		}
	}
	if c, ok := t.expired(r, m); ok {
		clues = append(clues, c)
	}
	return slices.DeleteFunc(clues, func(c Clue) bool { return c.Queue == t.From })
}

// notWaiting reports whether a queue is a worker, or gone: a failed queue or a buffer in x-death is no evidence of a
// message's worker.
func (t *Target) notWaiting(r *model.Topology, ref model.QueueRef) bool {
	_, exists := r.Queue(ref)
	return !exists || r.Works(ref)
}

// stoodBesideWorkers reports whether a queue is gone, and the address that led a message into it now leads to workers:
// then it was a worker, not a buffer.
func (t *Target) stoodBesideWorkers(r *model.Topology, d *message.Death) bool {
	if _, exists := r.Queue(model.QueueRef{VHost: t.From.VHost, Name: d.Queue}); exists || len(d.RoutingKeys) == 0 {
		return false
	}
	route := r.Route(t.From.VHost, d.Exchange, d.RoutingKeys, nil)
	return slices.ContainsFunc(route.Queues, func(ref model.QueueRef) bool { return ref != t.From && r.Works(ref) })
}

// locate completes a clue by looking up its queue.
func (t *Target) locate(r *model.Topology, c Clue) Clue {
	if _, exists := r.Queue(c.Queue); exists || c.Gone {
		return c
	}
	c.Gone = true
	for _, vhost := range r.Snapshot.VHosts { // sorted, and few: this runs for each message, and there may be many queues
		if _, there := r.Queue(model.QueueRef{VHost: vhost, Name: c.Queue.Name}); there {
			c.Elsewhere = vhost
			break
		}
	}
	return c
}

// expired finds where a message went if its newest death is an expiry: a worker that itself publishes into its failed
// queue leaves no death of its own.
func (t *Target) expired(r *model.Topology, m *message.Message) (Clue, bool) {
	if len(m.Deaths) == 0 || m.Deaths[0].Reason != model.Expired {
		return Clue{}, false
	}
	d := &m.Deaths[0]
	buffer := model.QueueRef{VHost: t.From.VHost, Name: d.Queue}
	c := Clue{Kind: ByExpiry, Through: d.Queue}
	if _, exists := r.Queue(buffer); !exists {
		name, ok := t.symfonyWorker(r, d.Queue)
		c.Queue = model.QueueRef{VHost: t.From.VHost, Name: name}
		return c, ok
	}
	route := r.DeadLetter(buffer, d.RoutingKeys, m.ReplayHeaders())
	if !route.Exact || len(route.Queues) != 1 || !r.Works(route.Queues[0]) {
		return Clue{}, false
	}
	c.Queue = route.Queues[0]
	return c, true
}

// symfonyWorker parses the name of a delay queue of Symfony Messenger, which is deleted soon after its messages are
// due: delay_EXCHANGE_KEY_MILLISECONDS_retry (or _delay). A retry goes to the queue named like the key, a delayed
// message through the exchange. Names may contain underscores, so the exchange and the way must exist.
func (t *Target) symfonyWorker(r *model.Topology, name string) (queue string, ok bool) {
	rest, isDelay := strings.CutPrefix(name, "delay_")
	rest, isRetry := strings.CutSuffix(rest, "_retry")
	if !isRetry {
		rest, ok = strings.CutSuffix(rest, "_delay")
	}
	cut := strings.LastIndexByte(rest, '_')
	if !isDelay || !isRetry && !ok || cut < 0 {
		return "", false
	}
	rest = rest[:cut]
	found := map[string]bool{}
	for i := range len(rest) {
		if rest[i] != '_' {
			continue
		}
		exchange, key := rest[:i], rest[i+1:]
		if _, exists := r.Exchange(model.ExchangeRef{VHost: t.From.VHost, Name: exchange}); !exists {
			continue
		}
		if isRetry {
			if ref := (model.QueueRef{VHost: t.From.VHost, Name: key}); r.Works(ref) {
				found[key] = true
				continue
			}
		}
		if route := r.Route(t.From.VHost, exchange, []string{key}, nil); route.Exact && len(route.Queues) == 1 &&
			r.Works(route.Queues[0]) {
			found[route.Queues[0].Name] = true
		}
	}
	for queue = range found {
	}
	return queue, len(found) == 1
}

// origin are the queues that the first exchange and key of a message reach, if it records these: otherwise, without a
// dead-lettering, only its last publish is known. A topic can be a fanout exchange, to which each of its queues is
// bound.
func (t *Target) origin(r *model.Topology, m *message.Message, e *message.Envelope) (clues []Clue) {
	address, ok := m.ToldOrigin(e)
	if s, stated := m.Stated(e); stated && s.Topic {
		if _, exists := r.Exchange(model.ExchangeRef{VHost: t.From.VHost, Name: s.Queue}); exists {
			address, ok = model.Address{Exchange: s.Queue}, true
		}
	}
	if !ok {
		return nil
	}
	route := r.Route(t.From.VHost, address.Exchange, []string{address.RoutingKey}, m.ReplayHeaders())
	if !route.Exact {
		return nil
	}
	for _, ref := range route.Queues {
		if ref != t.From && r.Works(ref) {
			clues = append(clues, Clue{Kind: ByOrigin, Queue: ref, Address: address, Reaches: len(route.Queues)})
		}
	}
	return clues
}
