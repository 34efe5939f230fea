package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"dlxtop/model"
)

// undoing is an undo as the command line asks for it.
type undoing struct {
	id                     int64
	dryRun, agreed, insist bool
	output                 format
}

func (p *Program) journalUndoCommand(flags *connectionFlags) *cobra.Command {
	u := &undoing{}
	cmd := &cobra.Command{
		Use:   "undo ID",
		Short: "Bring the messages of a record back to the queue that they came from",
		Long: `Bring the messages of a record back to the queue that they came from: dropped ones from the journal, replayed ones from where they were
sent to, with everything that the replay took off. What a consumer has taken cannot be undone. They go to the end of the queue, through the
default exchange. An undo is in the journal, too. Exit status 1 when not all of it could be brought back.`,
		Args: arguments("the ID of a record"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if u.id, err = recordID(args[0]); err != nil {
				return err
			}
			return p.undo(cmd.Context(), flags, u)
		},
	}
	cmd.Flags().BoolVar(&u.dryRun, "dry-run", false, "say what would happen, and change nothing")
	cmd.Flags().BoolVar(&u.agreed, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&u.insist, "insist", false, "go on in spite of a refusal that can be overridden")
	u.output.register(cmd)
	return cmd
}

func (p *Program) undo(ctx context.Context, flags *connectionFlags, u *undoing) error {
	connection, err := flags.resolve(p.Env)
	if err != nil {
		return err
	}
	if !u.dryRun && connection.ReadOnly {
		return notAllowed("this connection is read-only: an undo changes the broker (--dry-run shows what it would do)")
	}
	if !u.dryRun && !u.agreed && !isTerminal(p.In) {
		return usage("an undo changes the broker, and there is no terminal to ask on: add --yes, or look first with --dry-run")
	}
	connection.VHost = "" // the record says which
	s, err := p.openConnection(connection)
	if err != nil {
		return err
	}
	defer s.close()
	if s.journal == nil {
		return usage("there is no journal here to undo from")
	}
	record, err := s.journal.Record(ctx, u.id)
	if err != nil {
		return err
	}
	t, err := s.topology(ctx)
	if err != nil {
		return err
	}
	if err := s.checkCluster(ctx, record.From.VHost, t.Snapshot.Overview); err != nil {
		return err
	}
	plan, err := s.planUndo(ctx, t, record, u.insist)
	if err != nil {
		return err
	}
	planned := undoAction(&plan, &u.output)
	if u.dryRun {
		return p.showPlan(planned)
	}
	if plan.Refusal != "" {
		return refused("%s", model.Printable(plan.Refusal))
	}
	p.announce(planned)
	if !u.agreed {
		if err := p.ask(ctx, question{"bring back", plan.Planned(), "into", plan.Back, connection.Production}); err != nil {
			return err
		}
	}
	progress := p.progress()
	account, err := s.broker.Undo(ctx, plan, s.entries(ctx, record.ID), progress.show)
	progress.end()
	if err != nil {
		return err
	}
	return p.showAccount(planned, account)
}

func (s *session) entries(ctx context.Context, id int64) func(func(*model.Entry) error) error {
	return func(each func(*model.Entry) error) error { return s.journal.Entries(ctx, id, each) }
}

// planUndo looks into the queue when it is not certain what is there already.
func (s *session) planUndo(ctx context.Context, t *model.Topology, r model.Record, insist bool) (model.UndoPlan, error) {
	want := model.UndoWant{Record: r, User: s.broker.User(), Broker: s.broker.Address(), Insist: insist, Entries: s.entries(ctx, r.ID)}
	plan, err := t.PlanUndo(want)
	if err != nil || plan.Uncertain == 0 {
		return plan, err
	}
	there := map[model.Fingerprint]int{}
	stopped, err := s.broker.Read(ctx, t.PlanPeek(r.From, model.PeekWant{Insist: insist, ForAction: true}), func(m *model.Message) error {
		there[m.Fingerprint]++
		return nil
	})
	switch {
	case err != nil && !insist:
		return plan, fmt.Errorf("look whether messages are there already: %w", err)
	case err != nil || stopped != "":
		return plan, nil
	}
	want.There = there
	return t.PlanUndo(want)
}

// undoAction is an undo as the words of other actions tell it.
func undoAction(plan *model.UndoPlan, output *format) plannedAction {
	a := plannedAction{
		plan: model.Plan{
			Operation: model.Undo, From: plan.Back, Planned: plan.Planned(), Refusal: plan.Refusal, Warnings: plan.Warnings,
			Recipients: []model.Recipient{{Queue: plan.Back}},
		},
		looked: look{complete: true}, output: output,
	}
	for i := range plan.Takes {
		take := &plan.Takes[i]
		a.plan.Warnings = append(a.plan.Warnings, fmt.Sprintf("%s sent to %s: brought back when no consumer has taken it", model.Plural(take.Planned, "message"), take.From))
	}
	for _, skip := range plan.Skips {
		a.plan.Warnings = append(a.plan.Warnings, fmt.Sprintf("not undone: %s %s", model.Plural(skip.Messages, "message"), skip.Why))
	}
	return a
}
