package act

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/ports"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// Undoing is the undo of one action: of its record, or of its records in several queues, one after the other. Records
// of which nothing can be brought back are shown, and left out.
type Undoing []recordUndo

// recordUndo is the plan for one record, with what it was made from.
type recordUndo struct {
	Id   int64 // of the record; 0 is the last action on this broker
	want plan.UndoWant
	Undo plan.UndoPlan
}

func (u Undoing) plan(ctx context.Context, e *shell.Env, t *model.Topology, insist bool) (FollowUp, error) {
	return u.each(func(one *recordUndo) error { return one.plan(ctx, e, t, insist) })
}

func (u Undoing) again(ctx context.Context, e *shell.Env, t *model.Topology) (FollowUp, error) {
	return u.each(func(one *recordUndo) error { return one.again(ctx, e, t) })
}

func (u Undoing) each(make func(*recordUndo) error) (FollowUp, error) {
	planned := slices.Clone(u)
	for i := range planned {
		switch err := make(&planned[i]); {
		case err != nil && len(u) > 1:
			return u, fmt.Errorf("record %d: %w", u[i].Id, err)
		case err != nil:
			return planned, err
		}
	}
	return planned, nil
}

func (u *recordUndo) plan(ctx context.Context, e *shell.Env, t *model.Topology, insist bool) error {
	record, err := recordToUndo(ctx, e, t.Snapshot.Overview.ClusterName, u.Id)
	u.Id = cmp.Or(record.ID, u.Id)                               // another one may soon be the last
	if err == nil && !record.Running && record.Uncertain() > 0 { // messages held by its program are not back at once
		err = e.Broker.AwaitGone(ctx, &record, e.Source.Connections, record.Queues()...)
	}
	if err != nil {
		return err
	}
	u.want, err = plan.UndoWant{
		Record: record, User: e.Broker.User(), Broker: e.Broker.Address(), Insist: insist, ReadOnly: e.ReadOnly,
		Entries: recordEntries(e, ctx, record.ID),
	}.Looked(t, reads(ctx, e.Broker, e.Broker))
	if err != nil {
		return err
	}
	return u.again(ctx, e, t)
}

func (u *recordUndo) again(ctx context.Context, e *shell.Env, t *model.Topology) error {
	u.want.Entries = recordEntries(e, ctx, u.Id)
	p, err := plan.PlanUndo(t, u.want, reads(ctx, e.Broker, e.Broker))
	if err == nil {
		u.Undo = p
	}
	return err
}

func reads(ctx context.Context, looker ports.Looker, counter ports.Counter) plan.Reads {
	return plan.Reads{
		Look: func(look peek.Plan, each func(*message.Message) error) (string, error) {
			read, err := looker.Read(ctx, look, each)
			return read.Stopped, err
		},
		Count: func(refs []model.QueueRef) (map[model.QueueRef]model.QueueCounts, error) {
			ctx, cancel := context.WithTimeout(ctx, shell.CountTimeout)
			defer cancel()
			return counter.Count(ctx, refs)
		},
	}
}

// recordToUndo is the record with this number; 0 is the last one on the broker of this cluster of which something can
// be undone.
func recordToUndo(ctx context.Context, e *shell.Env, cluster string, id int64) (plan.Record, error) {
	if id > 0 {
		return e.Journal.Record(ctx, id)
	}
	records, err := e.Journal.Records(ctx, shownRecords)
	if err != nil {
		return plan.Record{}, err
	}
	for _, r := range records {
		done := r.Account.Moved + r.Account.Dropped + r.Uncertain()
		kind := r.Operation != plan.Undo && r.Operation != plan.Import && r.Operation != plan.Rescue
		if kind && r.On(e.Broker.Address(), cluster) && done > r.Undone {
			return e.Journal.Record(ctx, r.ID) // with its intent
		}
	}
	return plan.Record{}, errors.New("no action on this broker can be undone")
}

func recordEntries(e *shell.Env, ctx context.Context, id int64) func(func(*plan.Entry) error) error {
	return func(each func(*plan.Entry) error) error { return e.Journal.Entries(ctx, id, each) }
}

// ready are the records of which something can be brought back.
func (u Undoing) ready() (ready Undoing, messages int) {
	for _, one := range u {
		if !one.Undo.Refusal.Refused() {
			ready, messages = append(ready, one), messages+one.Undo.Planned()
		}
	}
	return ready, messages
}

func (u Undoing) promise() (all plan.Promise) {
	ready, _ := u.ready()
	if len(ready) == 0 {
		return u[0].Undo.Promise()
	}
	for _, one := range ready {
		p := one.Undo.Promise()
		all.Takes, all.Losses = append(all.Takes, p.Takes...), append(all.Losses, p.Losses...)
		all.Again, all.Messages = append(all.Again, p.Again...), all.Messages+p.Messages
	}
	return all
}

