package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
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
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/ports"
)

// consent is what a command that changes the broker may do without asking.
type consent struct {
	dryRun, agreed, insist bool
	reason                 string
	output                 format
}

// register adds the flags. dryRun and insist describe two of them.
func (c *consent) register(cmd *cobra.Command, dryRun, insist string) {
	cmd.Flags().BoolVar(&c.dryRun, "dry-run", false, dryRun)
	cmd.Flags().BoolVar(&c.agreed, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&c.insist, "insist", false, insist)
	cmd.Flags().StringVar(&c.reason, "reason", "", "why, for the journal")
	c.output.register(cmd)
}

// allowed resolves the connection, and refuses what cannot succeed before anything is read. what is the command as the
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

type doing struct {
	consent
	plan    func(*model.Topology) (report.Planned, error)
	ask     question
	nothing bool // no message is selected
	follow  bool // watch afterwards whether it worked
	run     func(ctx context.Context, planned report.Planned, progress func(plan.Account)) (plan.Account, error)
}

// do makes a plan and shows it, or asks, runs it and shows the account, even if interrupted. Its error is a refusal,
// that nothing was done, or the exit status of an incomplete account.
func (p *Program) do(ctx context.Context, s *session, t *model.Topology, d doing) error {
	planned, err := d.plan(t)
	if err != nil {
		return err
	}
	if d.dryRun {
		err := p.report().ShowPlan(planned)
		if why := planned.Refusal(); err == nil && why.Refused() {
			return refused("it would be refused: %s", refusal(why))
		}
		return err
	}
	if why := planned.Refusal(); why.Refused() {
		p.report().Warn(planned.Plan.Warnings) // a user who may insist must know them
		return refused("%s", refusal(why))
	}
	if d.nothing {
		p.say("no message matches: nothing was changed")
		return p.showAccount(planned, plan.Account{Operation: planned.Plan.Operation, From: planned.Plan.From})
	}
	d.ask.production = s.connection.Production
	if s.journal != nil {
		d.ask.reason = &d.reason
	}
	if planned, err = p.agree(ctx, s, planned, &d); err != nil {
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
		sequel, err := s.broker.Follow(ctx, f, func(now plan.Sequel) { line.draw(now.Words(time.Now())) })
		if line.stop(); err != nil {
			p.say("whether the replay worked is not known: %v", err)
		}
		planned.Sequel = &sequel
	}
	return p.showAccount(planned, account)
}

// arrived is how many messages have come into a queue while an action on earlier messages was agreed to and ran; also 0
// when that is unknown.
func (s *session) arrived(planned report.Planned, account *plan.Account) int64 {
	if planned.Looked.Frozen.At.IsZero() {
		return 0
	}
	out, known := account.Out().Get()
	if declare, _ := planned.Topology.Countable(planned.Plan.From); !known || !declare {
		return 0
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience) // an interrupted action has arrivals, too
	defer cancel()
	ready, known := ports.CountSettled(ctx, s.broker, planned.Plan.From).Get()
	if !known {
		return 0
	}
	return planned.Looked.Frozen.Arrived(ready, out)
}

func (p *Program) report() report.Printer { return report.Printer{Out: p.Out, Say: p.say} }

// showAccount shows what happened to the messages. An incomplete account is an exit status.
func (p *Program) showAccount(planned report.Planned, account plan.Account) error {
	err := p.report().ShowAccount(planned, account)
	if s := planned.Sequel; err == nil && (!account.Complete() || s != nil && (s.Back > 0 || s.Taken < s.Sent)) {
		return &exit{status: ExitRefused}
	}
	return err
}

