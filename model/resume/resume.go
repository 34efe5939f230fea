package resume

import (
	"context"
	"slices"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/loss"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
)

// Undecided is a message whose copy may or may not have arrived.
type Undecided struct {
	Record    int64
	Position  int
	MessageID string
	Why       string // printable
}

// Choice is what to do with undecided messages.
type Choice string

// The choices. Without one they stay in their queue, and stay unknown.
const (
	PublishAgain Choice = "publish" // they are published again, and may exist twice
	LeaveThem    Choice = "leave"   // they stay in their queue, and count as done
)

// Plan is how a record is resumed: data that can be printed and shown before anything is done.
type Plan struct {
	Record    plan.Record    // the last of the records that resume each other
	Rest      plan.Plan      // what is executed, but for an import
	Resuming  *plan.Resuming // what comes first
	Import    *ImportPlan
	Undo      *plan.UndoPlan // for an undo: what it has not brought back, afterwards; nil: nothing
	Done      int            // messages that turned out to be done
	Unsent    int            // messages that turned out to be untouched: the rest includes them
	Undecided []Undecided
	Looked    []peek.Plan  // what was read to find that out
	Refusal   plan.Refusal // why it must not run, nil when it may
	// Unsettled: others hold messages of a queue, or it could not be read. A later look may decide more.
	Unsettled bool
}

// Unclear returns why a later look may decide more.
func (p *Plan) Unclear() string {
	if len(p.Undecided) > 0 {
		return p.Undecided[0].Why
	}
	return p.Refusal.Words()
}

// Run is a plan with what its execution needs besides: a plan is data, and these are not.
type Run struct {
	Plan
	Topology *model.Topology // the one that the plan was made from
	// File reads the messages of an import's file.
	File func(ctx context.Context, path string, each message.Visit) error
}

// RestOn returns the run of the rest.
func (r *Run) RestOn() plan.Run {
	run := r.Rest.On(r.Topology)
	run.Resuming = r.Resuming
	return run
}

// Acks returns how many messages have arrived and are acknowledged first.
func (p *Plan) Acks() int {
	if p.Resuming == nil {
		return 0
	}
	return len(p.Resuming.Acks)
}

// Known returns the account of the records with what was found out; arrived messages will be acknowledged first.
func (p *Plan) Known(a plan.Account) plan.Account {
	n := p.Done + p.Acks()
	a.Unknown, a.Arrived = max(a.Unknown-n-p.Unsent, 0), 0
	if a.Operation == plan.Drop {
		a.Dropped += n
	} else {
		a.Moved += n
	}

	return a
}

// Planned returns how many messages are published, or dropped, at most.
func (p *Plan) Planned() int {
	switch {
	case p.Import != nil:
		return p.Import.Planned
	case p.Undo != nil:
		return p.Undo.Planned()
	}

	return p.Rest.Planned
}

// Promise returns what a user agrees to with the plan.
func (p *Plan) Promise() plan.Promise {
	promise := p.Rest.Promise()
	if p.Undo != nil {
		promise = p.Undo.Promise()
	}
	promise.Messages, promise.Refusal = p.Planned(), p.Refusal
	return promise
}

type Want struct {
	// the record with all that resume each other, from the first one on
	Chain   []plan.Record
	Record  func(ctx context.Context, id int64) (plan.Record, error)
	Entries func(ctx context.Context, record int64, each plan.VisitEntry) error
	plan.Reads
	// File reads the messages of an import's file.
	File   func(ctx context.Context, path string, each message.Visit) error
	User   string // the connected user
	Broker string // the connected broker, as records name it
	Insist bool
	// ReadOnly: moving messages cannot be agreed to.
	ReadOnly bool
	// Counts are exact counts of queues that have a limit.
	Counts model.CountsByQueue
	Choice Choice // "": undecided messages stay as they are
}

// Journal has the records that a resume is about.
type Journal interface {
	Chain(ctx context.Context, id int64) ([]plan.Record, error)
	Record(ctx context.Context, id int64) (plan.Record, error)
	Entries(ctx context.Context, record int64, each plan.VisitEntry) error
	// Reserve keeps other programs from planning to resume a record. The error is a *plan.BeingResumed.
	Reserve(id int64) (release func(), err error)
}

// Broker is the connected one.
type Broker interface {
	plan.Reads
	User() string
	Address() string
}

// On is what a resume works with.
type On struct {
	Journal  Journal
	Broker   Broker
	File     func(ctx context.Context, path string, each message.Visit) error // as Want.File
	ReadOnly bool
}

