package cli

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/muesli/cancelreader"
	"github.com/spf13/cobra"

	"github.com/dlxtop/dlxtop/cli/config"
	"github.com/dlxtop/dlxtop/cli/print"
	"github.com/dlxtop/dlxtop/cli/report"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/action"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
)

// consent is what a command that changes the broker may do without asking.
type consent struct {
	dryRun, agreed, insist bool
	once                   bool // it does not resume by itself
	reason                 string
	output                 format
}

// register adds the flags. dryRun and insist describe two of them.
func (c *consent) register(cmd *cobra.Command, dryRun, insist string) {
	set := cmd.Flags()
	set.BoolVar(&c.dryRun, "dry-run", false, dryRun)
	set.BoolVar(&c.agreed, "yes", false, "do not ask")
	set.BoolVar(&c.insist, "insist", false, insist)
	set.BoolVar(&c.once, "no-retry", false, "do not resume by itself when the connection or a queue's node is lost")
	set.StringVar(&c.reason, "reason", "", "why, for the journal")
	c.output.register(cmd)
}

// allowed resolves the connection, and refuses what cannot succeed before anything is read. what is the command as the
// subject of a sentence: "an undo".
func (p *Program) allowed(c *consent, what string) (config.Connection, error) {
	connection, err := p.flags.resolve(p.Env)
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

// steady is the broker that resumes actions by itself.
func (s *session) steady(c *consent) *action.Steady {
	by := &action.Steady{
		Broker: s.broker, Importer: s.broker, On: s.resuming(s.broker), Most: action.MostResumes, Settled: s.settledTopology,
		Watch: s.broker,
	}
	if c.once {
		by.Most = 0
	}

	return by
}

type doing struct {
	consent
	plan   func(*model.Topology) (action.Action, error)
	follow bool // watch afterwards whether it worked
}

// do makes a plan and shows it, or asks, runs it and shows the account, even if interrupted. Its error is a refusal,
// that nothing was done, or the exit status of an incomplete account.
func (s *session) do(ctx context.Context, t *model.Topology, d doing) (plan.Account, error) {
	var account plan.Account
	planned, err := d.plan(t)
	if err != nil {
		return account, err
	}

	says := s.report(d.output)
	outline := planned.Outline()
	if d.dryRun {
		err := says.ShowPlan(planned)
		switch {
		case err == nil && outline.Refusal.Refused():
			return account, refused("it would be refused: %s", refusal(outline.Refusal))
		case err == nil:
			err = leftOut(planned)
		}

		return account, err
	}

	if outline.Refusal.Refused() {
		says.Warn(planned) // a user who may insist must know them
		return account, refused("%s", refusal(outline.Refusal))
	}

	if !slices.ContainsFunc(action.Parts(planned), func(a action.Action) bool { return !action.Left(a) }) {
		s.note("no message matches: nothing was changed")
		account.Operation, account.From = outline.Operation, outline.From
		return account, s.showAccount(planned, &d, action.EndedOf(planned, account))
	}

	if planned, t, err = s.agree(ctx, planned, &d); err != nil {
		return account, err
	}
	progress := s.progress()
	by := s.steady(&d.consent)
	by.Planned = planned.Outline().Planned
	account, err = planned.Do(plan.WithReason(ctx, d.reason), by, progress.Show)
	progress.Stop()
	if err != nil {
		return account, err
	}

	ended := action.EndedOf(planned, account)
	s.await(ctx, t, planned, &ended, d.follow)
	return account, s.showAccount(planned, &d, ended)
}

// leftOut is the exit status of an action that leaves a queue out, or in which others hold what may match.
func leftOut(a action.Action) error {
	for _, part := range action.Parts(a) {
		if _, undo := part.(*action.Undo); !undo && action.Refusal(part).Refused() { // one may have nothing left
			return &exit{status: ExitRefused}
		}
		if others := action.SampleOf(part).Others; others.Hold {
			return refused("%s", others.Words())
		}
	}

	return nil
}

// await completes an account with what came into the queues meanwhile and, if wanted, with what becomes of a replay.
func (s *session) await(ctx context.Context, t *model.Topology, a action.Action, ended *action.Ended, follow bool) {
	line := s.progress()
	errs := s.awaitOn(ctx, t, a, ended, follow, line)
	line.Stop()

	for _, err := range errs {
		s.note("whether the replay worked is not known: %v", err)
	}
}

// awaitOn awaits all queues of an action at once.
func (s *session) awaitOn(
	ctx context.Context, t *model.Topology, a action.Action, ended *action.Ended, follow bool, line *report.Progress,
) []error {
	parts := action.Parts(a)[:len(ended.Parts)]
	errs := make([][]error, len(parts))
	var all sync.WaitGroup
	for i, part := range parts {
		all.Go(func() { errs[i] = s.awaitOn(ctx, t, part, &ended.Parts[i], follow, line) })
	}
	if all.Wait(); len(parts) > 0 {
		return slices.Concat(errs...)
	}

	ended.Arrived = s.arrived(t, action.SampleOf(a), &ended.Account)
	f, follows := a.Follow(t, &ended.Account)
	if !follow || !follows {
		return nil
	}

	sequel, err := s.broker.Follow(ctx, f, func(now plan.Sequel) { line.Draw(now.Words(time.Now())) })
	ended.Sequel = &sequel
	if err != nil {
		return []error{err}
	}
	return nil
}

// arrived returns how many messages have come into a queue while an action on earlier messages was agreed to and ran;
// also 0 when that is unknown.
func (s *session) arrived(t *model.Topology, looked action.Sample, account *plan.Account) int64 {
	if looked.Frozen.At.IsZero() {
		return 0
	}
	out, known := account.Out().Get()
	if declare, _ := t.Countable(account.From); !known || !declare {
		return 0
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience) // an interrupted action has arrivals, too
	defer cancel()
	ready, known := peek.CountSettled(ctx, s.broker, account.From).Get()
	if !known {
		return 0
	}

	return looked.Frozen.Arrived(ready, out)
}

func (p *Program) report(output format) report.Printer {
	return report.Printer{Out: p.Out, Say: p.note, JSON: output.json()}
}

// showAccount shows what happened to the messages. An incomplete account is an exit status.
func (p *Program) showAccount(a action.Action, d *doing, ended action.Ended) error {
	err := p.report(d.output).ShowAccount(a, ended)
	if err == nil && !ended.Worked() {
		err = &exit{status: ExitRefused}
	}
	return cmp.Or(err, leftOut(a))
}

// agree asks the user to agree to an action, unless yes already does, and then makes it again from the current
// topology: meanwhile a queue may have been bound, or deleted. The returned action promises what was agreed to.
// Differences are shown and asked about again; without a terminal they are refused.
func (s *session) agree(
	ctx context.Context, planned action.Action, d *doing,
) (action.Action, *model.Topology, error) {
	says := s.report(d.output)
	for {
		says.Announce(planned)
		if !d.agreed {
			if err := s.ask(ctx, planned, &d.reason); err != nil {
				return nil, nil, err
			}
		}

		t, err := s.reread(ctx)
		if err != nil {
			return nil, nil, err
		}
		now, err := d.plan(t)
		if err != nil {
			return nil, nil, err
		}

		was, is := planned.Promise(), now.Promise()
		changes := was.Changes(&is)
		if len(changes) == 0 {
			return now, t, nil
		}
		if d.agreed || is.Refusal.Refused() {
			words := report.WithInsist(plan.ChangesWords(changes), is.Refusal)
			return nil, nil, refused("the plan is no longer valid: %s; nothing was changed", words)
		}

		for i := range changes {
			s.note("changed since you were asked: %s", changes[i].Words())
		}
		planned = now
	}
}

// reread reads the broker once more. Missing parts were reported the first time.
func (s *session) reread(ctx context.Context) (*model.Topology, error) {
	snapshot, err := s.source.Current(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the topology again: %w; nothing was changed", s.explain(ctx, err))
	}
	return model.NewTopology(snapshot), nil
}

// manyMessages is the number from which a plain yes is too easy.
const manyMessages = 100

// ask asks the user to agree: with a yes, or with the number of messages if there are many, or on a production system.
// There it then asks for a reason, unless one was given.
func (s *session) ask(ctx context.Context, a action.Action, reason *string) error {
	production := s.connection.Production
	n := a.Outline().Planned
	careful := production || n > manyMessages
	fmt.Fprint(s.Err, a.Words().Asks)
	if careful {
		fmt.Fprintf(s.Err, ": to go on, type %s: ", model.Count(n))
	} else {
		fmt.Fprint(s.Err, "? [y/N] ")
	}

	answer, err := readLine(ctx, s.In)
	if err != nil {
		fmt.Fprintln(s.Err)
		return err
	}

	word := strings.TrimSpace(answer)
	switch {
	case careful && strings.ReplaceAll(word, ",", "") == strconv.Itoa(n),
		!careful && (strings.EqualFold(word, "y") || strings.EqualFold(word, "yes")):
		if production && s.journal != nil && *reason == "" {
			return s.askReason(ctx, reason)
		}
		return nil
	case careful && word != "":
		return refused("nothing was changed: you typed %v, not %v", word, n)
	}

	return refused("not agreed: nothing was changed")
}

func (p *Program) askReason(ctx context.Context, reason *string) (err error) {
	fmt.Fprint(p.Err, "why (the journal keeps it with your name): ")
	*reason, err = readLine(ctx, p.In)
	if err == nil && strings.TrimSpace(*reason) == "" {
		err = refused("nothing was changed: no reason was given")
	}

	return err
}

// readLine reads one line, until ctx ends. The end of the input is an empty line.
func readLine(ctx context.Context, in io.Reader) (string, error) {
	reader, err := cancelreader.NewReader(in)
	if err != nil {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	defer reader.Close()
	stop := context.AfterFunc(ctx, func() { reader.Cancel() })
	defer stop()
	line, err := bufio.NewReader(reader).ReadString('\n')
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil && err != io.EOF {
		return "", fmt.Errorf("read the answer: %w", err)
	}

	return strings.TrimRight(line, "\r\n"), nil
}

func (p *Program) progress() *report.Progress { return report.NewProgress(p.Err, p.dumb()) }
