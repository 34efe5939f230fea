package model

import (
	"fmt"
	"slices"
	"strings"
)

// TapPrefix begins the name of the queue of every tap: the rights that a tap needs are granted on it.
const TapPrefix = "dlxtop.tap-"

// The bounds of a tap's queue, and of its bindings.
const (
	tapMessages = 10_000
	tapBytes    = 64 << 20
	tapBindings = 1_000
)

// TapWant is what a person or a script wants to watch.
type TapWant struct {
	VHost     string
	Exchanges []string // the first is the one that was asked for; of a message that passes several, how long it waited between them is exact
	Unrouted  bool     // see also what no queue takes
}

// TapBinding is one binding of a tap's queue.
type TapBinding struct {
	Exchange  string
	Key       string
	Arguments Table
	identity  string // of the arguments, as the management API names it
}

// Same reports whether two bindings are one.
func (b TapBinding) Same(other TapBinding) bool {
	return b.Exchange == other.Exchange && b.Key == other.Key && b.identity == other.identity
}

// TapPlan is a tap before it starts: a queue that is bound to exchanges as their other queues are, so that it gets a copy of what they
// get, and nothing changes for anybody else.
type TapPlan struct {
	VHost       string
	Exchanges   []string
	Bindings    []TapBinding
	MaxMessages int64 // of its queue: what comes beyond it is dropped there, and counted
	MaxBytes    int64
	Unrouted    bool
	Costs       []string // what it does to the broker, in words
	Notes       []string // what it does not see, and what else to know
	Refusal     string   // why it must not run, "" when it may
}

// PlanTap plans a tap. Its bindings repeat those that are there and lead to a queue: a message that reached nobody reaches nobody else
// now, so an alternate exchange still gets it, and a publisher that asked for it (mandatory) is told. With Unrouted it takes such a message
// too, and then they are not.
func (t *Topology) PlanTap(want TapWant) TapPlan {
	p := TapPlan{VHost: want.VHost, Exchanges: want.Exchanges, MaxMessages: tapMessages, MaxBytes: tapBytes, Unrouted: want.Unrouted}
	if why := unread(t.Snapshot); why != "" {
		p.Refusal = why + ", so nobody can tell what a tap would do"
		return p
	}
	for _, name := range want.Exchanges {
		found, why := t.tapBindings(ExchangeRef{want.VHost, name}, want.Unrouted)
		if why != "" {
			p.Refusal = why
			return p
		}
		if more := len(p.Bindings) + len(found) - tapBindings; more > 0 {
			p.Notes = append(p.Notes, fmt.Sprintf("%s has more bindings than a tap repeats: what comes by %d of them is not seen", Printable(name), more))
			found = found[:max(len(found)-more, 0)]
		}
		p.Bindings = append(p.Bindings, found...)
	}
	p.Costs = []string{
		fmt.Sprintf("an exclusive queue %s… for at most %s and %sB, which is gone when the tap ends or dlxtop dies", TapPrefix, Plural(p.MaxMessages, "message"), Size(p.MaxBytes)),
		"each message that passes is copied to it; beyond its bound the oldest copies are dropped, and counted",
		fmt.Sprintf("until then the broker shows %s more on %s", Plural(len(p.Bindings), "binding"), listNames(want.Exchanges)),
		"it needs configure, write and read on " + TapPrefix + "*, read on the exchange, and write on amq.default to count what is dropped",
	}
	if want.Unrouted {
		p.Notes = append(p.Notes, "a publisher that wants to be told when no queue takes its message (mandatory) is not told while the tap runs")
	} else {
		p.Notes = append(p.Notes, "what no queue takes is not seen")
	}
	return p
}

// tapBindings are the bindings with which a queue sees what passes an exchange, or why there are none.
func (t *Topology) tapBindings(ref ExchangeRef, unrouted bool) (found []TapBinding, refusal string) {
	name := Printable(ref.Name)
	x := (*exchangeRouting)(nil)
	if r := t.routings[ref.VHost]; r != nil {
		x = r.exchanges[ref.Name]
	}
	switch {
	case ref.Name == "":
		return nil, "the default exchange cannot be tapped, because nothing can be bound to it: tap the exchange in front of the buffer, or look into the queue that it leads to"
	case x == nil:
		return nil, fmt.Sprintf("there is no exchange %s", name)
	case x.chooses:
		return nil, fmt.Sprintf("%s is of type %s, which shares messages out among its bindings: a tap would take some away from its queues", name, quoted(Printable(x.kind)))
	case unrouted && x.alternate != "":
		return nil, fmt.Sprintf("%s hands what no queue takes to its alternate exchange %s, which a tap would keep from it: tap that one", name, Printable(x.alternate))
	}
	found = t.repeated(ref, x)
	if unrouted {
		found = t.tapAll(ref, x, found)
	}
	if len(found) == 0 {
		return nil, fmt.Sprintf("nothing is bound to %s that leads to a queue, so nobody gets what passes it: tap what no queue takes too", name)
	}
	return found, ""
}