// Inquire finds out about a record, or the last one that resumes it. settled returns the topology once the broker has
// noticed that the program of that last one is gone. No other program plans to resume it until release is called.
func (o *On) Inquire(
	ctx context.Context, id int64, insist bool, settled func(last *plan.Record) (*model.Topology, error),
) (q Inquiry, release func(), err error) {
	chain, err := o.Journal.Chain(ctx, id)
	if err != nil {
		return q, nil, err
	}
	want := Want{
		Chain:    chain,
		Record:   o.Journal.Record,
		Entries:  o.Journal.Entries,
		Reads:    o.Broker,
		File:     o.File,
		User:     o.Broker.User(),
		Broker:   o.Broker.Address(),
		Insist:   insist,
		ReadOnly: o.ReadOnly,
	}

	last := want.Last()
	release, err = o.Journal.Reserve(last.ID) // one that is refused must not have looked
	if err != nil {
		return q, nil, err
	}
	t, err := settled(last)
	if err == nil {
		q, err = inquire(ctx, t, want)
	}
	if err != nil {
		release()
	}

	return q, release, err
}

// Last returns the record that is continued.
func (w *Want) Last() *plan.Record { return &w.Chain[len(w.Chain)-1] }

// Inquiry is what was found out about a record: plans can be made from it without looking again.
type Inquiry struct {
	topology *model.Topology // of the last plan, or the look
	refusal  plan.Refusal
	// unsettled is Plan.Unsettled.
	unsettled bool
	found     *resumption // nil when refused
	want      Want
}

// Of finds out what happened to messages with unknown outcomes, and plans the rest of the record. An error comes from
// reading the journal or the source queue.
func Of(ctx context.Context, t *model.Topology, want Want) (Run, error) {
	inquiry, err := inquire(ctx, t, want)
	if err != nil {
		return Run{Plan: inquiry.empty()}, err
	}
	return inquiry.Plan(ctx, t, want.Choice)
}

// inquire finds out what happened to messages with unknown outcomes. An error comes from reading the journal or the
// source queue.
func inquire(ctx context.Context, t *model.Topology, want Want) (Inquiry, error) {
	last := want.Last()
	q := Inquiry{want: want}
	if err := q.turn(ctx, t); err != nil || q.refusal.Refused() {
		return q, err
	}

	want = q.want
	f := newResumption(t, &want)
	for r := range model.Each(want.Chain) {
		if err := want.Entries(ctx, r.ID, func(e *plan.Entry) error {
			f.note(r, e)
			return e.Readable(r.ID)
		}); err != nil {
			return q, err
		}
	}

	if len(f.pending) == 0 && !last.Early() {
		q.refusal = plan.Against("the %s %d came to its end: there is nothing to resume", last.Operation, last.ID)
		return q, nil
	}

	if slices.ContainsFunc(want.Chain, func(r plan.Record) bool { return r.OtherPrints }) {
		q.refusal = otherPrints(last)
		return q, nil
	}

	if err := f.find(ctx); err != nil {
		return q, err
	}

	q.unsettled = f.held || f.unsettled
	if f.held && !want.Insist {
		q.refusal = heldElsewhere(f.source)
		return q, nil
	}

	if last.Operation == plan.Undo {
		if err := f.findUndone(ctx, last.Undoes); err != nil {
			return q, err
		}
	}

	q.found = f
	return q, nil
}

// findUndone finds out which messages of an undo are in their queue already, where that is uncertain.
func (f *resumption) findUndone(ctx context.Context, id int64) error {
	record, err := f.want.Record(ctx, id)
	if err != nil {
		return err
	}
	f.undo, err = plan.UndoWant{
		Record:   record,
		User:     f.want.User,
		Broker:   f.want.Broker,
		Insist:   f.want.Insist,
		ReadOnly: f.want.ReadOnly,
		Counts:   f.want.Counts,
		Entries:  func(each plan.VisitEntry) error { return f.want.Entries(ctx, record.ID, each) },
	}.Looked(ctx, f.topology, notedReads{f.want.Reads, f})

	return err
}

// notedReads notes the looks of a resumption.
type notedReads struct {
	plan.Reads
	on *resumption
}

func (r notedReads) Read(ctx context.Context, look peek.Plan, each message.Visit) (peek.Read, error) {
	r.on.looked = append(r.on.looked, look)
	return r.Reads.Read(ctx, look, each)
}

// turn goes on to a topology, with exact counts of the queues that have a limit. It does not look for the messages.
func (q *Inquiry) turn(ctx context.Context, t *model.Topology) (err error) {
	q.topology, q.refusal = t, q.Barred(t)
	if limited := loss.Limited(t, q.want.Last().Queues()); !q.refusal.Refused() && len(limited) > 0 {
		q.want.Counts, err = q.want.Count(ctx, limited)
	}

	return err
}

func (q *Inquiry) empty() Plan {
	return Plan{Record: *q.want.Last(), Refusal: q.refusal, Unsettled: q.unsettled}
}

