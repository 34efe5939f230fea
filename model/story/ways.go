package story

import (
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

const mostWays = 1000

// Ways follows peeked messages by their own keys, where a queue has no dead-letter key: from the current queue, and
// from those that they left by x-death. Bindings alone do not show the keys of CC.
type Ways struct {
	topology *model.Topology
	queue    model.QueueRef
	routes   map[way]model.Route
	seen     model.Seen
	lost     int
	lostKeys []string // of the first one
	cut      int
	cutTo    []model.QueueRef // of the first one
}

type way struct {
	from model.QueueRef
	keys string
}

// WaysFrom is for a peek at a queue.
func WaysFrom(t *model.Topology, ref model.QueueRef) *Ways {
	return &Ways{
		topology: t,
		queue:    ref,
		routes:   map[way]model.Route{},
		seen: model.Seen{
			To:      map[model.QueueRef][]model.QueueRef{},
			From:    map[model.QueueRef][]model.QueueRef{},
			Counted: model.QueueSet{},
		},
	}
}

// See examines a message. Its body is not needed.
func (w *Ways) See(m *message.Message) {
	own := message.WithCC(m.RoutingKey, m.Headers)
	if route, known := w.follow(w.queue, own, m.Headers); known && len(route.Queues) == 0 && w.expires(m) {
		// BCC, which the broker removes, is not needed to explain it: its visible keys brought the message here
		if slices.Contains(w.topology.Route(w.queue.VHost, m.Exchange, own, m.Headers).Queues, w.queue) {
			if w.lost++; w.lost == 1 {
				w.lostKeys = own
			}
		}
	}

	if w.expires(m) && cutOnExpiry(w.topology, m, w.queue) {
		if w.cut++; w.cut == 1 {
			w.cutTo = w.topology.DeadLetter(w.queue, own, m.Headers).Queues
		}
	}

	for d := range model.Each(m.Deaths) {
		if len(d.RoutingKeys) > 0 {
			w.follow(w.queue.Beside(d.Queue), d.RoutingKeys, m.Headers)
		}
	}

	if countedTries(m, false) > 0 {
		w.counts(w.queue)
		for d := range model.Each(m.Deaths) {
			w.counts(w.queue.Beside(d.Queue))
		}
	}

	if w.topology.Settings(w.queue).DLX.Set { // otherwise it is not a buffer
		w.seeWorkers(m)
	}
}

// counts adds a buffer whose messages are counted by the application.
func (w *Ways) counts(ref model.QueueRef) {
	if _, there := w.topology.Queue(ref); there && w.topology.Settings(ref).DLX.Set {
		w.seen.Counted[ref] = true
	}
}

// seeWorkers adds from which queues workers sent a message here: its framework recorded that, or the message has
// expired here before, and is back from where it then went.
func (w *Ways) seeWorkers(m *message.Message) {
	came := func(from ...model.QueueRef) {
		for _, ref := range from {
			if _, there := w.topology.Queue(ref); there && ref != w.queue {
				w.seen.From[w.queue] = model.UnionOf(w.seen.From[w.queue], []model.QueueRef{ref})
			}
		}
	}

	for _, s := range m.Stated(nil) {
		if s.VHost.Or(w.queue.VHost) != w.queue.VHost {
			continue
		}
		came(w.queue.Beside(s.Queue))
	}

	for d := range model.Each(m.Deaths) {
		if d.Queue != w.queue.Name || d.Reason != model.Expired {
			continue
		} else if hop, ok := w.topology.Hop(w.queue, model.Expired); ok && len(hop.Keys) > 0 && hop.Route.Exact {
			came(hop.Route.Queues...)
		} else if route, known := w.follow(w.queue, d.RoutingKeys, m.Headers); known {
			came(route.Queues...)
		}
	}
}

// follow adds where messages with these keys go; known is false if keys do not decide that, or too many are known.
func (w *Ways) follow(from model.QueueRef, keys []string, headers model.Table) (route model.Route, known bool) {
	s := w.topology.Settings(from)
	if !s.DLX.Set || s.Key.Set {
		return route, false
	}
	at := way{from, strings.Join(keys, "\x00")}
	if route, known = w.routes[at]; known {
		return route, route.Exact
	}
	if len(w.routes) == mostWays {
		return route, false
	}
	route = w.topology.DeadLetter(from, keys, headers)
	w.routes[at] = route
	if route.Exact && len(route.Queues) > 0 {
		w.seen.To[from] = model.UnionOf(w.seen.To[from], route.Queues)
	}

	return route, route.Exact
}

// expires reports whether the message leaves its queue only by expiry.
func (w *Ways) expires(m *message.Message) bool {
	return w.topology.Known(w.queue).Consumers.Or(1) == 0 &&
		(w.topology.Settings(w.queue).TTL.Set || m.Properties.Expiration != "")
}

// Seen returns the queues that messages go to, by the queue that they leave, and those from which they came here.
func (w *Ways) Seen() model.Seen { return w.seen }

// Cut returns how many messages RabbitMQ drops when they expire, and where the first would return to.
func (w *Ways) Cut() (n int, to []model.QueueRef) { return w.cut, w.cutTo }

// Lost returns how many messages will go nowhere when they expire, and the keys of the first in words; 0 if none will.
func (w *Ways) Lost() (n int, keys string) {
	if w.lost == 0 {
		return 0, ""
	}
	return w.lost, strings.Join(model.Mapped(w.lostKeys, func(key *string) string { return model.Quoted(*key) }), ", ")
}
