package resume

import (
	"cmp"
	"context"
	"fmt"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
)

// why is one sentence why something stays open, or counts as done.
type why string

const (
	certain  why = ""
	whyTaken why = "it is in its queue, and its copy is not in the target: it was never published, or a " +
		"consumer has taken it"
	whyNowhere why = "its copy is not in the queue: it was never published, or a consumer has taken it"
	whyTwin    why = "identical messages exist: which of them was acknowledged is unknown"
	whyLeft    why = "it counts as done, as you asked: it stays where it is"
	whyGone    why = "it is neither in its queue nor in the target: a consumer has taken it, or it expired"
	whyWaits   why = "it is neither in its queue nor found in the target: a consumer has taken it, it expired, or " +
		"RabbitMQ keeps it back until the time in " + message.DeliveryTimeHeader
	whyHeld why = "it may be dropped or moved, and a consumer, or another look, may hold it now: resume it again when " +
		"nothing consumes the queue"
	whyArrived why = "it has arrived: its original is acknowledged first"
)

type decision struct {
	*resumption
	*tally
	plan     *Plan
	resuming *plan.Resuming
	choice   Choice
	back     map[int]plan.Outcome // for an undo: outcomes of the messages that it takes back, by position
}

// decide sorts the results: what is recorded, what is acknowledged, and what is left to do.
func (f *resumption) decide(p *Plan, choice Choice) *decision {
	r := &plan.Resuming{
		Record: p.Record.ID,
		Began:  f.want.Chain[0].Began,
		Undoes: p.Record.Undoes,
		Back:   p.Record.From,
		Found:  map[int64][]plan.Settled{},
	}
	d := &decision{f, f.certain.clone(), p, r, choice, map[int]plan.Outcome{}}
	for record := range model.Each(f.want.Chain) {
		if record.Unfinished() {
			r.Found[record.ID] = nil // it ends in any case
		}
	}

	for _, q := range f.pending {
		outcome, why := d.outcome(q)
		r.Found[q.record] = append(r.Found[q.record], plan.Settled{
			Position: q.position, Outcome: outcome, Reason: string(why),
		})
		if d.back[q.undoes] = outcome; why == whyArrived {
			d.back[q.undoes] = plan.Moved
		}
	}

	r.Gone, r.Moved = d.gone, f.certain.gone+p.Done
	if f.intent != nil {
		r.Left = max(f.intent.Depth-int64(d.gone), 0)
	}

	return d
}

// outcome returns what is recorded for one message. "" means untouched: it is left to do.
func (d *decision) outcome(q *pending) (plan.Outcome, why) {
	switch {
	case q.there == no && d.held && (q.sent == nil || q.arrived == yes):
		d.leave(q.original, q.position)
		return plan.Unsure, whyHeld
	case q.sent == nil && q.there == no:
		return d.over(q, plan.Dropped)
	case q.sent == nil && q.there == maybe: // the rest drops it if it is there, and an undo looks before it brings it back
		return plan.Unsure, whyTwin
	case q.there == no:
		return d.outcomeOfGone(q)
	case q.arrived == yes && d.source.Name == "":
		return d.over(q, plan.Moved)
	case q.arrived == yes && q.there == yes:
		d.add(q.original, q.position)
		d.resuming.Acks = append(d.resuming.Acks, plan.Arrived{
			Record: q.record, Position: q.position, Fingerprint: q.original,
		})
		return plan.Unsure, whyArrived
	case q.arrived == no && q.copyIn == "", q.sent == nil, d.choice == PublishAgain:
		d.plan.Unsent++
		return "", certain
	}

	d.leave(q.original, q.position)
	if d.choice == LeaveThem {
		return plan.Returned, whyLeft
	}
	open := whyTaken
	switch {
	case q.arrived == yes:
		open = whyTwin
	case q.copyIn != "":
		open = why(fmt.Sprintf("it is in its queue, and a copy is in %s, but none was found in %s, which refused it, or "+
			"whose consumer has taken it", q.copyIn, q.lackedBy))
	case q.unread != "" && d.source.Name == "":
		open = why(q.unread)
	case q.unread != "":
		open = why("it is in its queue, and " + q.unread)
	case d.source.Name == "":
		open = whyNowhere
	}

	d.plan.Undecided = append(d.plan.Undecided, Undecided{q.record, q.position, q.id, string(open)})
	return plan.Unsure, open
}

