package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/dlxtop/dlxtop/cli/config"
	"github.com/dlxtop/dlxtop/cli/print"
	"github.com/dlxtop/dlxtop/cli/report"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/ports"
)

// consent is how far a command that changes the broker may go without asking.
type consent struct {
	dryRun, agreed, insist bool
	reason                 string
	output                 format
}

// register adds the flags. dryRun and insist are what two of them do.
func (c *consent) register(cmd *cobra.Command, dryRun, insist string) {
	cmd.Flags().BoolVar(&c.dryRun, "dry-run", false, dryRun)
	cmd.Flags().BoolVar(&c.agreed, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&c.insist, "insist", false, insist)
	cmd.Flags().StringVar(&c.reason, "reason", "", "why, for the journal")
	c.output.register(cmd)
}

// allowed resolves the connection, and refuses what cannot end well before anything is read. what is the command as the
// subject of a sentence: "an undo".
func (p *Program) allowed(flags *connectionFlags, c *consent, what string) (config.Connection, error) {
	connection, err := flags.resolve(p.Env)
	switch {
	case err != nil || c.dryRun:
		return connection, err
	case connection.ReadOnly:
		return connection, notAllowed("this connection is read-only: %s changes the broker (--dry-run shows what it "+
			"would do)", what)
	case !c.agreed && !print.IsTerminal(p.In):
		return connection, usage("%s changes the broker, and there is no terminal to ask on: add --yes, or look first "+
			"with --dry-run", what)
	}
	return connection, nil
}

// doing is a plan with what is asked before it runs, and how it runs.
type doing struct {
	consent
	planned report.Planned
	ask     question
	follow  bool // afterwards it is watched whether it worked
	// again makes the plan once more when it was agreed to, from the topology of now; nil: it is decided for good
	again func(*model.Topology) (report.Planned, error)
	run   func(ctx context.Context, planned report.Planned, progress func(plan.Account)) (plan.Account, error)
}

// do shows a plan, or asks, runs it and gives the account, also of one that was interrupted. Its error is a refusal,
// that nothing was done, or the exit status of an account that is not complete.
func (p *Program) do(ctx context.Context, s *session, d doing) error {
	planned := d.planned
	if d.dryRun {
		err := p.report().ShowPlan(planned)
		if why := planned.Refusal(); err == nil && why.Refused() {
			return refused("it would be refused: %s", refusal(why))
		}
		return err
	}
	if why := planned.Refusal(); why.Refused() {
		p.report().Warn(planned.Plan.Warnings) // who may insist has to know them
		return refused("%s", refusal(why))
	}
	d.ask.production = s.connection.Production
	if s.journal != nil {
		d.ask.reason = &d.reason
	}
	planned, err := p.agree(ctx, s, planned, d.ask, d.agreed, d.again)
	if err != nil {
		return err
	}
	progress := p.progress()
	account, err := d.run(plan.WithReason(ctx, d.reason), planned, progress.show)
	progress.stop()
	if err != nil {
		return err
	}
	planned.Arrived = s.arrived(planned, &account)
	var f plan.Following
	if d.follow {
		f, d.follow = planned.Plan.Follow(planned.Topology, &account)
	}
	if d.follow {
		line := p.progress()
		sequel, err := s.broker.Follow(ctx, f, func(now plan.Sequel) {
			if line.terminal {
				line.draw(now.Words(time.Now()))
			}
		})
		if line.stop(); err != nil {
			p.say("whether the replay worked is not known: %v", err)
		}
		planned.Sequel = &sequel
	}
	return p.showAccount(planned, account)
}

// arrived is how many messages have come into a queue while an action on messages that were read before was agreed to
// and ran; 0 also when that is unknown.
func (s *session) arrived(planned report.Planned, account *plan.Account) int64 {
	if planned.Looked.Frozen.At.IsZero() {
		return 0
	}
	out, known := account.Out().Get()
	if declare, _ := planned.Topology.Countable(planned.Plan.From); !known || !declare {
		return 0
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience) // an action that was interrupted has arrivals, too
	defer cancel()
	ready, known := ports.CountSettled(ctx, s.broker, planned.Plan.From).Get()
	if !known {
		return 0
	}
	return planned.Looked.Frozen.Arrived(ready, out)
}

func (p *Program) report() report.Printer { return report.Printer{Out: p.Out, Say: p.say} }

// showAccount gives what became of the messages. An account that is not complete is an exit status.
func (p *Program) showAccount(planned report.Planned, account plan.Account) error {
	err := p.report().ShowAccount(planned, account)
	if s := planned.Sequel; err == nil && (!account.Complete() || s != nil && (s.Back > 0 || s.Taken < s.Sent)) {
		return &exit{status: ExitRefused}
	}
	return err
}
