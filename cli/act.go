package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dlxtop/dlxtop/cli/report"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/action"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/mend"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/target"
)

// taking is a replay, a move or a drop, as requested on the command line.
type taking struct {
	operation         plan.Operation
	queue             string
	id, to, key, rate string
	edit              string
	limit             int
	given             func(flag string) bool
	selectionFlags
	consent
	plan.Options
	unmarked   bool
	follow     bool
	canary     bool
	canaryWait time.Duration
	over       time.Duration
}

func (p *Program) actCommand(operation plan.Operation, flags *connectionFlags) *cobra.Command {
	a := &taking{operation: operation}
	cmd := &cobra.Command{
		Use:               string(operation) + " QUEUE",
		GroupID:           toAct,
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
over body, json, headers, exchange, routing_key, message_id, correlation_id, content_type, type, app_id,
priority, expiration, size (bytes), deaths, reason, failure, failure_kind, failure_message, redelivered,
age (seconds) and position. @NAME is the one that [filters] of the configuration file has under this name.

Without a selection it acts on all messages that are in the queue at the start; with --cause, on those that were read
before it asks: what comes later stays, and is counted in the end. Of a queue with more than 200,000 messages not all
are read, and it acts on those of the cause that it meets. Exit status 1 when a message was refused, returned or gone,
or its outcome is unknown: it is then still in the queue; also when nothing matches and others hold messages of the
queue; 3 on a read-only connection.`

	a.selectionFlags.register(cmd, p, flags)
	set := cmd.Flags()
	set.IntVar(&a.limit, "limit", 0, "at most this many messages, from the head of the queue")
	set.StringVar(&a.id, "id", "", "only messages with this message_id")
	a.consent.register(cmd, "show what would happen, and change nothing",
		"override a refusal, where possible: the cost of a look, what a limit drops or a second failure loses")
	flags.registerNoJournal(cmd)

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
		p.completeTarget(cmd, flags)
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
	p.completeTarget(cmd, flags, string(target.ToAuto), string(target.ToOrigin))
	set.StringVar(&a.key, "key", "", "routing key of --to exchange:NAME, where the name or the key holds a slash")
	set.BoolVar(&a.unmarked, "no-mark", false, "do not add the header "+message.ReplayHeader+
		" (count and time), which identifies a message that comes back")
	set.BoolVar(&a.KeepTries, "keep-tries", false,
		"keep the counters of tries that frameworks write: by default they are reset")
	set.BoolVar(&a.follow, "follow", false,
		"watch whether it worked, for as long as a failure takes to come back; exit status 1 when some come back")
	set.BoolVar(&a.Doubles, "doubles", false, "replay also copies of what was replayed to the same queue: of one "+
		"selection, or from another failed queue, by this journal; by default they stay")
	a.registerEdit(cmd)
	a.registerPace(cmd)

	return cmd
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
	set.DurationVar(&a.over, "over", 0, "spread the messages over this time instead: 10m")
}

// act first checks everything that can be refused without a broker, then plans, asks and executes.
func (p *Program) act(ctx context.Context, flags *connectionFlags, a *taking) error {
	want, err := a.want(p)
	if err != nil {
		return err
	}
	connection, err := p.allowed(flags, &a.consent, string(a.operation))
	if err != nil {
		return err
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
	want.Journaled = s.journal != nil
	if want.From, err = s.findQueue(ctx, t, a.queue); err != nil {
		return err
	}
	if want.Mode == target.ToExchange && !a.given("key") {
		if want.Fixed, err = target.Split(t, want.From, want.Fixed.Exchange); err != nil {
			return usage("--to: %w", err)
		}
	}

	looked, err := s.sample(ctx, t, &want, a.consent)
	if err != nil {
		return err
	}

	nothing := want.Planned == 0 && looked.Complete
	if looked.Others, err = s.others(ctx, t, &want, looked); err != nil {
		return err
	}

	want.User = s.broker.User()
	planning := func(t *model.Topology) (action.Action, error) {
		made, err := s.plan(ctx, t, want)
		if err == nil && (a.dryRun || !a.agreed) {
			made.WarnOfRights(ctx, t, s.broker.MayWrite)
		}
		return &action.Messages{
			Run: made.On(t), NoJournal: s.journal == nil, Undo: "`dlxtop journal undo` undoes it",
		}, err
	}

	_, err = p.do(ctx, s, t, doing{
		consent: a.consent,
		plan:    planning,
		looked:  looked,
		nothing: nothing,
		follow:  a.follow,
	})

	return err
}

// want checks everything in the flags.
func (a *taking) want(p *Program) (want plan.ActionWant, err error) {
	want = plan.ActionWant{Operation: a.operation, Options: a.Options}
	want.Insist, want.Mark = a.insist, !a.unmarked

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
		return want, usage("--over %s: between 1s and %s", a.over, model.ShortDuration(plan.LongestSpread))
	case a.given("over"):
		want.Over = a.over
	}

	if a.given("rate") {
		rate, err := strconv.ParseFloat(strings.TrimSuffix(a.rate, "/s"), 64)
		if err != nil || !(rate >= leastRate) || rate > 1e9 {
			return want, usage("--rate %s: a rate is a number of messages per second, like 20/s, at least 1 a minute",
				model.Printable(a.rate))
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

// plan makes the plan of an action, with exact counts of the queues whose limits decide what is lost there.
func (s *session) plan(ctx context.Context, t *model.Topology, want plan.ActionWant) (plan.Plan, error) {
	if s.journal != nil && want.SparesDoubles() && want.Sample != nil {
		var err error
		if want.Sent, err = s.journal.Replayed(ctx, s.broker.Address(), t.Snapshot.Overview.ClusterName); err != nil {
			return plan.Plan{}, err
		}
	}

	p := plan.New(t, want)
	err := ctx.Err()
	if err != nil {
		return p, err // messages that were not tried would stay
	}
	if want.Counts, err = s.counts(ctx, p.Counted(t)); err != nil || want.Counts == nil {
		return p, err
	}

	return plan.New(t, want), nil
}

// counts counts queues exactly; nil when there are none.
func (s *session) counts(ctx context.Context, refs []model.QueueRef) (model.CountsByQueue, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	return s.broker.Count(ctx, refs)
}

// sampleSize is how many messages are peeked at before everything in a queue is acted on: enough to name who would
// receive them. A message that the sample did not foresee is refused one by one, never sent.
const sampleSize = 1000

// smallSample is how many messages a dry run peeks at where that counts towards a delivery limit, or an action that
// needs neither a question nor a sample: enough to name the usual recipients, and what is changed.
const smallSample = 100

// sample peeks at messages in order to say who would receive the selected ones, and completes want with them. Messages
// that are selected one by one are looked for in as much of the queue as a peek may read.
//
// In a script, an action that needs no sample uses a small one, and none where that is expensive: a quorum queue first
// delivers what an earlier look returned, and all of it must be taken to keep its order.
func (s *session) sample(
	ctx context.Context, t *model.Topology, want *plan.ActionWant, c consent,
) (report.Sample, error) {
	want.Selection.Filter = want.Selection.Filter.Within(ctx)
	want.Mend = want.Mend.Within(ctx, s.program.JQ)

	selection := want.Selection
	oneByOne := selection.ByContent()
	peeking := peek.Want{Limit: sampleSize, Insist: want.Insist, Decides: !c.dryRun}
	acquire := peek.For(t, want.From, peeking)

	unread := c.agreed && !c.dryRun && !want.NeedsLook()
	switch {
	case acquire.Counts && !want.NeedsLook(), unread && acquire.Type == model.Quorum:
		return s.withoutLook(ctx, t, want, acquire.Counts, !c.dryRun)
	case oneByOne:
		peeking.Limit = peek.MostLook
	case want.Mend != nil: // the number of changed messages is wanted for all
		peeking.Limit = peek.MostLook
		if selection.Limit > 0 {
			peeking.Limit = min(selection.Limit, peek.MostLook)
		}
	case selection.Limit > 0:
		peeking.Limit = min(selection.Limit, sampleSize)
	}

	if acquire.Counts && c.dryRun && !oneByOne || unread {
		peeking.Limit = min(peeking.Limit, smallSample)
	}

	peeked, err := s.peek(ctx, t, want.From, peeking)
	if err != nil {
		return report.Sample{}, err
	}
	peek.Note(t.Snapshot, &peeked)
	looked := report.Sample{Messages: peeked.Messages.Len(), Depth: peeked.Depth, Limit: peeked.Plan.Budget}
	if left, counts := peeked.LooksLeft(); counts {
		looked.Left = model.Some(left)
	}

	depth := int(peeked.Depth.Or(int64(looked.Messages)))
	looked.Complete = peeked.Stopped == "" && looked.Messages >= depth && looked.Messages < peeking.Limit

	picker := selection.Picker(want.From)
	chosen := message.Twins{}
	picked, err := pickOf(ctx, peeked.Messages, 0, picker, func(m *message.Message) {
		if selection.Cause != "" && looked.Cause == "" {
			looked.Cause = model.Printable(cause.Of(want.From, m).String())
		}
		chosen[m.Fingerprint]++
	})
	if err != nil {
		return report.Sample{}, err
	}
	want.Sample = picked
	looked.Complete = looked.Complete || picker.Done()
	want.Planned = picked.Len()
	if oneByOne && looked.Complete { // the user agrees to these, however long reading takes
		want.Selection.Fingerprints = chosen
		looked.Frozen = plan.Frozen{At: peeked.TakenAt, Depth: peeked.Depth}
	}

	if !oneByOne {
		want.Planned = depth
		if selection.Limit > 0 {
			want.Planned = min(selection.Limit, depth)
		}
		looked.Complete = looked.Complete || looked.Messages >= want.Planned
	}

	return looked, nil
}

// others returns what others do with a queue in which a look has found nothing to act on, or, by the statistics, hold
// beside what was selected.
func (s *session) others(
	ctx context.Context, t *model.Topology, want *plan.ActionWant, looked report.Sample,
) (plan.Others, error) {
	q, there := t.Queue(want.From)
	if !there || q.Type == model.Stream || !looked.Complete {
		return plan.Others{}, nil
	}
	if want.Planned > 0 {
		var beside plan.Others
		if want.Selection.ByContent() && q.Consumers.Or(0) > 0 {
			beside.Unacked = q.Unacked.Or(0)
		}
		if beside.Unacked > 0 {
			s.program.note("consumers hold up to %s of the queue (unacknowledged), which no look sees: those that match stay",
				model.Plural(beside.Unacked, "more message"))
		}

		return beside, nil
	}

	said := make(chan bool)
	timer := time.AfterFunc(soon, func() {
		s.program.note("nothing matches so far; it waits for up to 7 s until RabbitMQ has counted what others hold of %s",
			model.Printable(want.From.Name))
		close(said)
	})

	others, err := s.broker.Others(ctx, []plan.Left{{Queue: want.From, Type: q.Type, Ready: int64(looked.Messages)}})
	if !timer.Stop() {
		<-said
	}

	return others[want.From], err
}

// soon is when a wait is announced.
const soon = 500 * time.Millisecond

// withoutLook completes want with only the number of messages. decides: an action follows.
func (s *session) withoutLook(
	ctx context.Context, t *model.Topology, want *plan.ActionWant, costs, decides bool,
) (report.Sample, error) {
	counted, err := s.broker.CountInTurn(ctx, want.From, decides)
	depth := counted[want.From].Ready
	if _, there := counted[want.From]; err == nil && there && !depth.Known() {
		err = fmt.Errorf("count %s: %w", want.From.Printable(), model.ErrQueueSilent)
	}
	if err != nil {
		return report.Sample{}, err
	}
	want.Planned = int(depth.Or(0))
	if limit := want.Selection.Limit; limit > 0 {
		want.Planned = min(want.Planned, limit)
	}

	looked := report.Sample{Depth: depth, Complete: true, Saved: true, Counts: costs}
	if left, limit, _, told := peek.LooksLeftOf(t, want.From); told {
		looked.Left = model.Some(left)
		looked.Limit = limit
	}

	return looked, nil
}