// agree asks the user to agree to a plan, unless yes already does, and then makes it again from the current topology:
// meanwhile a queue may have been bound, or deleted. The returned plan promises what was agreed to. Differences are
// shown and asked about again; without a terminal they are refused.
func (p *Program) agree(ctx context.Context, s *session, planned report.Planned, d *doing) (report.Planned, error) {
	p.report().Announce(planned)
	for {
		if !d.agreed {
			d.ask.messages = planned.Plan.Planned
			if err := p.ask(ctx, d.ask); err != nil {
				return planned, err
			}
		}
		t, err := s.reread(ctx)
		if err != nil {
			return planned, err
		}
		now, err := d.plan(t)
		if err != nil {
			return planned, err
		}
		was, is := planned.Promise(), now.Promise()
		changes := was.Changes(&is)
		switch why := now.Refusal(); {
		case why.Refused() && !is.Refusal.Refused():
			return planned, refused("the plan is no longer valid: %s; nothing was changed", refusal(why))
		case len(changes) == 0:
			return now, nil
		case d.agreed || is.Refusal.Refused():
			words := withInsist(plan.ChangesWords(changes), now.Plan.Refusal)
			return planned, refused("the plan is no longer valid: %s; nothing was changed", words)
		}
		for i := range changes {
			p.say("changed since you were asked: %s", model.Printable(changes[i].Words()))
		}
		planned = now
		p.report().Announce(planned)
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

// question is what a user is asked to agree to: "drop 3 messages of orders.failed".
type question struct {
	does       string
	messages   int
	where      string // "of", "into"
	queue      model.QueueRef
	production bool
	reason     *string // why, for the journal; nil: it is not recorded
}

// ask asks the user to agree: with a yes, or with the number of messages if there are many, or on a production system.
// There it then asks for a reason, unless one was given.
func (p *Program) ask(ctx context.Context, q question) error {
	fmt.Fprintf(p.Err, "%s %s %s %s", q.does, model.Plural(q.messages, "message"), q.where,
		model.Printable(q.queue.String()))
	careful := q.production || q.messages > manyMessages
	if careful {
		fmt.Fprintf(p.Err, ": to go on, type %s: ", model.Count(q.messages))
	} else {
		fmt.Fprint(p.Err, "? [y/N] ")
	}
	answer, err := readLine(ctx, p.In)
	if err != nil {
		fmt.Fprintln(p.Err)
		return err
	}
	word := strings.TrimSpace(answer)
	switch {
	case careful && strings.ReplaceAll(word, ",", "") == strconv.Itoa(q.messages),
		!careful && (strings.EqualFold(word, "y") || strings.EqualFold(word, "yes")):
		return p.askReason(ctx, &q)
	case careful && word != "":
		return refused("nothing was changed: you typed %s, not %s", model.Printable(word), model.Count(q.messages))
	}
	return refused("not agreed: nothing was changed")
}

func (p *Program) askReason(ctx context.Context, q *question) (err error) {
	if !q.production || q.reason == nil || *q.reason != "" {
		return nil
	}
	fmt.Fprint(p.Err, "why (the journal keeps it with your name): ")
	*q.reason, err = readLine(ctx, p.In)
	if err == nil && strings.TrimSpace(*q.reason) == "" {
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

// progress is one line on a terminal that shows the progress of an execution. Elsewhere, and on a terminal that cannot
// erase a line, it only says why it waits, once for each reason.
type progress struct {
	mu       sync.Mutex // show is called from another goroutine
	out      io.Writer
	terminal bool
	shown    bool
	ended    bool
	waiting  string // the last reason shown
}

func (p *Program) progress() *progress {
	return &progress{out: p.Err, terminal: print.IsTerminal(p.Err) && !p.dumb()}
}

func (p *progress) show(account plan.Account) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	words := model.Count(account.Done()) + " of " + model.Count(account.Planned)
	if !p.terminal {
		if account.Waiting != "" && account.Waiting != p.waiting {
			fmt.Fprintf(p.out, "waits at %s: %s\n", words, model.Printable(account.Waiting))
			p.waiting = account.Waiting
		}
		return
	}
	switch {
	case account.Waiting != "":
		words += "   waits: " + model.Printable(account.Waiting)
	case account.Canary.Phase != "":
		words += "   " + report.CanaryWords(&account) + account.Canary.Left(time.Now())
	}
	p.draw(words)
}

// draw shows words on a terminal.
func (p *progress) draw(words string) {
	if !p.terminal {
		return
	}
	p.shown = true
	fmt.Fprintf(p.out, "\r\x1b[K%s", print.Shortened(words, 78))
}

func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

// stop erases the line for good.
func (p *progress) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.clear()
}
