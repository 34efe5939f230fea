package action

import (
	"context"
	"fmt"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/resume"
)

// Resume continues an action that did not finish.
type Resume struct{ resume.Run }

func (r *Resume) Outline() plan.Plan {
	p := r.Rest
	switch {
	case r.Undo != nil:
		p = (&Undo{*r.Undo}).Outline()
	case r.Import != nil:
		p = plan.Plan{From: r.Import.Into.Queue, Recipients: []plan.Recipient{r.Import.Into}}
	}

	p.Operation, p.Planned, p.Refusal = r.Record.Operation, r.Planned(), r.Refusal
	if p.From.Name == "" {
		p.From = r.Record.From
	}

	return p
}

func (r *Resume) Words() Words { return r.together(Several{r}) }

func (r *Resume) together(all Several) Words {
	record := &r.Record
	_, n := all.ready()
	of := record.From.String()
	if len(all) > 1 {
		of = all.Sources()
	}

	return Words{
		Title:   fmt.Sprintf("Resume %d: continue the %s", record.ID, record.Operation),
		Running: fmt.Sprintf("Resuming %s %d", record.Operation, record.ID),
		Does:    "go on",
		Asks:    model.Sayf("go on with the %s of at most %v message(s) of %s", record.Operation, n, of),
		Done:    record.Operation.Done(),
	}
}

func (r *Resume) Facts(most Most) []Fact {
	var f facts
	if record := &r.Record; record.ID > 0 {
		f.record(record.From.Printable(), record)
		f.say("to", record.To, Plain)
		f.say("the rest", model.Sayf("%v message(s) at most", r.Planned()), Strong)
		f.say("pace", r.Rest.PaceWords(), Setting)
	}

	label := "found"
	for _, words := range r.Found() {
		f.say(label, words, Plain)
		label = ""
	}

	for i, u := range r.Undecided {
		if i == most.Names {
			f.say("", model.Sayf("and %v more", len(r.Undecided)-i), Stressed)
			break
		}

		id := ""
		if u.MessageID != "" {
			id = " (" + model.Printable(u.MessageID) + ")"
		}
		f.say("undecided", model.Sayf("%v%s: %s", u.Position, id, u.Why), Stressed)
	}

	f.warn(r.Rest.Warnings)
	return f
}

func (r *Resume) brief(most Most) []Fact { return r.Facts(most) }

func (r *Resume) Outcomes(a *plan.Account) []Fact {
	var f facts
	if n := r.Done + r.Acks(); n > 0 {
		f.say("before", model.Sayf("%v message(s) were done, or had arrived", n), Plain)
	}

	f.outcome("undecided", len(r.Undecided), "they stay in their queue", Stressed)
	f.outcome("gone", a.Gone, "someone else took them out, or they expired", Stressed)
	f.open(a, "resume again", "they stay where they are", "")
	return f
}

func (r *Resume) Follow(t *model.Topology, a *plan.Account) (plan.Following, bool) {
	rest := r.RestOn()
	return rest.Follow(t, a)
}

func (r *Resume) Do(ctx context.Context, by Broker, progress plan.Progress) (plan.Account, error) {
	return by.Resume(ctx, r.Run, progress)
}