// over records a message that turned out to be done.
func (d *decision) over(q *pending, outcome plan.Outcome) (plan.Outcome, why) {
	d.add(q.original, q.position)
	d.gone++
	d.plan.Done++
	return outcome, certain
}

// outcomeOfGone returns the outcome of a message whose original is gone. It was acknowledged, which happens only after
// its copy has arrived, unless something else can have taken it.
func (d *decision) outcomeOfGone(q *pending) (plan.Outcome, why) {
	if q.arrived == yes || q.arrived == maybe && !d.leaves() {
		return d.over(q, plan.Moved)
	}
	d.add(q.original, q.position)
	d.gone++
	if d.intent != nil && d.intent.KeepDelay {
		return plan.Unsure, whyWaits
	}

	return plan.Unsure, whyGone
}

// leaves reports whether messages may leave the source by themselves, or by others.
func (f *resumption) leaves() bool {
	source := f.topology.Queues[f.source]
	if source == nil || f.held || f.topology.Settings(f.source).TTL.Set {
		return true
	}
	return cmp.Or(f.consumers, source.Consumers).Or(1) > 0
}

// ImportPlan is the import of a file, or of the rest of one.
type ImportPlan struct {
	Into     plan.Recipient
	File     string         // its absolute path
	Total    int            // messages in the file
	Planned  int            // messages to publish
	Skip     map[int]bool   // numbers in the file, from 1, of messages not to publish
	Undelays bool           // message.DeliveryTimeHeader, with which RabbitMQ would hold them back, is removed
	Delayed  bool           // it stays
	Resuming *plan.Resuming // nil: it resumes nothing
}

// FromFile returns the import of a file with that many messages. The path is absolute, so that it can be found again
// from another directory.
func FromFile(t *model.Topology, queue model.QueueRef, path string, messages int, keepDelay bool) ImportPlan {
	delays := t.Behaviour.DelaysByHeader
	return ImportPlan{
		Into:     plan.RecipientOf(t, queue),
		File:     path,
		Total:    messages,
		Planned:  messages,
		Undelays: delays && !keepDelay,
		Delayed:  delays && keepDelay,
	}
}

// Intent returns what the journal keeps of the plan.
func (p *ImportPlan) Intent() *plan.Intent {
	return &plan.Intent{
		File: p.File, Depth: int64(p.Total), Recipients: []plan.Recipient{p.Into},
		Options: plan.Options{KeepDelay: p.Delayed},
	}
}

// restOfImport plans to publish the messages of the file that are left.
func (d *decision) restOfImport(ctx context.Context) error {
	p, f := d.plan, d.resumption
	p.Import = &ImportPlan{Into: plan.RecipientOf(f.topology, p.Record.From), Skip: d.numbers, Resuming: d.resuming}
	if f.intent == nil || !p.Record.Early() && p.Unsent == 0 {
		return nil
	}
	*p.Import = FromFile(f.topology, p.Record.From, f.intent.File, int(f.intent.Depth), f.intent.KeepDelay)
	p.Import.Into.Insisted = f.want.Insist
	p.Import.Skip = d.numbers
	p.Import.Resuming = d.resuming
	n, file := 0, model.Printable(f.intent.File)
	err := f.want.File(ctx, f.intent.File, func(m *message.Message) error {
		n++
		if known, ok := f.lines[n]; ok && known != m.Fingerprint && !p.Refusal.Refused() {
			p.Refusal = plan.Against("%s was changed since: its message %d is not the one that was imported", file, n)
		}
		return nil
	})

	if err == nil && !p.Refusal.Refused() && n != p.Import.Total {
		p.Refusal = plan.Against("%s was changed since: it has %v message(s) instead of %v", file, n, p.Import.Total)
	}

	p.Import.Planned = max(n-len(d.numbers), 0)
	return err
}