// Plan plans the rest, on a topology that may be newer. choice is what to do with undecided messages. An error comes
// from counting, or from reading the journal or an import's file.
func (q *Inquiry) Plan(ctx context.Context, t *model.Topology, choice Choice) (Run, error) {
	if t != q.topology && q.found != nil {
		if err := q.turn(ctx, t); err != nil {
			return Run{Plan: q.empty()}, err
		}
		want, found := q.want, *q.found
		found.topology, found.want, found.undo.Counts = t, &want, want.Counts
		q.found = &found
	}

	run := Run{Plan: q.empty(), Topology: q.topology, File: q.want.File}
	f, p := q.found, &run.Plan
	if f == nil || q.refusal.Refused() {
		return run, nil
	}
	p.Looked = f.looked
	d := f.decide(p, choice)
	switch p.Record.Operation {
	case plan.Import:
		err := d.restOfImport(ctx)
		return run, err
	case plan.Undo:
		if err := d.restOfUndo(); err != nil || p.Refusal.Refused() {
			return run, err
		}
	}

	p.Rest, p.Resuming = d.rest(), d.resuming
	p.Refusal = p.Rest.Refusal
	return run, nil
}

// restOfUndo plans what an undo has not brought back.
func (d *decision) restOfUndo() error {
	p, f := d.plan, d.resumption
	want := f.undo
	want.Found = d.back
	undo, err := plan.ForUndo(f.topology, want)
	if undo.Planned() > 0 {
		p.Undo, p.Refusal = &undo, undo.Refusal
	}

	return err
}

// queueOf returns the queue that a record's messages come from; for an undo and an import: the one that they go to.
func queueOf(r *plan.Record) model.QueueRef {
	if in := r.Intent; in != nil && in.Source.Name != "" {
		return in.Source
	}
	return r.From
}

// rest plans what is left of the record's plan.
func (d *decision) rest() plan.Plan {
	last, in := &d.plan.Record, d.intent
	if last.Operation == plan.Undo || in == nil || !last.Early() && d.plan.Unsent == 0 {
		return d.nothing()
	}
	selection := d.left(in)
	if selection.Fingerprints != nil && len(selection.Fingerprints) == 0 {
		return d.nothing()
	}

	options := in.Options
	options.Insist = in.Insist || d.want.Insist
	p := plan.New(d.topology, plan.ActionWant{
		Operation: last.Operation,
		From:      in.Source,
		Selection: selection,
		Planned:   d.planned(&selection),
		Mode:      in.Mode,
		Fixed:     in.Fixed,
		Canary:    in.Canary,
		User:      d.want.User,
		Options:   options,
		Journaled: true,
		Counts:    d.want.Counts,
	})

	if last.Operation != plan.Drop {
		p.Recipients = nil
		for _, r := range in.Recipients { // messages that would reach queues not agreed to are refused
			p.Recipients = append(p.Recipients, plan.RecipientOf(d.topology, r.Queue))
		}
	}

	return p
}

// nothing returns a plan without messages: only what was found out is recorded and acknowledged.
func (d *decision) nothing() plan.Plan {
	from := d.source
	if from.Name == "" {
		from = d.plan.Record.From
	}

	p := plan.Plan{
		Operation: d.plan.Record.Operation,
		From:      from,
		User:      d.want.User,
		Selection: plan.Nobody(),
		Acquire: peek.For(d.topology,
			from,
			peek.Want{Limit: max(len(d.resuming.Acks), 1), Insist: d.want.Insist, ForAction: true},
		),
	}

	if in := d.intent; in != nil {
		p.Target.Mode = in.Mode
		p.Target.Fixed = in.Fixed
		p.Recipients = in.Recipients
		p.Insist = in.Insist
		p.Mark = in.Mark
		p.MarkName = in.MarkName
	}

	p.Refusal = p.Acquire.Refusal
	return p
}

// left returns the part of the record's selection that is left to do.
func (d *decision) left(in *plan.Intent) plan.Selection {
	s := in.Selection
	s.Except = d.stay
	if s.Fingerprints != nil {
		chosen := message.Twins{}
		for fingerprint, n := range s.Fingerprints {
			if n -= d.originals[fingerprint]; n > 0 {
				chosen[fingerprint] = n
			}
		}
		s.Fingerprints = chosen
	}

	if s.Limit > 0 {
		if s.Limit -= d.acted; s.Limit <= 0 {
			return plan.Nobody()
		}
	}

	return s
}

// planned is about how many messages the rest has.
func (d *decision) planned(s *plan.Selection) int {
	n := max(int(d.resuming.Left)-len(d.resuming.Acks)-total(d.stay), 0)
	switch {
	case s.Fingerprints != nil:
		n = total(s.Fingerprints)
	case s.ByContent():
		n = max(d.planWas-d.acted, 0)
	}

	if s.Limit > 0 {
		n = min(n, s.Limit)
	}

	return n
}

// Found says what was found out, a sentence each.
func (p *Plan) Found() (said []string) {
	for _, part := range []struct {
		n     int
		words string
	}{
		{p.Done, "done already"},
		{p.Acks(), "arrived, with the original still there: acknowledged first"},
		{p.Unsent, "not sent: part of the rest"},
		{len(p.Undecided), "undecided"},
	} {
		if part.n > 0 {
			said = append(said, model.Sayf("%v message(s): %s", part.n, part.words))
		}
	}

	return append(said, model.Mapped(p.Looked, (*peek.Plan).Looked)...)
}
