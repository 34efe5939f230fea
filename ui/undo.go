package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/ports"
)

// undoing is the plan of an undo, with what it was made of.
type undoing struct {
	id   int64 // of the record; 0 is the last action on this broker
	want plan.UndoWant
	undo plan.UndoPlan
}

func (u undoing) plan(ctx context.Context, e *env, t *model.Topology, insist bool) (followUp, error) {
	record, err := recordToUndo(ctx, e, t.Snapshot.Overview.ClusterName, u.id)
	u.id = cmp.Or(record.ID, u.id)                               // the last one may be another one soon
	if err == nil && !record.Running && record.Uncertain() > 0 { // what its program held is not back at once
		err = e.broker.AwaitGone(ctx, &record, e.source.Connections, record.Queues()...)
	}
	if err != nil {
		return u, err
	}
	u.want, err = plan.UndoWant{
		Record: record, User: e.broker.User(), Broker: e.broker.Address(), Insist: insist, ReadOnly: e.readOnly,
		Entries: recordEntries(e, ctx, record.ID),
	}.Looked(t, undoReads(ctx, e.broker, e.broker))
	if err != nil {
		return u, err
	}
	return u.again(ctx, e, t)
}

func (u undoing) again(ctx context.Context, e *env, t *model.Topology) (followUp, error) {
	u.want.Entries = recordEntries(e, ctx, u.id)
	p, err := plan.PlanUndo(t, u.want, undoReads(ctx, e.broker, e.broker))
	if err == nil {
		u.undo = p
	}
	return u, err
}

// undoReads is how an undo is planned from the broker.
func undoReads(ctx context.Context, looker ports.Looker, counter ports.Counter) plan.UndoReads {
	return plan.UndoReads{
		Look: looksWith(ctx, looker),
		Count: func(refs []model.QueueRef) (map[model.QueueRef]model.QueueCounts, error) {
			ctx, cancel := context.WithTimeout(ctx, countTimeout)
			defer cancel()
			return counter.Count(ctx, refs)
		},
	}
}

// recordToUndo is the record with this number; 0 is the last one on the broker of this cluster of which something can
// be taken back.
func recordToUndo(ctx context.Context, e *env, cluster string, id int64) (plan.Record, error) {
	if id > 0 {
		return e.journal.Record(ctx, id)
	}
	records, err := e.journal.Records(ctx, shownRecords)
	if err != nil {
		return plan.Record{}, err
	}
	for _, r := range records {
		done := r.Account.Moved + r.Account.Dropped + r.Uncertain()
		kind := r.Operation != plan.Undo && r.Operation != plan.Import && r.Operation != plan.Rescue
		if kind && r.On(e.broker.Address(), cluster) && done > r.Undone {
			return e.journal.Record(ctx, r.ID) // with its intent
		}
	}
	return plan.Record{}, errors.New("no action on this broker can be undone")
}

// recordEntries reads the entries of a record.
func recordEntries(e *env, ctx context.Context, id int64) func(func(*plan.Entry) error) error {
	return func(each func(*plan.Entry) error) error { return e.journal.Entries(ctx, id, each) }
}

func (u undoing) turn() followUp { return u }

func (u undoing) promise() plan.Promise { return u.undo.Promise() }

func (u undoing) offer(d *dialog) *offer {
	o := &offer{does: "bring back", refusal: u.undo.Refusal.Words()}
	refusal := u.undo.Refusal
	if d.err != nil {
		o.refusal, refusal = d.err.Error(), nil
		if why := (*plan.UndoNotLooked)(nil); errors.As(d.err, &why) {
			refusal = why.Refusal()
		}
	}
	if d.env.readOnly {
		o.refusal, refusal = readOnlyWords, nil
	}
	o.insist(d.env, refusal)
	if o.refusal == "" && u.undo.Gone() == plan.GoneEither {
		o.insists = d.env.keys.Insist.Help().Desc
	}
	if n := u.undo.Planned(); o.refusal == "" && d.env.careful(n) {
		o.carefully(d.env, n, "bring "+model.Plural(n, "message")+" back to "+model.Printable(u.undo.Back.Name))
	}
	return o
}

func (u undoing) run(e *env) (begun plan.Account, run accountRun) {
	begun = plan.Account{Operation: plan.Undo, From: u.undo.Back, Planned: u.undo.Planned()}
	return begun, func(ctx context.Context, progress func(plan.Account)) (plan.Account, error) {
		return e.broker.Undo(ctx, u.undo, progress)
	}
}

func (u undoing) did(e *env, a *plan.Account) {
	e.together = nil
	e.did(doing{queue: u.undo.Back, back: a.Moved, unclear: true})
	for i := range u.undo.Takes {
		e.did(doing{queue: u.undo.Takes[i].From, unclear: true})
	}
}

func (u undoing) say(l *dialogLines) (title string) {
	s, p := l.styles, &u.undo
	if r := &p.Record; r.ID > 0 {
		title = fmt.Sprintf("Undo %d: bring back %s", r.ID, model.Plural(p.Planned(), "message"))
		sayRecord(l, fmt.Sprintf("the %s of %s", r.Operation, model.Printable(r.From.String())), r)
		l.say("back to", model.Printable(p.Back.String())+", to its end", s.Strong)
	}
	if p.Restores > 0 {
		l.say("from", "the journal: "+model.Plural(p.Restores, "message")+", byte for byte", s.Text)
	}
	for i := range p.Takes {
		take := &p.Takes[i]
		words := "if no consumer has taken them"
		if take.Undoing.Gone.Restores() {
			words = "and from the journal those that its limit dropped"
		}
		from, n := model.Printable(take.From.String()), model.Plural(take.Planned, "message")
		l.say("from", fmt.Sprintf("%s: %s, %s", from, n, words), s.Text)
	}
	for _, skip := range p.Skips {
		l.say("not", fmt.Sprintf("%s %s", model.Plural(skip.Messages, "message"), model.Printable(skip.Words())), s.Muted)
	}
	l.warn(p.Warnings)
	return title
}

func (u undoing) running(a *plan.Account) string {
	return "Bringing back " + model.Plural(a.Planned, "message")
}

func (u undoing) tell(d *dialog, l *dialogLines) {
	u.tellTo(d, l, model.Printable(u.undo.Back.String()))
}

func (u undoing) tellTo(d *dialog, l *dialogLines, where string) {
	s, a := l.styles, &d.account
	look := s.Strong
	if !a.Complete() {
		look = s.Warning
	}
	l.say("", fmt.Sprintf("%s of %s brought back to %s", model.Count(int64(a.Moved)),
		model.Plural(a.Planned, "message"), where), look)
	if !a.Complete() || d.err != nil {
		l.blank()
	}
	d.sayOutcomes(l,
		outcome{a.Gone, "gone", "not where they were sent to any more: " + u.undo.Gone().Words() +
			"; " + u.undo.Gone().Next()},
		outcome{a.Refused, "refused", "by the broker: the journal still has them"},
		outcome{a.Returned, "returned", "no queue took them: the journal still has them"},
		outcome{a.Unknown, "unknown", "the connection or a queue's node was lost meanwhile: undo again to look " +
			"for them"})
}
