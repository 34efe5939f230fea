package cli

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dlxtop/dlxtop/cli/planned"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/action"
	"github.com/dlxtop/dlxtop/model/mend"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/planfile"
	"github.com/dlxtop/dlxtop/model/target"
)

// taking is a replay, a move or a drop, as requested on the command line.
type taking struct {
	operation               plan.Operation
	queue, queues           string // one, or the pattern of several
	id, to, key, rate, stop string
	edit                    string
	limit                   int
	given                   func(flag string) bool
	selectionFlags
	consent
	plan.Options
	unmarked   bool
	follow     bool
	canary     bool
	canaryWait time.Duration
	over       time.Duration
	out        string         // the file that the plan is written into
	file       *planfile.File // the plan that is applied; nil for none
	found      planfile.Found // of its messages
}

func (p *Program) actCommand(operation plan.Operation) *cobra.Command {
	a := &taking{operation: operation}
	cmd := &cobra.Command{
		Use:               string(operation) + " QUEUE",
		GroupID:           toAct,
		Args:              a.arguments,
		ValidArgsFunction: p.completeQueue(),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.queue = strings.Join(args, "")
			a.given = cmd.Flags().Changed
			return p.act(cmd.Context(), a)
		},
	}

	const statuses = `--filter takes an expression, for example
  failure contains "smtp" and deaths >= 3
  json.user.id == 121 or headers["x-tenant"] == "acme"
over body, json, headers, exchange, routing_key, message_id, correlation_id, content_type, type, app_id,
priority, expiration, size (bytes), deaths, reason, failure, failure_kind, failure_message, redelivered,
age (seconds) and position. @NAME is the one that [filters] of the configuration file has under this name.

Without a selection it acts on all messages that are in the queue at the start; with --cause, on those that were read
before it asks: what comes later stays, and is counted in the end. Of a queue with more than 200,000 messages not all
are read, and it acts on those of the cause that it meets. Exit status 1 when a message was refused, returned or gone,
or its outcome is unknown: it is then still in the queue; also when nothing matches and others hold messages of the
queue; 3 on a read-only connection.`

	a.selectionFlags.register(cmd, p)
	set := cmd.Flags()
	set.StringVar(&a.queues, "queues", "", "instead of QUEUE: all failed queues with such names; `GLOB`, with * and ?")
	_ = cmd.RegisterFlagCompletionFunc("queues", p.onBroker("", queueNames))
	set.IntVar(&a.limit, "limit", 0, "at most this many messages, from the head of the queue; of several queues in all")
	set.StringVar(&a.id, "id", "", "only messages with this message_id")
	a.consent.register(cmd, "show what would happen, and change nothing",
		"override a refusal, where possible: the cost of a look, what a limit drops or a second failure loses")
	set.StringVar(&a.out, "plan-out", "",
		"write the plan into the new `FILE`, for dlxtop show and apply, and change nothing")
	p.flags.registerNoJournal(cmd)

	switch operation {
	case plan.Drop:
		cmd.Short = "Take messages out of a queue, and keep them in the journal"
		cmd.Example = "dlxtop drop orders@failed --filter 'age > 86400' --dry-run\ndlxtop drop orders@failed --id ord-4711"
		cmd.Long = "Take messages out of a queue. They are written to the journal first: `dlxtop journal undo` brings " +
			"them back.\n\n" + statuses
		return cmd
	case plan.Move:
		cmd.Use += " --to queue:NAME"
		cmd.Short = "Move messages to a queue of choice"
		cmd.Example = "dlxtop move orders@failed --to queue:orders.parked\n" +
			"dlxtop move orders@failed --to queue:orders.parked --filter 'deaths > 10' --yes"
		cmd.Long = `Move messages to another queue of the same vhost: each is published there through the default
exchange, as it is, and taken out of its queue only after the broker has confirmed that the other
one has it. It removes CC and BCC, which would copy the message elsewhere, a user_id that is not the
connected user's, the counters of deliveries, and the expiration, so that a moved message does not
expire. The death history stays where the other queue has no dead-letter exchange of its own. The
journal keeps all of it: ` + "`dlxtop journal undo`" + ` brings them back.

` + statuses

		set.StringVar(&a.to, "to", "", "queue:NAME")
		p.completeTarget(cmd)
		a.registerEdit(cmd)
		a.registerPace(cmd)
		return cmd
	}

	cmd.Short = "Publish messages again, and take them out of the queue when the broker has confirmed it"
	cmd.Example = "dlxtop replay orders@failed --cause 1f2e3d4c5b6a --canary\n" +
		`dlxtop replay orders@failed --filter 'failure contains "smtp"' --rate 50/s --dry-run`
	cmd.Long = `Publish messages again; each is taken out of the queue only after the broker has confirmed that a
queue has it. By default it goes to the narrowest target that keeps the routing key which the worker
expects, and where a message that fails again is not lost. The first of these that exists names the
worker: what a framework wrote into the message; x-death (the queue that rejected it last, or to
which its last delay led); the only queue that its first exchange and key reach; the flow; the
queue's name. If two disagree, or the worker is gone, nothing is replayed: the refusal names the
possible queues, for --to.

` + statuses

	set.StringVar(&a.to, "to", string(target.ToAuto), "auto, origin, queue:NAME or exchange:NAME/KEY")
	p.completeTarget(cmd, string(target.ToAuto), string(target.ToOrigin))
	set.StringVar(&a.key, "key", "", "routing key of --to exchange:NAME, where the name or the key holds a slash")
	set.BoolVar(&a.unmarked, "no-mark", false, "do not add the header "+message.ReplayHeader+
		" (count and time), which identifies a message that comes back")
	set.BoolVar(&a.KeepTries, "keep-tries", false,
		"keep the counters of tries that frameworks write: by default they are reset")
	a.registerFollow(cmd)
	set.BoolVar(&a.Doubles, "doubles", false, "replay also copies of what was replayed to the same queue: of one "+
		"selection, or from another failed queue, by this journal; by default they stay")
	a.registerEdit(cmd)
	a.registerPace(cmd)

	return cmd
}

