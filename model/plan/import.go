package plan

import (
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/loss"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/target"
)

type ImportWant struct {
	To        model.QueueRef
	Sizes     []int64 // of the bodies in bytes, one for each message
	Highest   uint8   // priority
	Insist    bool    // override a refusal, where possible
	KeepDelay bool    // keep message.DeliveryTimeHeader
	Counts    model.CountsByQueue
	tally     tally
}

// Add counts one message of the file.
func (w *ImportWant) Add(t *model.Topology, m *message.Message) {
	w.Sizes, w.Highest = append(w.Sizes, int64(m.BodyBytes)), max(w.Highest, m.Properties.Priority)
	w.tally.copied(t, m, m.Headers)
}

// ForImport plans to publish the messages of a file into a queue, through the default exchange.
func ForImport(t *model.Topology, want ImportWant) Plan {
	p := Plan{
		Operation: Import,
		From:      want.To,
		Planned:   len(want.Sizes),
		Delays:    t.Behaviour.DelaysByHeader,
		Options:   Options{KeepDelay: want.KeepDelay},
	}

	if _, exists := t.Queue(want.To); !exists {
		p.Refusal = Against("there is no queue %s (any more)", want.To)
		return p
	}

	way := target.Way{Address: model.Address{RoutingKey: want.To.Name}, Reaches: []model.QueueRef{want.To}, Exact: true}
	p.Ways = []PlannedWay{{way, p.Planned}}
	into := RecipientOf(t, want.To)
	into.Messages = p.Planned
	into.Insisted = want.Insist
	p.Recipients = []Recipient{into}
	p.refuseDown(t)
	p.warnOfIntake(t)

	p.Warnings = append(p.Warnings, want.tally.copyWarnings(p.KeepDelay, t.Snapshot.TakenAt)...)
	if want.tally.delayed.messages > 0 && !p.KeepDelay {
		p.Strips = []string{message.DeliveryTimeHeader}
	}

	a := loss.Arrivals{Messages: p.Planned, Sizes: want.Sizes, Highest: want.Highest}
	p.receive(t, want.To, a, want.Counts)
	own := func() [][]string { return loss.OwnKeys(t, want.To) }
	f := loss.OfSecondFailure(t, want.To, want.To.Name, nil, nil, own)
	switch {
	case f == nil:
	case f.Same:
		p.warn(Warning{Says: f.Words()})
	default:
		p.Again = []loss.SecondFailure{*f}
	}

	p.judge(inFile, want.Insist)
	return p
}

// warnOfIntake warns of what the queue will do unexpectedly with the messages.
func (p *Plan) warnOfIntake(t *model.Topology) {
	p.Warnings = append(p.Warnings, warnOfAlarms(t)...)
	r := p.Recipients[0]
	p.From = model.QueueRef{} // nothing is taken out of it
	p.warnOfRecipients(t)
	p.From = r.Queue
	if s := t.Settings(r.Queue); s.TTL.Set && r.Consumers.Or(1) != 0 {
		p.warn(warning("%s expires its messages after %s (%s)", r.Queue, s.TTL.Value, s.TTL.Source))
	}
}