func (u Undoing) offer(d *shell.Dialog) *shell.Offer {
	first, to := &u[0].Undo, model.Plural(len(u), "queue")
	ready, messages := u.ready()
	o := &shell.Offer{Does: "bring back"}
	if len(u) == 1 {
		to = model.Printable(first.Back.Name)
	}
	if len(u) == 1 || len(ready) == 0 || d.Err != nil || d.Env.ReadOnly {
		refuse(d, o, first.Refusal)
		if o.Refusal == "" && first.Gone() == plan.GoneEither {
			o.Insists = d.Env.Keys.Insist.Help().Desc
		}
	}
	if o.Refusal == "" && d.Env.Careful(messages) {
		o.Carefully(d.Env, messages, "bring "+model.Plural(messages, "message")+" back to "+to)
	}
	return o
}

func (u Undoing) run(e *shell.Env) (begun plan.Account, run shell.AccountRun) {
	ready, messages := u.ready()
	begun = plan.Account{Operation: plan.Undo, From: u[0].Undo.Back, Planned: messages}
	return begun, func(ctx context.Context, progress func(plan.Account)) (plan.Account, error) {
		all := begun
		for _, one := range ready {
			a, err := e.Broker.Undo(ctx, one.Undo, func(a plan.Account) { progress(all.With(a)) })
			if all = all.With(a); err != nil || a.Stopped != "" {
				return all, err
			}
		}
		return all, nil
	}
}

func (u Undoing) did(e *shell.Env, a *plan.Account) {
	e.Together = nil
	for _, one := range u {
		moved := 0 // for several records the number that came back is only known if all did
		switch {
		case len(u) == 1:
			moved = a.Moved
		case a.Complete():
			moved = one.Undo.Planned()
		}
		e.Unfollow(one.Undo.Record.ID)
		back := shell.Doing{Queue: one.Undo.Back, Back: moved, Unclear: true}
		if took := (shell.Doing{Gone: e.Took(one.Undo.Record.ID, one.Undo.Back)}); took.Count() == int64(moved) {
			back.Came = took.Gone
		}
		e.Did(back)
		for i := range one.Undo.Takes {
			e.Did(shell.Doing{Queue: one.Undo.Takes[i].From, Unclear: true})
		}
	}
}

func (u Undoing) say(l *shell.DialogLines) (title string) {
	if len(u) == 1 {
		return u[0].say(l)
	}
	_, messages := u.ready()
	for i := range u {
		p := &u[i].Undo
		words := fmt.Sprintf("%s: %s of the %s %d, to its end", model.Printable(p.Back.String()),
			model.Plural(p.Planned(), "message"), p.Record.Operation, p.Record.ID)
		if p.Refusal.Refused() {
			l.Stress("not", model.Printable(p.Record.From.String())+": "+model.Printable(p.Refusal.Words()), l.Styles.Warning)
			continue
		}
		l.Say("back to", words, l.Styles.Strong)
		l.Warn(p.Warnings)
	}
	return fmt.Sprintf("Undo all %d: bring back %s", len(u), model.Plural(messages, "message"))
}

func (u *recordUndo) say(l *shell.DialogLines) (title string) {
	s, p := l.Styles, &u.Undo
	if r := &p.Record; r.ID > 0 {
		title = fmt.Sprintf("Undo %d: bring back %s", r.ID, model.Plural(p.Planned(), "message"))
		sayRecord(l, fmt.Sprintf("the %s of %s", r.Operation, model.Printable(r.From.String())), r)
		l.Say("back to", model.Printable(p.Back.String())+", to its end", s.Strong)
	}
	if p.Restores > 0 {
		l.Say("from", "the journal: "+model.Plural(p.Restores, "message")+", byte for byte", s.Text)
	}
	for i := range p.Takes {
		take := &p.Takes[i]
		words := "if no consumer has taken them"
		if take.Undoing.Gone.Restores() {
			words = "and from the journal those that its limit dropped"
		}
		from, n := model.Printable(take.From.String()), model.Plural(take.Planned, "message")
		l.Say("from", fmt.Sprintf("%s: %s, %s", from, n, words), s.Text)
	}
	for _, skip := range p.Skips {
		l.Say("not", fmt.Sprintf("%s %s", model.Plural(skip.Messages, "message"), model.Printable(skip.Words())), s.Muted)
	}
	l.Warn(p.Warnings)
	return title
}

func (u Undoing) running(a *plan.Account) string {
	return "Bringing back " + model.Plural(a.Planned, "message")
}

func (u Undoing) tell(d *shell.Dialog, l *shell.DialogLines) {
	s, a := l.Styles, &d.Account
	look, where := s.Strong, model.Printable(u[0].Undo.Back.String())
	if len(u) > 1 {
		ready, _ := u.ready()
		where = model.Plural(len(ready), "queue")
	}
	if !a.Complete() {
		look = s.Warning
	}
	l.Say("", fmt.Sprintf("%s of %s brought back to %s", model.Count(int64(a.Moved)),
		model.Plural(a.Planned, "message"), where), look)
	if !a.Complete() || d.Err != nil {
		l.Blank()
	}
	gone := u[0].Undo.Gone()
	l.Outcome(a.Gone, "gone", "not where they were sent to any more: "+gone.Words()+"; "+gone.Next())
	l.Outcome(a.Refused, "refused", "by the broker: the journal still has them")
	l.Outcome(a.Returned, "returned", "no queue took them: the journal still has them")
	l.Outcome(a.Unknown, "unknown", "the connection or a queue's node was lost meanwhile: undo again to look for them")
	d.SayEnd(l)
}