// arguments checks that queues are named in one way.
func (a *taking) arguments(cmd *cobra.Command, args []string) error {
	switch {
	case !cmd.Flags().Changed("queues"):
		return arguments("a queue")(cmd, args)
	case a.queues == "":
		return usage("--queues is empty: give it a pattern, or name a queue")
	case a.out != "":
		return usage("--plan-out writes the plan of one queue: name it, without --queues")
	}
	return arguments()(cmd, args)
}

func (a *taking) registerFollow(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.follow, "follow", false,
		"watch whether it worked, for as long as a failure takes to come back; exit status 1 when some come back")
}

// registerEdit adds the flags that change messages on their way.
func (a *taking) registerEdit(cmd *cobra.Command) {
	registerKeepDelay(cmd, &a.KeepDelay)
	cmd.Flags().StringVar(&a.edit, "edit", "",
		"change each message by the jq `PROGRAM`: it gets {body, headers, properties, exchange, routing_key}")
}

func registerKeepDelay(cmd *cobra.Command, keep *bool) {
	cmd.Flags().BoolVar(keep, "keep-delay", false, "keep "+message.DeliveryTimeHeader+
		", by which quorum queues of RabbitMQ 4.4 and newer keep a message back")
}

// registerPace adds the flags for how fast, and how carefully, messages are published.
func (a *taking) registerPace(cmd *cobra.Command) {
	set := cmd.Flags()
	set.BoolVar(&a.canary, "canary", false,
		"one message first; when it is taken and does not come back, ten; then the rest. It stops when one comes back")
	set.DurationVar(&a.canaryWait, "canary-wait", 0, "how long a canary watches whether a message that was "+
		"taken comes back (default: as long as that takes through the retry buffers)")
	set.StringVar(&a.rate, "rate", "",
		"messages per second at most: 20/s (default: as fast as the broker confirms)")
	set.StringVar(&a.stop, "stop-when", "", "end a replay when this `SHARE` of what it sent failed again: 20%, or no "+
		"(default: 50% of more than 100 messages, where that is seen)")
	set.DurationVar(&a.over, "over", 0, "spread the messages over this time instead: 10m")
}

// act first checks everything that can be refused without a broker, then plans, asks and executes.
func (p *Program) act(ctx context.Context, a *taking) error {
	want, err := a.want(p)
	if err != nil {
		return err
	}
	connection, err := p.allowed(&a.consent, string(a.operation))
	if err != nil {
		return err
	}
	if a.file != nil {
		connection.VHost = want.From.VHost
	}
	s, err := p.openConnection(connection)
	if err != nil {
		return err
	}
	defer s.close()
	if !a.dryRun {
		if err := s.checkJournal(ctx, true); err != nil {
			return err
		}
	}

	t, err := s.topology(ctx)
	if err != nil {
		return err
	}
	want.Journaled, want.User = s.journal != nil, s.broker.User()
	from, err := s.sources(ctx, t, a)
	if err != nil {
		return err
	}
	sources, err := s.lookAt(ctx, t, from, want, a)
	if err != nil {
		return err
	}

	var first plan.Plan
	planning := func(t *model.Topology) (action.Action, error) {
		made, err := s.planAll(ctx, t, sources, a)
		if err == nil {
			first = made[0].Plan
		}
		return action.Of(made...), err
	}

	_, err = s.do(ctx, t, doing{consent: a.consent, plan: planning, follow: a.follow})
	if err != nil || a.out == "" {
		return err
	}
	by := planfile.File{By: want.User, Reason: a.reason, Broker: s.broker.Address()}
	if err = planned.Save(a.out, by, &first, t); err != nil {
		return refused("no plan was written: %w", err)
	}

	p.note("the plan is in %v: `dlxtop show` shows it, `dlxtop apply` does it", a.out)
	return nil
}

