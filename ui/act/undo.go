package act

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/action"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/resume"
	"github.com/dlxtop/dlxtop/ui/press"
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

func (u Undoing) plan(ctx context.Context, e *shell.Env, t *model.Topology, by *looking) (FollowUp, error) {
	var parts Undoing
	if by == nil {
		parts = slices.Clone(u)
	}
	for i := range u[len(parts):] {
		records, err := recordsToUndo(ctx, e, t.Snapshot.Overview.ClusterName, u[i].Id)
		if err != nil {
			return u, err
		}
		for _, r := range records {
			parts = append(parts, recordUndo{Id: r.ID, want: plan.UndoWant{Record: r}})
		}
	}

	for i := range parts {
		err := parts[i].plan(ctx, e, t, by)
		switch {
		case err != nil && len(parts) > 1:
			return u, fmt.Errorf("record %d: %w", parts[i].Id, err)
		case err != nil:
			return parts, err
		}
	}

	return parts, nil
}

func (u Undoing) barred(t *model.Topology) []plan.Refusal {
	return model.Mapped(u, func(one *recordUndo) plan.Refusal { return one.want.Barred(t) })
}

func (u *recordUndo) plan(ctx context.Context, e *shell.Env, t *model.Topology, by *looking) error {
	err := u.look(ctx, e, t, by)
	if err != nil {
		return err
	}
	u.want.Entries = recordEntries(e, ctx, u.Id)
	p, err := plan.PlanUndo(ctx, t, u.want, reads{e.Broker})
	if err == nil {
		u.Undo = p
	}
	return err
}

func (u *recordUndo) look(ctx context.Context, e *shell.Env, t *model.Topology, by *looking) (err error) {
	record := u.want.Record
	if by == nil {
		return nil
	}
	if !record.Running && record.Uncertain() > 0 { // messages held by its program are not back at once
		err = e.Broker.AwaitGone(ctx, &record, e.Source.Connections)
	}
	if err == nil {
		err = by.affords(t, record.From)
	}
	if err != nil {
		return err
	}

	u.want, err = plan.UndoWant{
		Record:   record,
		User:     e.Broker.User(),
		Broker:   e.Broker.Address(),
		Insist:   by.insist,
		ReadOnly: e.ReadOnly,
		Entries:  recordEntries(e, ctx, record.ID),
	}.Looked(ctx, t, reads{e.Broker})
	return err
}

// reads is the broker, which has as long to count as a screen waits for it.
type reads struct{ shell.Broker }

func (r reads) Count(ctx context.Context, refs []model.QueueRef) (model.CountsByQueue, error) {
	ctx, cancel := context.WithTimeout(ctx, shell.CountTimeout)
	defer cancel()
	return r.Broker.Count(ctx, refs)
}

// recordsToUndo returns the records of the action that ends with this one; 0 is the last one on the broker of this
// cluster of which something can be undone.
func recordsToUndo(ctx context.Context, e *shell.Env, cluster string, id int64) ([]plan.Record, error) {
	if id > 0 {
		return resume.Whole(ctx, e.Journal, id)
	}
	records, err := e.Journal.Records(ctx, shownRecords)
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		done := r.Account.Moved + r.Account.Dropped + r.Uncertain()
		kind := r.Operation != plan.Undo && r.Operation != plan.Import && r.Operation != plan.Rescue
		if kind && r.On(e.Broker.Address(), cluster) && done > r.Undone {
			return resume.Whole(ctx, e.Journal, r.ID)
		}
	}

	return nil, errors.New("no action on this broker can be undone")
}

func recordEntries(e *shell.Env, ctx context.Context, id int64) func(plan.VisitEntry) error {
	return func(each plan.VisitEntry) error { return e.Journal.Entries(ctx, id, each) }
}

func (u Undoing) action() action.Action {
	return action.Of(model.Mapped(u, func(one *recordUndo) *action.Undo { return &action.Undo{UndoPlan: one.Undo} })...)
}

func (u Undoing) options(e *shell.Env, o *shell.Offer) {
	if len(u) == 1 && u[0].Undo.Gone() == plan.GoneEither {
		o.Insists = press.Insist.Help().Desc
	}
}

func (u Undoing) noteDone(e *shell.Env, a *plan.Account) {
	e.ActTogether()
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
