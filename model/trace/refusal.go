package trace

import (
	"fmt"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

// Refusal is why a tap or a probe must not run; nil when it may.
type Refusal = model.Refusal[Objection]

// ObjectionKind is a reason against a tap or a probe.
type ObjectionKind string

// The kinds.
const (
	Unread       ObjectionKind = "unread"        // what the tap would be bound to
	DefaultOne   ObjectionKind = "default"       // the default exchange, which nothing can be bound to
	NoExchange   ObjectionKind = "no exchange"   // of that name
	Chooses      ObjectionKind = "chooses"       // an exchange that gives each message to one binding only
	TakesFrom    ObjectionKind = "takes from"    // an alternate exchange would miss what the tap takes
	LeadsNowhere ObjectionKind = "leads nowhere" // an exchange without a queue behind it
	NoBuffer     ObjectionKind = "no buffer"     // of the flow expires messages
	IsNoBuffer   ObjectionKind = "is no buffer"  // what was named
	UnknownReach ObjectionKind = "unknown reach" // nobody can tell whom the probe would reach
	StaysThere   ObjectionKind = "stays there"   // it could not be taken out of a queue again
	ConsumersGet ObjectionKind = "consumers get" // applications would get the probe: a person may agree to that
)

// Objection is one reason against a tap or a probe, with the values that its sentence needs.
type Objection struct {
	Kind      ObjectionKind
	Why       string           `json:",omitempty"` // of Unread and UnknownReach: what the snapshot, or the routing, tells
	Exchange  string           `json:",omitempty"`
	Type      string           `json:",omitempty"` // of the exchange
	Alternate string           `json:",omitempty"`
	Queue     string           `json:",omitempty"`
	Removal   plan.Refusal     `json:",omitempty"` // of StaysThere
	Consumed  []plan.Recipient `json:",omitempty"` // of ConsumersGet
}

// Overridable reports whether a person may insist. To ConsumersGet a person agrees with ProbeWant.ToConsumers.
func (o Objection) Overridable() bool { return false }

// Override is what insisting would do.
func (o Objection) Override() string { return "" }

// Words say the objection in one sentence.
func (o Objection) Words() string {
	exchange, queue := model.Printable(o.Exchange), model.Printable(o.Queue)
	switch o.Kind {
	case Unread:
		return o.Why + ", so it is unknown what a tap would do"
	case DefaultOne:
		return "the default exchange cannot be tapped, because nothing can be bound to it: tap the exchange in " +
			"front of the buffer, or look into the queue that it leads to"
	case NoExchange:
		return fmt.Sprintf("there is no exchange %s", exchange)
	case Chooses:
		return fmt.Sprintf("%s is of type %s, which shares messages out among its bindings: a tap would take "+
			"some away from its queues", exchange, model.Quoted(model.Printable(o.Type)))
	case TakesFrom:
		return fmt.Sprintf("%s sends what no queue takes to its alternate exchange %s, and a tap would stop "+
			"that: tap that one", exchange, model.Printable(o.Alternate))
	case LeadsNowhere:
		return fmt.Sprintf("no binding of %s leads to a queue, so its messages reach none: tap what no queue "+
			"takes, too", exchange)
	case NoBuffer:
		return "this flow has no buffer that expires messages: there is no way to measure"
	case IsNoBuffer:
		return fmt.Sprintf("%s is not a buffer of this flow that expires messages", queue)
	case UnknownReach:
		return "it is unknown which queues it would reach: " + o.Why
	case StaysThere:
		return fmt.Sprintf("it could not be taken out of %s again: %s", queue, o.Removal.Words())
	}
	return "applications consume what it reaches, and would get the probe: " + consumedWords(o.Consumed)
}

// consumedWords name queues with their consumers.
func consumedWords(queues []plan.Recipient) string {
	var words []string
	for _, r := range queues {
		consumers := "consumers unknown"
		if n, known := r.Consumers.Get(); known {
			consumers = model.Plural(n, "consumer")
		}
		words = append(words, fmt.Sprintf("%s (%s)", model.Printable(r.Queue.Name), consumers))
	}
	return strings.Join(words, ", ")
}
