package cli

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dlxtop/model"
)

// sampleSize is how many messages are looked at before everything in a queue is acted on: enough to name who would receive
// them. What the sample did not foresee is refused message by message, never sent.
const sampleSize = 1000

// action is a replay, a move or a drop, as the command line asks for it.
type action struct {
	operation              model.Operation
	queue                  string
	filter, id, to, rate   string
	limit                  int
	given                  func(flag string) bool
	dryRun, agreed, insist bool
	unmarked               bool
	canary                 bool
	canaryWait             time.Duration
	output                 format
}

func (p *Program) actCommand(operation model.Operation, flags *connectionFlags) *cobra.Command {
	a := &action{operation: operation}
	cmd := &cobra.Command{
		Use:               string(operation) + " QUEUE",
		Args:              arguments("a queue"),
		ValidArgsFunction: p.completeQueue(flags),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.queue = args[0]
			a.given = cmd.Flags().Changed
			return p.act(cmd.Context(), flags, a)
		},
	}
	const statuses = `--filter takes an expression, for example
  failure contains "smtp" and deaths >= 3
  json.user.id == 121 or headers["x-tenant"] == "acme"
over body, json, headers, exchange, routing_key, message_id, correlation_id, content_type, type, app_id, priority, expiration,
size (bytes), deaths, reason, failure, failure_kind, failure_message, redelivered, age (seconds) and position.

Without a selection it is everything that is in the queue at the start. Exit status 1 when a message was refused, returned or
gone, or when its outcome is unknown: it is then still in the queue; 3 on a read-only connection.`
	cmd.Flags().StringVar(&a.filter, "filter", "", "only messages that match this expression")
	cmd.Flags().IntVar(&a.limit, "limit", 0, "this many messages at most, from the head of the queue on")
	cmd.Flags().StringVar(&a.id, "id", "", "only messages with this message_id")
	cmd.Flags().BoolVar(&a.dryRun, "dry-run", false, "say what would happen, and change nothing")
	cmd.Flags().BoolVar(&a.agreed, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&a.insist, "insist", false, "go on in spite of a refusal that can be overridden")
	a.output.register(cmd)
	flags.registerNoJournal(cmd)
	switch operation {
	case model.Drop:
		cmd.Short = "Take messages out of a queue, and keep them in the journal"
		cmd.Long = "Take messages out of a queue. The journal has them on disk before: `dlxtop journal undo` brings them back.\n\n" + statuses
		return cmd
	case model.Move:
		cmd.Use += " --to queue:NAME"
		cmd.Short = "Move messages to a queue of choice"
		cmd.Long = `Move messages to another queue of the same vhost: each is published there through the default exchange, as it is, and taken out of its
queue only after the broker has confirmed that the other one has it. What is removed: CC and BCC, which would copy it elsewhere, a user_id
that is not the connected user's, the counters of deliveries, and the expiration: a moved message does not vanish. The death history stays where
the other queue has no dead-letter exchange of its own. The journal has all of it: ` + "`dlxtop journal undo`" + ` brings them back.

` + statuses
		cmd.Flags().StringVar(&a.to, "to", "", "queue:NAME")
		a.registerPace(cmd)
		return cmd
	}
	cmd.Short = "Publish messages again, and take them out of the queue when the broker has confirmed it"
	cmd.Long = `Publish messages again; each is taken out of the queue only after the broker has confirmed that a queue has it. By default the
narrowest target is taken that keeps the routing key which the worker expects.

` + statuses
	cmd.Flags().StringVar(&a.to, "to", string(model.ToAuto), "auto, origin, queue:NAME or exchange:NAME/KEY")
	cmd.Flags().BoolVar(&a.unmarked, "no-mark", false, "do not add the header "+model.ReplayHeader+" (count and time), by which a message that comes back is recognised")
	a.registerPace(cmd)
	return cmd
}

// registerPace adds what says how fast, and how carefully, messages are published.
func (a *action) registerPace(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.canary, "canary", false, "one message first; when it is taken and does not come back, ten; then the rest. It stops when one comes back")
	cmd.Flags().DurationVar(&a.canaryWait, "canary-wait", model.DefaultCanaryWait, "how long a canary watches that what was taken does not come back")
	cmd.Flags().StringVar(&a.rate, "rate", "", "at most so many per second: 20/s (default: as fast as the broker confirms)")
}

