package trace

import (
	"fmt"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

// WarningKind is something that a person might not expect of a probe.
type WarningKind string

// The kinds.
const (
	bringsTTL     WarningKind = "brings a TTL" // of its own: the buffer has none
	heldUp        WarningKind = "held up"      // by messages in front of it
	bufferTakes   WarningKind = "buffer takes" // what the buffer does with a message more
	expiresToNone WarningKind = "expires to none"
	lostBehind    WarningKind = "lost behind"  // the exchange
	reachesSome   WarningKind = "reaches some" // of the queues
	tapsNotDLX    WarningKind = "taps not dlx" // which is the default exchange
)

// Warning is something that a person might not expect of a probe, with the values that its sentence needs.
type Warning struct {
	Kind     WarningKind
	Queue    string        `json:",omitempty"`
	Exchange string        `json:",omitempty"`
	Messages int64         `json:",omitempty"` // of heldUp
	Why      string        `json:",omitempty"` // of reachesSome: what the routing tells
	Takes    *plan.Warning `json:",omitempty"` // of bufferTakes
}

func (p *ProbePlan) warn(w Warning) { p.Warnings = append(p.Warnings, w) }

// Words say the warning in one sentence.
func (w Warning) Words() string {
	switch w.Kind {
	case bringsTTL:
		return fmt.Sprintf("%s has no TTL of its own: the probe brings one of 1s", model.Printable(w.Queue))
	case heldUp:
		return fmt.Sprintf("%s in front of it: with a longer TTL than its own they hold it up",
			model.PluralAre(w.Messages, "message"))
	case bufferTakes:
		return w.Takes.Words()
	case expiresToNone:
		return fmt.Sprintf("there is no exchange %s: expired messages are lost", model.Printable(w.Exchange))
	case lostBehind:
		return fmt.Sprintf("no queue takes messages from %s: the probe will be lost, as all of them are",
			model.Printable(model.ExchangeName(w.Exchange)))
	case reachesSome:
		return "it reaches some of these queues: " + w.Why
	}
	return "the default exchange cannot be tapped: when the probe expires is seen only where it arrives"
}