// repeated are the bindings of an exchange that lead to a queue, each once.
func (t *Topology) repeated(ref ExchangeRef, x *exchangeRouting) []TapBinding {
	type key struct{ key, identity string }
	seen := map[key]bool{}
	var found []TapBinding
	for i := range t.Snapshot.Bindings {
		b := &t.Snapshot.Bindings[i]
		if b.VHost != ref.VHost || b.Source != ref.Name || !t.leadsToQueue(b) {
			continue
		}
		binding := TapBinding{Exchange: ref.Name}
		switch x.kind {
		case "direct", "topic":
			binding.Key = b.RoutingKey
		case "headers":
			binding.Key, binding.Arguments, binding.identity = b.RoutingKey, b.Arguments, b.PropertiesKey
		}
		if k := (key{binding.Key, binding.identity}); !seen[k] {
			seen[k] = true
			found = append(found, binding)
		}
	}
	return found
}

func (t *Topology) leadsToQueue(b *Binding) bool {
	if b.ToExchange {
		return len(t.routings[b.VHost].route(b.Destination, routed{}).Queues) > 0
	}
	return t.queues[QueueRef{b.VHost, b.Destination}] != nil
}

// tapAll are the bindings with which a queue sees everything, as far as keys are known.
func (t *Topology) tapAll(ref ExchangeRef, x *exchangeRouting, found []TapBinding) []TapBinding {
	switch x.kind {
	case "fanout", "headers": // without arguments all messages match
		return []TapBinding{{Exchange: ref.Name}}
	case "topic":
		return []TapBinding{{Exchange: ref.Name, Key: "#"}}
	}
	entries := t.entryKeys()
	for i := range t.Snapshot.Queues {
		q := t.Snapshot.Queues[i].QueueRef
		s := t.settings[q]
		if q.VHost != ref.VHost || !s.DLX.Set || s.DLX.Value != ref.Name {
			continue
		}
		keys := []string{s.Key.Value}
		if !s.Key.Set {
			keys = append(slices.Clone(entries[q].keys), q.Name)
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

// isTap reports whether a queue belongs to a tap, of this program or another.
func isTap(name string) bool { return strings.HasPrefix(name, TapPrefix) }

// withoutTaps is a snapshot without the queues and bindings of taps: they come and go with somebody's look, and are no part of a flow.
func withoutTaps(s *Snapshot) *Snapshot {
	if !slices.ContainsFunc(s.Queues, func(q Queue) bool { return isTap(q.Name) }) &&
		!slices.ContainsFunc(s.Bindings, func(b Binding) bool { return isTap(b.Destination) }) {
		return s
	}
	without := *s
	without.Queues = slices.DeleteFunc(slices.Clone(s.Queues), func(q Queue) bool { return isTap(q.Name) })
	without.Bindings = slices.DeleteFunc(slices.Clone(s.Bindings), func(b Binding) bool { return isTap(b.Destination) && !b.ToExchange })
	return &without
}

func listNames(names []string) string {
	printable := make([]string, len(names))
	for i, n := range names {
		printable[i] = Printable(n)
	}
	return strings.Join(printable, " and ")
}

// TapCounts tell how a tap does.
type TapCounts struct {
	Seen    int64
	Missed  int64  // dropped from the tap's queue because it was full: seen by nobody here, and by everybody else
	AtLeast bool   // Missed is the least that it can be
	Unsure  bool   // the user may not count what is dropped, and the queue was nearly full
	Queue   string // of the tap
}

// MissedWords tell what a tap did not see, "" when it saw all.
func (c TapCounts) MissedWords() string {
	switch {
	case c.Missed > 0 && c.AtLeast:
		return fmt.Sprintf("at least %s missed", Plural(c.Missed, "message"))
	case c.Missed > 0:
		return Plural(c.Missed, "message") + " missed"
	case c.Unsure:
		return "some may have been missed"
	}
	return ""
}