// act does all that can be refused without a broker first, then plans, asks and executes.
func (p *Program) act(ctx context.Context, flags *connectionFlags, a *action) error {
	want, err := a.want()
	if err != nil {
		return err
	}
	connection, err := flags.resolve(p.Env)
	if err != nil {
		return err
	}
	if !a.dryRun && connection.ReadOnly {
		return notAllowed("this connection is read-only: %s changes the broker (--dry-run shows what it would do)", a.operation)
	}
	if !a.dryRun && !a.agreed && !isTerminal(p.In) {
		return usage("%s changes the broker, and there is no terminal to ask on: add --yes, or look first with --dry-run", a.operation)
	}
	s, err := p.openConnection(connection)
	if err != nil {
		return err
	}
	defer s.close()
	if !a.dryRun {
		if err := s.checkJournal(ctx); err != nil {
			return err
		}
	}
	t, err := s.topology(ctx)
	if err != nil {
		return err
	}
	want.Journaled = s.journal != nil
	if want.From, err = s.findQueue(ctx, t, a.queue); err != nil {
		return err
	}
	looked, err := s.sample(ctx, t, &want)
	if err != nil {
		return err
	}
	want.User = s.broker.User()
	planned := plannedAction{t.Plan(want), looked, &a.output}
	if a.dryRun {
		return p.showPlan(planned)
	}
	if planned.plan.Refusal != "" {
		return refused("%s", model.Printable(planned.plan.Refusal))
	}
	if want.Planned == 0 && looked.complete {
		p.say("no message is chosen: nothing was changed")
		return p.showAccount(planned, model.Account{Operation: a.operation, From: want.From})
	}
	p.announce(planned)
	if !a.agreed {
		if err := p.ask(ctx, question{string(a.operation), planned.plan.Planned, "of", want.From, connection.Production}); err != nil {
			return err
		}
	}
	return p.execute(ctx, s, planned)
}

// want checks everything that the flags say.
func (a *action) want() (model.ActionWant, error) {
	want := model.ActionWant{Operation: a.operation, Insist: a.insist, Mark: !a.unmarked}
	want.Selection = model.Selection{MessageID: a.id, Limit: a.limit}
	// A variable that a script forgot to set must not select everything.
	if a.given("id") && a.id == "" {
		return want, usage("--id is empty: give a message_id, or leave the flag out for all messages")
	}
	if a.given("limit") && a.limit < 1 {
		return want, usage("--limit %d: a limit is at least 1", a.limit)
	}
	if a.given("filter") {
		filter, err := model.ParseExpression(a.filter)
		if err != nil {
			return want, usage("--filter: %s", oneLine(err))
		}
		want.Selection.Filter = filter
	}
	var err error
	if want.Mode, want.Fixed, err = model.ParseTarget(a.to); err != nil {
		return want, usage("--to: %s", oneLine(err))
	}
	if a.operation == model.Move && want.Mode != model.ToQueue {
		return want, usage("move goes to one queue: name it with --to queue:NAME")
	}
	switch {
	case a.given("canary-wait") && !a.canary:
		return want, usage("--canary-wait is how long a canary watches: add --canary")
	case a.canary && (a.canaryWait < time.Second || a.canaryWait > time.Hour):
		return want, usage("--canary-wait %s: between 1s and 1h", a.canaryWait)
	case a.canary:
		want.Canary = a.canaryWait
	}
	if a.rate != "" {
		rate, err := strconv.ParseFloat(strings.TrimSuffix(a.rate, "/s"), 64)
		if err != nil || !(rate > 0) || rate > 1e9 {
			return want, usage("--rate %s: a rate is a number of messages per second, like 20/s", model.Printable(a.rate))
		}
		want.Rate = rate
	}
	return want, nil
}

// oneLine is an error without the picture that a parser may have drawn.
func oneLine(err error) string {
	first, _, _ := strings.Cut(err.Error(), "\n")
	return model.Printable(first)
}

// look is what was looked at before an action.
type look struct {
	messages int
	depth    model.Opt[int64]
	complete bool // that was all there is
}

// sample looks at messages in order to say who would receive the chosen ones, and completes want with them. Messages that
// are chosen one by one are looked for in as much of the queue as one page holds.
func (s *session) sample(ctx context.Context, t *model.Topology, want *model.ActionWant) (look, error) {
	selection := want.Selection
	oneByOne := selection.Filter != nil || selection.MessageID != ""
	peek := model.PeekWant{Limit: sampleSize, Insist: want.Insist}
	switch {
	case oneByOne:
		peek.Limit = model.MaxPage
	case selection.Limit > 0:
		peek.Limit = min(selection.Limit, sampleSize)
	}
	peeked, err := s.peek(ctx, t, want.From, peek)
	if err != nil {
		return look{}, err
	}
	looked := look{messages: peeked.Messages.Len(), depth: peeked.Depth}
	depth := int(peeked.Depth.Or(int64(looked.messages)))
	looked.complete = peeked.Stopped == "" && looked.messages >= depth && looked.messages < peek.Limit

	picker := selection.Picker()
	picked := model.Part{Messages: peeked.Messages}
	for i := range peeked.Messages.Len() {
		m, err := peeked.Messages.At(i, 0)
		if err != nil {
			return look{}, err
		}
		if picker.Pick(&m) {
			picked.Indexes = append(picked.Indexes, i)
		}
	}
	want.Sample = picked
	looked.complete = looked.complete || picker.Done()
	want.Planned = picked.Len()
	if !oneByOne {
		want.Planned = depth
		if selection.Limit > 0 {
			want.Planned = min(selection.Limit, depth)
		}
		looked.complete = looked.complete || looked.messages >= want.Planned
	}
	return looked, nil
}

// plannedAction is a plan with what it stands on.
type plannedAction struct {
	plan   model.Plan
	looked look
	output *format
}

// execute runs the plan and gives the account, also of one that was interrupted. An error means that nothing was done.
func (p *Program) execute(ctx context.Context, s *session, planned plannedAction) error {
	progress := p.progress()
	account, err := s.broker.Execute(ctx, planned.plan, progress.show)
	progress.end()
	if err != nil {
		return err
	}
	return p.showAccount(planned, account)
}
