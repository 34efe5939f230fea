package ui

import (
	"context"
	"errors"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/ports"
)

// replan makes the plan: it reads the journal, and looks into the queue when it is not certain what is there.
func (u *undoScreen) replan() tea.Cmd {
	e, id, insist := u.env, u.id, u.insist
	u.state = dialogPlanning
	return planning(&u.dialog, u.topology, func(ctx context.Context, t *model.Topology) (undoing, error) {
		record, err := recordToUndo(ctx, e, t.Snapshot.Overview.ClusterName, id)
		if err == nil && !record.Running && record.Uncertain() > 0 { // what its program held is not back at once
			err = e.broker.AwaitGone(ctx, &record, e.source.Connections, record.Queues()...)
		}
		if err != nil {
			return undoing{want: plan.UndoWant{Record: record}}, err
		}
		want, err := plan.UndoWant{
			Record: record, User: e.broker.User(), Broker: e.broker.Address(), Insist: insist, ReadOnly: e.readOnly,
			Entries: e.entries(ctx, record.ID),
		}.Looked(t, undoReads(ctx, e.broker, e.broker))
		if err != nil {
			return undoing{want: want}, err
		}
		p, err := plan.PlanUndo(t, want, undoReads(ctx, e.broker, e.broker))
		return undoing{want, p}, err
	})
}

// check makes the plan again when it was agreed to.
func (u *undoScreen) check() tea.Cmd {
	e, want := u.env, u.want
	return checking(&u.dialog, func(ctx context.Context, t *model.Topology) (undoing, error) {
		want.Entries = e.entries(ctx, want.Record.ID)
		p, err := plan.PlanUndo(t, want, undoReads(ctx, e.broker, e.broker))
		return undoing{want, p}, err
	})
}

// undoReads is how an undo is planned from the broker.
func undoReads(ctx context.Context, looker ports.Looker, counter ports.Counter) plan.UndoReads {
	return plan.UndoReads{
		Look: func(look peek.Plan, each func(*message.Message) error) (string, error) {
			read, err := looker.Read(ctx, look, each)
			return read.Stopped, err
		},
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

// entries reads the entries of a record.
func (e *env) entries(ctx context.Context, id int64) func(func(*plan.Entry) error) error {
	return func(each func(*plan.Entry) error) error { return e.journal.Entries(ctx, id, each) }
}
