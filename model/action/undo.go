package action

import (
	"context"
	"fmt"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

// Undo undoes one action: its record, or its records in several queues, one after the other. Records of which nothing
// can be brought back are shown, and left out.
type Undo []plan.UndoPlan

// ready returns the records of which something can be brought back.
func (u Undo) ready() (ready Undo, messages int) {
	if len(u) == 1 {
		return u, u[0].Planned()
	}

	for i := range u {
		if !u[i].Refusal.Refused() {
			ready, messages = append(ready, u[i]), messages+u[i].Planned()
		}
	}

	return ready, messages
}

func (u Undo) Outline() plan.Plan {
	ready, n := u.ready()
	p := plan.Plan{Operation: plan.Undo, From: u[0].Back, Planned: n}
	if len(ready) == 0 || len(u) == 1 {
		p.Refusal = u[0].Refusal
	}

	for i := range u {
		p.Recipients = append(p.Recipients, plan.Recipient{Queue: u[i].Back})
		p.Warnings = append(p.Warnings, u[i].Expected()...)
	}

	return p
}

func (u Undo) Promise() (all plan.Promise) {
	ready, _ := u.ready()
	if len(ready) == 0 || len(u) == 1 {
		return u[0].Promise()
	}

	for i := range ready {
		p := ready[i].Promise()
		all.Takes = append(all.Takes, p.Takes...)
		all.Harm = all.Harm.And(p.Harm)
		all.Messages += p.Messages
	}

	return all
}

func (u Undo) Words() Words {
	ready, planned := u.ready()
	n := model.Plural(planned, "message")
	w := Words{
		Title:   fmt.Sprintf("Undo all %d: bring back %s", len(u), n),
		Running: "Bringing back " + n,
		Does:    "bring back",
	}

	to := model.Plural(len(ready), "queue")
	if len(u) == 1 {
		to = u[0].Back.Printable()
		w.Title = fmt.Sprintf("Undo %d: bring back %s", u[0].Record.ID, n)
	}

	w.Asks, w.Done = "bring "+n+" back to "+to, "brought back to "+to
	return w
}

func (u Undo) Facts(Most) []Fact {
	var f facts
	if len(u) == 1 {
		f.undo(&u[0])
		return f
	}

	for p := range model.Each(u) {
		if p.Refusal.Refused() {
			f.say("not", p.Record.From.Printable()+": "+p.Refusal.Words(), Stressed)
			continue
		}

		f.say("back to", model.Sayf("%s: %s of the %s %d, to its end", p.Back,
			model.Plural(p.Planned(), "message"), p.Record.Operation, p.Record.ID), Strong)
		f.warn(p.Warnings)
	}

	return f
}

func (f *facts) undo(p *plan.UndoPlan) {
	if r := &p.Record; r.ID > 0 {
		f.record(model.Sayf("the %s of %s", r.Operation, r.From), r)
		f.say("back to", p.Back.Printable()+", to its end", Strong)
	}
	if p.Restores > 0 {
		f.say("from", "the journal: "+model.Plural(p.Restores, "message")+", byte for byte", Plain)
	}

	for take := range model.Each(p.Takes) {
		words := "if no consumer has taken them"
		if take.Undoing.Gone.Restores() {
			words = "and from the journal those that its limit dropped"
		}
		f.say("from", model.Sayf("%s: %s, %s", take.From,
			model.Plural(take.Planned, "message"), words), Plain)
	}

	for _, skip := range p.Skips {
		f.say("not", model.Plural(skip.Messages, "message")+" "+skip.Words(), Plain)
	}
	f.warn(p.Warnings)
}

func (u Undo) Outcomes(a *plan.Account) []Fact {
	var f facts
	gone := u[0].Gone()
	f.outcome("gone", a.Gone, "not where they were sent to any more: "+gone.Words()+"; "+gone.Next(), Stressed)
	const kept = ": the journal still has them"
	f.open(a, "undo again", "by the broker"+kept, kept)
	return f
}

func (u Undo) Follow(*model.Topology, *plan.Account) (f plan.Following, ok bool) { return f, false }

func (u Undo) Do(ctx context.Context, by Broker, progress plan.Progress) (plan.Account, error) {
	ready, messages := u.ready()
	all := plan.Account{Operation: plan.Undo, From: u[0].Back, Planned: messages}
	for i := range ready {
		a, err := by.Undo(ctx, ready[i], func(a plan.Account) { progress(all.With(a)) })
		if len(u) == 1 {
			return a, err
		}
		if all = all.With(a); err != nil || a.Stopped != "" {
			return all, err
		}
	}

	return all, nil
}
