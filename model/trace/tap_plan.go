// Package trace plans taps: the queues and bindings with which copies of messages are followed through exchanges, and
// what they show. It declares nothing itself: package broker does.
package trace

import (
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

const (
	tapMessages = 10_000
	tapBytes    = 64 << 20
	tapBindings = 1_000
)

type TapWant struct {
	VHost string
	// the first is the one asked for; the wait of a message that passes several is exact
	Exchanges []string
	Unrouted  bool // also see messages that no queue receives
}

type TapBinding struct {
	Exchange  string
	Key       string
	Arguments model.Table
	Identity  string // of the arguments, as the management API names it
}

func (b TapBinding) Same(other TapBinding) bool {
	return b.Exchange == other.Exchange && b.Key == other.Key && b.Identity == other.Identity
}

// TapPlan is a tap before it starts: a queue bound to exchanges like their other queues, so that it gets copies and
// changes nothing for others.
type TapPlan struct {
	VHost       string
	Exchanges   []string
	Bindings    []TapBinding
	MaxMessages int64 // of its queue: messages beyond it are dropped there, and counted
	MaxBytes    int64
	Costs       []string // its effects on the broker, in words
	Notes       []string // what it does not see, and other remarks
	Refusal     Refusal  // why it must not run, nil when it may
}

// Refusal is why a tap must not run; nil when it may.
type Refusal = model.Refusal

func refuse(format string, values ...any) Refusal { return Refusal{model.Saidf(format, values...)} }

// PlanTap plans a tap. Its bindings repeat existing ones that lead to a queue: a message that reached no queue still
// does not, so an alternate exchange still gets it, and a mandatory publish is still returned. With Unrouted the tap
// receives such messages too, and then neither happens.
func PlanTap(t *model.Topology, want TapWant) TapPlan {
	p := TapPlan{
		VHost:       want.VHost,
		Exchanges:   want.Exchanges,
		MaxMessages: tapMessages,
		MaxBytes:    tapBytes,
	}

	if why := model.Unread(t.Snapshot); why != "" {
		p.Refusal = refuse("%s, so it is unknown what a tap would do", why)
		return p
	}

	for _, name := range want.Exchanges {
		found, refusal := bindingsOf(t, model.ExchangeRef{VHost: want.VHost, Name: name}, want.Unrouted)
		if refusal.Refused() {
			p.Refusal = refusal
			return p
		}

		if more := len(p.Bindings) + len(found) - tapBindings; more > 0 {
			p.Notes = append(p.Notes, model.Sayf("%v has more bindings than a tap repeats: messages through %v of them are "+
				"not seen", name, more))
			found = found[:max(len(found)-more, 0)]
		}

		p.Bindings = append(p.Bindings, found...)
	}

	p.Costs = []string{
		model.Sayf("an exclusive queue %s… for at most %v message(s) and %sB, which RabbitMQ deletes when the tap ends or "+
			"dlxtop dies", model.TapPrefix, p.MaxMessages, message.Size(p.MaxBytes)),
		"each message that passes is copied to it; beyond its bound the oldest copies are dropped, and counted",
		model.Sayf("while it runs, the broker shows %v more binding(s) on %s", len(p.Bindings), listNames(want.Exchanges)),
		"it needs configure, write and read on " + model.TapPrefix +
			"*, read on the exchange, and write on amq.default to count dropped messages",
	}

	if want.Unrouted {
		p.Notes = append(p.Notes, "while the tap runs, RabbitMQ does not return mandatory messages that no other queue takes")
	} else {
		p.Notes = append(p.Notes, "messages that no queue takes are not seen")
	}

	return p
}

// bindingsOf returns the bindings with which a queue sees what passes an exchange, or why there are none.
func bindingsOf(t *model.Topology, ref model.ExchangeRef, unrouted bool) (found []TapBinding, why Refusal) {
	x, exists := t.Handing(ref)
	name := model.Printable(ref.Name)
	switch {
	case ref.Name == "":
		return nil, refuse("the default exchange cannot be tapped, because nothing can be bound to it: tap the exchange in " +
			"front of the buffer, or look into the queue that it leads to")
	case !exists:
		return nil, refuse("there is no exchange %s", name)
	case x.Chooses:
		return nil, refuse("%s is of type %s, which shares messages out among its bindings: a tap would take "+
			"some away from its queues", name, model.Quoted(model.Printable(x.Kind)))
	case x.Kind == "x-recent-history":
		return nil, refuse("%s is of type x-recent-history, which repeats old messages to each new binding: a tap would "+
			"show them as new", name)
	case unrouted && x.Alternate != "":
		return nil, refuse("%s sends what no queue takes to its alternate exchange %v, and a tap would stop "+
			"that: tap that one", name, x.Alternate)
	}

	found = repeated(t, ref, x)
	if unrouted {
		found = tapAll(t, ref, x, found)
	}

	if len(found) == 0 {
		return nil, refuse("no binding of %s leads to a queue, so its messages reach none: tap what no queue "+
			"takes, too", name)
	}

	return found, nil
}

// repeated returns the bindings of an exchange that lead to a queue, without duplicates.
func repeated(t *model.Topology, ref model.ExchangeRef, x model.Handing) []TapBinding {
	type key struct{ key, identity string }
	seen := map[key]bool{}
	var found []TapBinding
	for b := range model.Each(t.Snapshot.Bindings) {
		if b.VHost != ref.VHost || b.Source != ref.Name || !t.LeadsToQueue(b) {
			continue
		}
		binding := TapBinding{Exchange: ref.Name}
		switch x.Kind {
		case "direct", "topic":
			binding.Key = b.RoutingKey
		case "headers":
			binding.Key = b.RoutingKey
			binding.Arguments = b.Arguments
			binding.Identity = b.PropertiesKey
		}

		if k := (key{binding.Key, binding.Identity}); !seen[k] {
			seen[k] = true
			found = append(found, binding)
		}
	}

	return found
}

// tapAll returns the bindings with which a queue sees everything, as far as keys are known.
func tapAll(t *model.Topology, ref model.ExchangeRef, x model.Handing, found []TapBinding) []TapBinding {
	switch x.Kind {
	case "fanout", "headers": // without arguments all messages match
		return []TapBinding{{Exchange: ref.Name}}
	case "topic":
		return []TapBinding{{Exchange: ref.Name, Key: "#"}}
	}

	for i := range t.Snapshot.Queues {
		q := t.Snapshot.Queues[i].QueueRef
		s := t.Settings(q)
		if q.VHost != ref.VHost || !s.DLX.Set || s.DLX.Value != ref.Name {
			continue
		}
		keys := []string{s.Key.Value}
		if !s.Key.Set {
			keys = append(slices.Clone(t.EntryKeys(q).Keys), q.Name)
		}

		for _, key := range keys {
			b := TapBinding{Exchange: ref.Name, Key: key}
			if !slices.ContainsFunc(found, func(f TapBinding) bool { return f.Key == key }) {
				found = append(found, b)
			}
		}
	}

	return found
}

func listNames(names []string) string {
	return strings.Join(model.Mapped(names, func(n *string) string { return model.Printable(*n) }), " and ")
}

type TapCounts struct {
	Seen    int64
	Missed  int64 // dropped from the tap's queue because it was full: missing only here
	AtLeast bool  // Missed is a lower bound
	// Unsure means that more may have passed: the tap was cut off, or the user may not count dropped messages, and the
	// queue was nearly full.
	Unsure bool
	Queue  string // the tap's queue
	// The tap has moved to another node: what passed since Blind was not seen.
	Blind, Moved time.Time
	MovedTo      string
}

// MissedWords say what a tap did not see, "" when it saw everything.
func (c TapCounts) MissedWords() string {
	switch {
	case c.Missed > 0 && c.AtLeast:
		return model.Sayf("at least %v message(s) missed", c.Missed)
	case c.Missed > 0:
		return model.Sayf("%v message(s) missed", c.Missed)
	case !c.Moved.IsZero():
		return model.Sayf("some may have been missed between %s and %s, when the tap moved to %v",
			c.Blind.Local().Format(time.TimeOnly), c.Moved.Local().Format(time.TimeOnly), c.MovedTo)
	case c.Unsure:
		return "some may have been missed"
	}

	return ""
}

// TapChoices returns the useful taps on a flow: the exchange behind each buffer, beginning with the queue ref's, once
// with the exchanges in front of it, which make the waits exact, and once alone; then the exchanges through which the
// worker's failures leave.
func TapChoices(t *model.Topology, f *model.Flow, ref model.QueueRef) []TapWant {
	var wants []TapWant
	add := func(exchanges ...string) {
		if !slices.ContainsFunc(wants, func(w TapWant) bool { return slices.Equal(w.Exchanges, exchanges) }) {
			wants = append(wants, TapWant{VHost: f.VHost, Exchanges: exchanges})
		}
	}

	for _, first := range []bool{true, false} {
		for _, b := range f.Buffers {
			if b.Has(ref) != first {
				continue
			}
			if fronts := frontsOf(t, b); len(fronts) > 0 {
				add(append([]string{b.DLX}, fronts...)...)
			}
			add(b.DLX)
		}
	}

	for _, hop := range t.Hops(f.Worker.Queue) {
		add(hop.Exchange)
	}

	return wants
}

// TapsOf returns the useful taps on one exchange: together with those in front of the buffers that lead to it, and
// alone.
func TapsOf(t *model.Topology, x model.ExchangeRef) []TapWant {
	exchanges := []string{x.Name}
	for f := range model.Each(t.Flows()) {
		for _, b := range f.Buffers {
			if f.VHost != x.VHost || b.DLX != x.Name {
				continue
			}
			for _, front := range frontsOf(t, b) {
				if !slices.Contains(exchanges, front) {
					exchanges = append(exchanges, front)
				}
			}
		}
	}

	alone := TapWant{VHost: x.VHost, Exchanges: exchanges[:1:1]}
	if len(exchanges) == 1 {
		return []TapWant{alone}
	}

	return []TapWant{{VHost: x.VHost, Exchanges: exchanges}, alone}
}

// frontsOf returns the exchanges bound to a buffer that can be tapped, except its own DLX.
func frontsOf(t *model.Topology, b *model.Buffer) []string {
	var fronts []string
	for binding := range model.Each(t.Snapshot.Bindings) {
		if binding.ToExchange || binding.Source == b.DLX ||
			!b.Has(model.QueueRef{VHost: binding.VHost, Name: binding.Destination}) {
			continue
		}
		x, exists := t.Handing(binding.From())
		if exists && !x.Chooses && !slices.Contains(fronts, binding.Source) {
			fronts = append(fronts, binding.Source)
		}
	}

	slices.Sort(fronts)
	return fronts
}
