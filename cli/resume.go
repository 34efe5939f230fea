package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dlxtop/dlxtop/cli/report"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/loss"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/resume"
)

// resuming is a resume as the command line asks for it.
type resuming struct {
	id        int64
	undecided string
	consent
}

func (p *Program) journalResumeCommand(flags *connectionFlags) *cobra.Command {
	r := &resuming{}
	cmd := &cobra.Command{
		Use:     "resume ID",
		Short:   "Continue an action that did not finish",
		Example: "dlxtop journal resume 42 --dry-run\ndlxtop journal resume 42",
		Long: `Continue an action whose program was killed, or that ended early: a replay, a move, a drop, an
import or an undo. It first looks for the messages whose outcome is unknown, in the queue that they
come from and where they were sent. It acknowledges those that have arrived, sends those that were
not sent, and then does the rest of the plan: each message once, and only to the queues that the
first run would have reached.

It lists messages that it cannot decide: the message is in its queue, and a consumer may have taken
its copy. --undecided publish publishes these again (they may be there twice); --undecided leave
leaves them in their queue, and they count as done. Without either they stay unknown, and the exit
status is 1.`,
		Args: arguments("the ID of a record"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if r.id, err = recordID(args[0]); err != nil {
				return err
			}
			switch resume.Choice(r.undecided) {
			case "", resume.PublishAgain, resume.LeaveThem:
				return p.resume(cmd.Context(), flags, r)
			}
			return usage("--undecided %s: it is publish or leave", model.Printable(r.undecided))
		},
	}
	cmd.Flags().
		StringVar(&r.undecided, "undecided", "", "publish or leave: what to do with messages that cannot be decided")
	r.consent.register(cmd, "look, show what would happen, and change nothing",
		"override a refusal, where possible")
	return cmd
}

func (p *Program) resume(ctx context.Context, flags *connectionFlags, r *resuming) error {
	s, err := p.openRecords(flags, &r.consent, "a resume")
	if err != nil {
		return err
	}
	defer s.close()
	want, err := s.resumeWant(ctx, r)
	if err != nil {
		return err
	}
	last := want.Chain[len(want.Chain)-1]
	if last.ID != r.id {
		p.say("%d was resumed as %d: this resumes that one", r.id, last.ID)
	}
	t, err := s.settledTopology(ctx, &last)
	if err == nil {
		want.Counts, err = s.counts(ctx, loss.Limited(t, last.Queues()))
	}
	if err != nil {
		return err
	}
	inquiry, err := resume.Inquire(t, want)
	if err != nil {
		return err
	}
	choice := want.Choice
	found, err := inquiry.Plan(choice)
	if err != nil {
		return err
	}
	p.report().Found(&found)
	if !r.dryRun && !r.agreed && !found.Refusal.Refused() && len(found.Undecided) > 0 {
		if choice, err = p.choose(ctx); err == nil {
			found, err = inquiry.Plan(choice)
		}
		if err != nil {
			return err
		}
	}
	var record int64 // that the resume writes
	again := func(now *model.Topology) (_ report.Planned, err error) {
		counts, err := s.counts(ctx, loss.Limited(now, last.Queues()))
		if err != nil {
			return report.Planned{}, err
		}
		t, inquiry = now, inquiry.On(now, counts)
		found, err = inquiry.Plan(choice)
		return report.OfResume(&found, r.output.json()), err
	}
	err = p.do(ctx, s, doing{
		consent: r.consent, planned: report.OfResume(&found, r.output.json()), again: again,
		ask: question{does: "go on: " + string(last.Operation), where: "of", queue: last.From},
		run: func(ctx context.Context, _ report.Planned, progress func(plan.Account)) (plan.Account, error) {
			account, err := s.broker.Resume(ctx, found.On(t, want), progress)
			record = account.JournalID
			return account, err
		},
	})
	if err != nil || r.dryRun || len(found.Undecided) == 0 {
		return err
	}
	p.say("%s undecided: `dlxtop journal resume %d` takes --undecided publish, or leave",
		model.Plural(len(found.Undecided), "message"), record)
	return &exit{status: ExitRefused}
}

// resumeWant is what a resume is planned from.
func (s *session) resumeWant(ctx context.Context, r *resuming) (resume.Want, error) {
	chain, err := s.journal.Chain(ctx, r.id)
	return resume.Want{
		Chain: chain, User: s.broker.User(), Broker: s.broker.Address(),
		Insist: r.insist, ReadOnly: s.connection.ReadOnly, Choice: resume.Choice(r.undecided),
		Record:  func(id int64) (plan.Record, error) { return s.journal.Record(ctx, id) },
		Entries: func(id int64, each func(*plan.Entry) error) error { return s.journal.Entries(ctx, id, each) },
		Look: func(look peek.Plan, each func(*message.Message) error) (string, error) {
			read, err := s.broker.Read(ctx, look, each)
			s.tellRescued(read.Rescued)
			return read.Stopped, err
		},
		File: func(path string, each func(*message.Message) error) error {
			return s.program.readMessages(ctx, path, each)
		},
	}, err
}

// settledTopology reads the broker when it has noticed that the program of a record is gone: what that held is back
// then.
func (s *session) settledTopology(ctx context.Context, r *plan.Record) (*model.Topology, error) {
	if !r.Running && (r.Early() || r.Uncertain() > 0) {
		if err := s.broker.AwaitGone(ctx, r, s.source.Connections, r.Queues()...); err != nil {
			return nil, err
		}
	}
	t, err := s.topology(ctx)
	if err != nil {
		return nil, err
	}
	return t, s.checkCluster(ctx, r.From.VHost, t.Snapshot.Overview)
}

// choose asks what to do with undecided messages.
func (p *Program) choose(ctx context.Context) (resume.Choice, error) {
	fmt.Fprint(
		p.Err,
		"publish them again (they may be there twice), or leave them and count them as done? [publish/leave/neither] ",
	)
	answer, err := readLine(ctx, p.In)
	if err != nil {
		fmt.Fprintln(p.Err)
		return "", err
	}
	switch choice := resume.Choice(answer); choice {
	case resume.PublishAgain, resume.LeaveThem:
		return choice, nil
	}
	return "", nil
}
