package action

import (
	"context"
	"fmt"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

// Undo undoes one record. An action that was resumed, or was on several queues, has several.
type Undo struct{ plan.UndoPlan }

func (u *Undo) Outline() plan.Plan {
	p := plan.Plan{Operation: plan.Undo, From: u.Back, Planned: u.Planned()}
	p.Refusal, p.Warnings = u.Refusal, u.Expected()
	p.Recipients = []plan.Recipient{{Queue: u.Back}}
	return p
}

func (u *Undo) Words() Words { return u.together(Several{u}) }

func (u *Undo) together(all Several) Words {
	_, planned := all.ready()
	n, to := model.Plural(planned, "message"), all.Sources()
	title := fmt.Sprintf("Undo %d: bring back %s", u.Record.ID, n)
	if len(all) > 1 {
		title = fmt.Sprintf("Undo all %d: bring back %s", len(all), n)
	}

	return Words{
		Title:   title,
		Running: "Bringing back " + n,
		Does:    "bring back",
		Asks:    "bring " + n + " back to " + to,
		Done:    "brought back to " + to,
	}
}

func (u *Undo) brief(Most) []Fact {
	var f facts
	f.say("back to", model.Sayf("%s: %v message(s) of the %s %d, to its end", u.Back, u.Planned(), u.Record.Operation,
		u.Record.ID), Strong)
	f.warn(u.Warnings)
	return f
}

func (u *Undo) Facts(Most) []Fact {
	var f facts
	if r := &u.Record; r.ID > 0 {
		f.record(model.Sayf("the %s of %s", r.Operation, r.From), r)
		f.say("back to", u.Back.Printable()+", to its end", Strong)
	}
	if u.Restores > 0 {
		f.say("from", model.Sayf("the journal: %v message(s), byte for byte", u.Restores), Plain)
	}

	for take := range model.Each(u.Takes) {
		words := "if no consumer has taken them"
		if take.Undoing.Gone.Restores() {
			words = "and from the journal those that its limit dropped"
		}
		f.say("from", model.Sayf("%s: %v message(s), %s", take.From, take.Planned, words), Plain)
	}

	for _, skip := range u.Skips {
		f.say("not", model.Sayf("%v message(s) %s", skip.Messages, skip.Words()), Plain)
	}

	f.warn(u.Warnings)
	return f
}

func (u *Undo) Outcomes(a *plan.Account) []Fact {
	var f facts
	gone := u.Gone()
	f.outcome("gone", a.Gone, "not where they were sent to any more: "+gone.Words()+"; "+gone.Next(), Stressed)
	const kept = ": the journal still has them"
	f.open(a, "undo again", "by the broker"+kept, kept)
	return f
}

func (u *Undo) Follow(*model.Topology, *plan.Account) (f plan.Following, ok bool) { return f, false }

func (u *Undo) Do(ctx context.Context, by Broker, progress plan.Progress) (plan.Account, error) {
	return by.Undo(ctx, u.UndoPlan, progress)
}