// want checks everything in the flags.
func (a *taking) want(p *Program) (want plan.ActionWant, err error) {
	if a.file != nil {
		want = a.file.Want()
		want.Insist = want.Insist || a.insist
		a.queue = want.From.Name
		return want, nil
	}

	want = plan.ActionWant{Operation: a.operation, Options: a.Options}
	want.Insist, want.Mark = a.insist, !a.unmarked

	if a.given("plan-out") && a.out == "" {
		return want, usage("--plan-out is empty: name a new file")
	}
	// A variable that a script forgot to set must not select everything.
	if a.given("id") && a.id == "" {
		return want, usage("--id is empty: give a message_id, or leave the flag out for all messages")
	}
	if a.given("limit") && a.limit < 1 {
		return want, usage("--limit %d: a limit is at least 1", a.limit)
	}
	if want.Selection, err = a.selection(p, a.given); err != nil {
		return want, err
	}
	want.Selection.MessageID = a.id
	want.Selection.Limit = a.limit
	if a.out != "" {
		a.dryRun = true
		if err = planned.Freeze(&want.Selection); err != nil {
			return want, err
		}
	}
	if a.given("to") && a.to == "" { // a variable that a script forgot to set
		return want, usage("--to is empty: give it a value, or leave it out")
	}

	key := model.Unknown[string]()
	if a.given("key") {
		key = model.Some(a.key)
	}
	if want.Mode, want.Fixed, err = target.Parse(a.to, key); err != nil {
		return want, usage("--to: %s", oneLine(err))
	}
	if a.given("edit") {
		if want.Mend, err = mend.Parse(a.edit); err != nil {
			return want, usage("--edit: %s", oneLine(err))
		}
	}

	if a.operation == plan.Move && want.Mode != target.ToQueue {
		return want, usage("move goes to one queue: name it with --to queue:NAME")
	}
	switch {
	case a.given("canary-wait") && !a.canary:
		return want, usage("--canary-wait is how long a canary watches: add --canary")
	case a.given("canary-wait") && (a.canaryWait < time.Second || a.canaryWait > time.Hour):
		return want, usage("--canary-wait %s: between 1s and 1h", a.canaryWait)
	case a.given("canary-wait"):
		want.Canary = a.canaryWait
	case a.canary:
		want.Canary = plan.CanaryAuto
	}

	switch {
	case a.given("over") && a.given("rate"):
		return want, usage("--over sets the rate by the number of messages: leave out --rate")
	case a.given("over") && (a.over < time.Second || a.over > plan.LongestSpread):
		return want, usage("--over %s: between 1s and %v", a.over.String(), plan.LongestSpread)
	case a.given("over"):
		want.Over = a.over
	}

	if a.stop == "no" {
		want.StopWhen = -1
	} else if a.given("stop-when") {
		share, err := strconv.ParseFloat(strings.TrimSuffix(a.stop, "%"), 64)
		if err != nil || !(share > 0 && share <= 100) {
			return want, usage("--stop-when %v: a share is like 20%%, above 0 and up to 100%%; no is none",
				a.stop)
		}
		want.StopWhen = share / 100
	}

	if a.given("rate") {
		rate, err := strconv.ParseFloat(strings.TrimSuffix(a.rate, "/s"), 64)
		if err != nil || !(rate >= leastRate) || rate > 1e9 {
			return want, usage("--rate %v: a rate is a number of messages per second, like 20/s, at least 1 a minute",
				a.rate)
		}
		want.Rate = rate
	}

	return want, nil
}

// leastRate is one message a minute: messages waiting for their turn are held, and RabbitMQ takes back what is held for
// long.
const leastRate = 1.0 / 60

// oneLine returns an error without a parser's drawing of the position.
func oneLine(err error) string {
	first, _, _ := strings.Cut(err.Error(), "\n")
	return first
}
