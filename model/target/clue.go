package target

import (
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// ClueKind is a way to know which queue a message is for.
type ClueKind string

// The kinds, the strongest first. All but ByLikeness decide; that one is only offered.
const (
	ByFramework ClueKind = "framework" // which wrote it into the message
	ByRejection ClueKind = "rejection" // the last queue in x-death that gave it up, or where it waited for a worker
	ByExpiry    ClueKind = "expiry"    // where what expired in the last buffer of x-death went
	ByOrigin    ClueKind = "origin"    // its first exchange and key reach it
	ByFlow      ClueKind = "flow"      // its dead letters end here
	ByName      ClueKind = "name"      // this queue is named like it
	ByLikeness  ClueKind = "likeness"  // the names begin with the same words
)

// Clue tells which queue a message is for, and where that is known from.
type Clue struct {
	Kind      ClueKind
	Queue     model.QueueRef
	Gone      bool          // there is no such queue in the vhost of the messages
	Elsewhere string        // of Gone: a vhost with a queue of that name
	Framework string        // of ByFramework
	Topic     bool          // of ByFramework: it wrote the name of a topic
	Through   string        // of ByExpiry: the buffer
	Reason    model.Reason  // of ByRejection: why the message left it
	Address   model.Address // of ByOrigin
	Reaches   int           // of ByOrigin: how many queues that address reaches
}

// cluesIn are the clues that a message itself has, without its origin: the strongest first.
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
	for i := range m.Deaths {
		d := &m.Deaths[i]
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

// notWaiting reports whether a queue is a worker, or gone: a failed queue or a buffer that gave a message up tells
// nothing of its worker.
func (t *Target) notWaiting(r *model.Topology, ref model.QueueRef) bool {
	_, exists := r.Queue(ref)
	return !exists || r.Works(ref)
}

// stoodBesideWorkers reports whether a queue is gone, and what brought a message into it leads to workers now: then it
// was one of them, and no buffer.
func (t *Target) stoodBesideWorkers(r *model.Topology, d *message.Death) bool {
	if _, exists := r.Queue(model.QueueRef{VHost: t.From.VHost, Name: d.Queue}); exists || len(d.RoutingKeys) == 0 {
		return false
	}
	route := r.Route(t.From.VHost, d.Exchange, d.RoutingKeys, nil)
	return slices.ContainsFunc(route.Queues, func(ref model.QueueRef) bool { return ref != t.From && r.Works(ref) })
}

// locate completes a clue with whether its queue is there.
func (t *Target) locate(r *model.Topology, c Clue) Clue {
	if _, exists := r.Queue(c.Queue); exists || c.Gone {
		return c
	}
	c.Gone = true
	for _, vhost := range r.Snapshot.VHosts { // sorted, and few: each message asks, and queues may be many
		if _, there := r.Queue(model.QueueRef{VHost: vhost, Name: c.Queue.Name}); there {
			c.Elsewhere = vhost
			break
		}
	}
	return c
}

// expired finds where a message went whose newest death is an expiry: a worker that publishes into its failed queue by
// itself leaves no death of its own.
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

// symfonyWorker reads the name of a delay queue of Symfony Messenger, which is gone soon after its messages are due:
// delay_EXCHANGE_KEY_MILLISECONDS_retry (or _delay). A retry goes to the queue named like the key, a delayed message
// through the exchange. Names may have underscores themselves, so it must be an exchange and a way that are there.
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

// origin are the queues that the first exchange and key of a message reach, when it tells these: a message that was not
// dead-lettered, and that no framework or application wrote them into, tells only where it was published last. A topic
// can be a fanout exchange, to which each of its queues is bound.
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
