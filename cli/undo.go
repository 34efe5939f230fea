package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dlxtop/dlxtop/cli/report"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
)

// undoing is an undo as the command line asks for it.
type undoing struct {
	id int64
	consent
}

func (p *Program) journalUndoCommand(flags *connectionFlags) *cobra.Command {
	u := &undoing{}
	cmd := &cobra.Command{
		Use:     "undo ID",
		Short:   "Bring the messages of a record back to the queue that they came from",
		Example: "dlxtop journal undo 42 --dry-run\ndlxtop journal undo 42",
		Long: `Bring the messages of a record back to the queue that they came from: dropped ones from the journal,
replayed ones from where they were sent to, with everything that the replay removed. Messages that a
consumer has taken cannot be brought back. They go to the end of the queue, through the default exchange.
An undo is in the journal, too. Exit status 1 when not all of them could be brought back.`,
		Args: arguments("the ID of a record"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if u.id, err = recordID(args[0]); err != nil {
				return err
			}
			return p.undo(cmd.Context(), flags, u)
		},
	}
	u.consent.register(cmd, "show what would happen, and change nothing",
		"override a refusal, where possible")
	return cmd
}

func (p *Program) undo(ctx context.Context, flags *connectionFlags, u *undoing) error {
	s, err := p.openRecords(flags, &u.consent, "an undo")
	if err != nil {
		return err
	}
	defer s.close()
	record, err := s.journal.Record(ctx, u.id)
	if err != nil {
		return err
	}
	t, err := s.settledTopology(ctx, &record)
	if err != nil {
		return err
	}
	want, err := plan.UndoWant{
		Record: record, User: s.broker.User(), Broker: s.broker.Address(), Insist: u.insist,
		ReadOnly: s.connection.ReadOnly, Entries: s.entries(ctx, record.ID),
	}.Looked(t, s.undoReads(ctx))
	if err != nil {
		return err
	}
	planning := func(t *model.Topology) (report.Planned, error) {
		made, err := plan.PlanUndo(t, want, s.undoReads(ctx))
		return report.OfUndo(&made, u.output.json()), err
	}
	planned, err := planning(t)
	if err != nil {
		return err
	}
	return p.do(ctx, s, doing{
		consent: u.consent, planned: planned, again: planning,
		ask: question{does: "bring back", where: "into", queue: planned.Undo.Back},
		run: func(ctx context.Context, planned report.Planned, progress func(plan.Account)) (plan.Account, error) {
			return s.broker.Undo(ctx, *planned.Undo, progress)
		},
	})
}

func (s *session) entries(ctx context.Context, id int64) func(func(*plan.Entry) error) error {
	return func(each func(*plan.Entry) error) error { return s.journal.Entries(ctx, id, each) }
}

// undoReads is how an undo is planned from the broker.
func (s *session) undoReads(ctx context.Context) plan.UndoReads {
	return plan.UndoReads{
		Look: func(look peek.Plan, each func(*message.Message) error) (string, error) {
			read, err := s.broker.Read(ctx, look, each)
			s.tellRescued(read.Rescued)
			if err == nil && read.Stopped == "" {
				s.program.say("%s", look.Looked())
			}
			return read.Stopped, err
		},
		Count: func(refs []model.QueueRef) (map[model.QueueRef]model.QueueCounts, error) {
			return s.broker.Count(ctx, refs)
		},
	}
}
