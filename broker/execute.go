package broker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
)

const (
	actionFirstPage = 250             // chosen messages are mostly near the head
	actionPage      = 4000            // messages taken ahead of publishing
	pageAtRate      = 5 * time.Minute // how long a page takes at a limited rate, at most
	progressEvery   = 100 * time.Millisecond
)

// operations are those that Execute can run.
var operations = []plan.Operation{plan.Replay, plan.Move, plan.Drop, plan.Undo}

// errUndelivered means that a leader has sent messages to a node that is out of sight.
var errUndelivered = errors.New("did not deliver all that it has")

// errCancelled ends an execution whose context was cancelled.
var errCancelled = errors.New("on request")

// Execute runs a plan. It acts on messages that were ready when it started, each at most once. Messages that arrive
// meanwhile, including those that it publishes into the queue itself, are left alone. An original is acknowledged only
// after its copy was confirmed and not returned; what is not acknowledged goes back in order. progress may be nil; it
// is called from another goroutine, about ten times a second and once at the end.
//
// An error means that nothing was done. What ends a running execution early, including a cancelled context, is in
// Account.Stopped.
func (c *Client) Execute(ctx context.Context, run plan.Run, progress plan.Progress) (plan.Account, error) {
	account, _, err := c.execute(ctx, run, progress)
	return account, err
}

// execute is Execute. left is the part of an undo's claim that was not found.
func (c *Client) execute(
	ctx context.Context, r plan.Run, progress plan.Progress,
) (account plan.Account, left plan.Claim, err error) {
	p := &r.Plan
	l := &ledger{began: time.Now(), account: plan.Account{Operation: p.Operation, From: p.From, Planned: p.Planned}}
	l.converts = r.Topology != nil && r.Topology.Behaviour.ConvertsAMQP10
	attempt := model.Sayf("%s %s", p.Operation, p.From)
	ofRecord := r.Undoing != nil || r.Resuming != nil

	switch {
	case p.Refusal.Refused():
		return l.copy(), left, fmt.Errorf("%s: %s", attempt, p.Refusal.Words())
	case !p.Acquire.Allowed():
		return l.copy(), left, fmt.Errorf("%s: %s", attempt, p.Acquire.Refusal.Words())
	case p.Operation == plan.Undo && !ofRecord, ofRecord && c.journal == nil,
		!slices.Contains(operations, p.Operation), !r.Routable(),
		p.Acquire.Method == peek.Stream, p.Acquire.Queue != p.From:
		return l.copy(), left, fmt.Errorf("%s: this plan cannot be executed", attempt)
	}

	if r.Resuming != nil {
		p.Acquire.Least = r.Resuming.Left
	}

	ctx = model.TellWaits(ctx, l.waitFor)
	reported := report(l, progress)
	defer reported()
	source, err := c.openSource(ctx, p.Acquire, true)
	if err != nil {
		return l.copy(), left, fmt.Errorf("%s: %w", attempt, err)
	}

	if p.Mark && p.MarkName == "" {
		p.MarkName = message.NewMark()
	}

	p.Mend = p.Mend.Within(ctx, c.jq)
	p.Selection.Filter = p.Selection.Filter.Within(ctx)
	x := &execution{
		asked:    ctx,
		client:   c,
		run:      &r,
		plan:     p,
		source:   source,
		ledger:   l,
		left:     source.depth,
		outcome:  plan.Dropped,
		guard:    c.guardOf(&r, l),
		staying:  message.Twins{},
		released: &plan.Released{Mark: p.MarkName},
	}

	l.note(func(a *plan.Account) { a.Mark, a.Depth = p.MarkName, source.depth })
	if p.Operation.Publishes() {
		x.outcome = plan.Moved
	}
	if p.Canary != nil {
		x.canary = &canary{execution: x, plan: p.Canary, goOn: r.GoOn}
	}

	if err := x.work(ctx); err != nil {
		_ = source.release()
		c.lookEnds(source)
		return l.copy(), left, err
	}

	reported()
	l.account.Released = x.released
	account = l.copy()
	if progress != nil {
		progress(account)
	}
	if x.retrieval != nil {
		left = x.retrieval.Left()
	}

	return account, left, nil
}

// execution is a plan while it runs. One goroutine takes messages, page by page; another journals what will be done
// with the chosen ones; a third publishes them; the window settles them when their confirms arrive; the acknowledger
// removes settled ones from the queue. So nothing is published or acknowledged before it is on disk, and only the
// journal's goroutine waits for the disk, ahead of the publishing. With a canary all of this happens in stages, and
// nothing is held between them.
type execution struct {
	asked  context.Context // the caller's: its cause may say why it ends
	client *Client
	run    *plan.Run
	plan   *plan.Plan // of the run
	source *source
	ledger *ledger
	picker *plan.Picker
	window *window // nil for a drop
	acks   *acknowledger
	canary *canary // nil without one
	// what was published so far; its owner is the goroutine that writes the journal, and between stages the canary
	released *plan.Released
	guard    *guard // nil when no relevant change is possible
	// finds copies of replayed messages; nil: they are replayed, too
	doubling *plan.Doubling
	// for an undo that takes messages back, once they are granted to it; otherwise nil
	retrieval *plan.Retrieval
	outcome   plan.Outcome
	stop      context.CancelCauseFunc // ends taking and publishing
	kept      int64                   // bytes of the bodies chosen so far
	// position of the last message taken in this stage, counting those that are gone
	taken    int
	last     int   // the last position given to a chosen message
	left     int64 // messages ready at the start and not yet moved or dropped
	gone     int   // messages ahead of them that the resumed record removed
	short    bool  // the queue had fewer messages than were counted at the start
	finished bool  // the window is finished
	most     int   // messages that may have been picked by the end of this stage; 0: all
	// with a canary, the messages that cannot be changed: how many, and which ones a stage meets again
	stay    int
	staying message.Twins
	again   message.Twins // those of staying that this stage still expects
}

// work runs the plan. An error means that nothing was done.
func (x *execution) work(ctx context.Context) error {
	work, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	x.stop = stop
	if x.outcome == plan.Moved {
		var err error
		if x.window, err = openWindow(ctx, x.client, x.client.patience, x.plan.From.VHost, x.plan.Recipients, x.ledger,
			func(f *flight) { x.acks.add(f) }); err != nil {
			return err
		}
	}

	if err := x.begin(ctx); err != nil {
		if x.window != nil {
			_ = x.window.finish()
		}
		return err
	}

	x.ledger.note(func(a *plan.Account) { a.JournalID = x.ledger.journal.number() })
	if err := x.findDoubles(ctx); err != nil {
		x.end(err)
	}

	x.picker = x.plan.Selection.Picker(x.plan.From)
	guarding, unguarded := context.WithCancel(work)
	var watching sync.WaitGroup
	if x.guard != nil {
		watching.Go(func() { x.guard.watch(guarding, x.end) })
	}

	complete := x.acknowledgeArrived(work) && x.stages(work)
	x.canary.over()
	if x.window != nil && !x.finished {
		if err := x.window.finish(); err != nil {
			x.end(err)
		}
	}

	unguarded()
	watching.Wait()
	held := complete && x.held(ctx)
	x.ledger.wait("")
	if ctx.Err() != nil {
		x.end(ctx.Err())
	}

	x.guard.close(ctx)
	x.close(complete, held)
	if err := x.ledger.journal.finish(x.ledger.copy()); err != nil {
		x.end(err)
	}

	return nil
}

// begin begins the record. It reduces an undo to what no other undo has claimed.
func (x *execution) begin(ctx context.Context) (err error) {
	record := recordOf(x.run, x.source.depth)
	g := x.run.Resuming
	if g != nil {
		x.left, x.gone = min(x.left, g.Left), g.Gone
	}
	if g != nil || x.run.Undoing == nil {
		x.ledger.journal, err = x.client.begin(ctx, record, g)
		return err
	}

	entry, err := x.client.journal.Find(ctx, x.run.Undoing.Record)
	if err != nil {
		return err
	}
	var granted []int
	x.ledger.journal, granted, err = x.client.claim(ctx, record, x.run.Undoing.Claim())
	if err == nil {
		x.run.Grant(granted)
		x.retrieval = x.run.Undoing.Retrieval(entry)
		x.ledger.note(func(a *plan.Account) { a.Planned = len(granted) })
	}

	return err
}

// stages acts on everything at once or, with a canary, stage by stage. It reports whether it saw all messages that were
// there at the start.
func (x *execution) stages(ctx context.Context) (complete bool) {
	for number := 0; ; number++ {
		n, watched := x.plan.Canary.Stage(number)
		if number > 0 {
			err := x.guard.check(ctx)
			if err == nil {
				err = x.reopen(ctx)
			}
			if err != nil {
				x.end(err)
				return false
			}
		}

		if !watched {
			return x.stage(ctx, 0)
		}
		x.canary.prepare(ctx)
		complete = x.stage(ctx, x.picker.Picked()+n)
		if !x.canary.passes(ctx) {
			return false
		}
		if x.picker.Done() || x.picker.Picked() < x.most {
			return complete
		}
	}
}

// reopen starts taking messages again. Those that were ready at the start and were not moved are at the head, and a
// quorum queue may get them back late.
func (x *execution) reopen(ctx context.Context) (err error) {
	again := x.plan.Acquire
	again.Least = x.left
	x.source, err = x.client.openSource(ctx, again, true)
	return err
}

// stage acts until most messages have been picked in total (0: all that are left), and gives back what it holds.
func (x *execution) stage(ctx context.Context, most int) (complete bool) {
	x.most, x.again = most, maps.Clone(x.staying)
	before := x.ledger.done()
	x.taken = x.gone + before
	x.acks = startAcknowledger(x.source, x.ledger, x.outcome, x.end)
	pages := make(chan []*flight, 1)   // one page ahead of the journal
	written := make(chan []*flight, 1) // one batch ahead of the publishing
	var taker sync.WaitGroup
	taker.Go(func() {
		defer close(pages)
		complete = x.takePages(ctx, pages)
	})

	taker.Go(func() {
		defer close(written)
		x.write(ctx, pages, written)
	})

	x.act(ctx, written)
	taker.Wait()

	if err := x.settle(most == 0); err != nil {
		x.end(err)
	}

	// A quorum queue that is being deleted may report that it is empty (3.10.8); it is gone once all is settled.
	if x.short {
		if _, err := x.source.ready(); err != nil {
			x.end(err)
		}
	}

	x.acks.finish()
	back := min(x.source.depth, x.left) - x.source.acknowledged.Load()
	rescued, err := x.client.giveBack(x.source, nil)
	x.ledger.rescued(rescued)
	if err != nil {
		x.end(err)
		x.acks.doubt(err)
	}

	if x.short && x.source.plan.Type == model.Quorum && x.client.has(x.plan.From, back) {
		x.end(model.Errorf("%v %w", x.plan.From, errUndelivered))
	}

	x.left -= int64(x.ledger.done() - before)
	return complete
}

// has reports whether n messages are ready, or will be in a moment. What the leader of a quorum queue sends to an
// unreachable node never arrives, and counts as taken until the channel is closed (4.3.6).
func (c *Client) has(queue model.QueueRef, n int64) bool {
	ctx, cancel := context.WithTimeout(context.Background(), c.comeback)
	defer cancel()
	for {
		counts, err := c.Count(ctx, []model.QueueRef{queue})
		if ready := counts[queue].Ready.Or(-1); err != nil || ready >= n {
			return err == nil
		}
		if pause(ctx, countEvery) != nil {
			return false
		}
	}
}

// settle waits until everything published is settled. The error is why the window ended early, if it did.
func (x *execution) settle(last bool) error {
	switch {
	case x.window == nil:
		return nil
	case last:
		x.finished = true
		return x.window.finish()
	}

	x.window.quiet()
	x.window.endStreak()
	return x.window.why()
}

// act publishes the chosen messages, or passes them to the acknowledger, in order.
func (x *execution) act(ctx context.Context, batches <-chan []*flight) {
	defer func() {
		for range batches { // so that the sender never blocks
		}
	}()

	pace := pace{rate: x.plan.Rate}
	for batch := range batches {
		for i, f := range batch {
			if pace.wait(ctx) != nil {
				return
			}
			batch[i] = nil // frees the body as soon as the message is settled
			if f.publishing == nil {
				f.message.DropBody()
				x.acks.add(f)
				continue
			}

			err := x.guard.publishes(f.publishing)
			if err == nil {
				err = x.window.publish(ctx, f)
			}

			if err != nil {
				x.end(err)
				return
			}
		}
	}
}

// end stops taking and publishing, and records why.
func (x *execution) end(err error) {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		err = plan.WhyEnded(x.asked, errCancelled)
	}

	var changed *errChanged
	if errors.As(err, &changed) {
		x.ledger.change(changed.changes)
	}

	x.ledger.stop(err)
	x.stop(err)
}

// held reports whether messages that were not found may be there nevertheless, as someone else holds some of the queue,
// or it is unknown whether someone does.
func (x *execution) held(ctx context.Context) bool {
	account := x.ledger.copy()
	if account.Stopped != "" || x.picker.Picked() >= account.Planned {
		return false
	}
	x.ledger.wait("it finds out whether others hold what it did not find")
	// It took all that was ready: only what it gave back is left.
	left := plan.Left{Queue: x.plan.From, Type: x.plan.Acquire.Type, Ready: int64(x.source.held()), Changed: true}
	others, err := x.client.Others(ctx, []plan.Left{left})
	return err != nil || others[x.plan.From].Hold
}

// close completes the account. held: what was not found may be there nevertheless.
func (x *execution) close(complete, held bool) {
	l := x.ledger
	l.Lock()
	defer l.Unlock()
	a, picked := &l.account, x.picker.Picked()
	a.Planned = max(a.Planned, picked)
	switch {
	case !complete || a.Stopped != "":
	case x.plan.Selection.Fingerprints != nil && x.picker.Done():
	case held:
		a.Held = a.Planned - picked
	default:
		a.Gone = a.Planned - picked
	}
}

// report calls progress regularly until end is called; progress may be nil.
func report(l *ledger, progress plan.Progress) (end func()) {
	if progress == nil {
		return func() {}
	}
	running, stop := context.WithCancel(context.Background())
	var telling sync.WaitGroup
	telling.Go(func() {
		for pause(running, progressEvery) == nil {
			progress(l.copy())
		}
	})

	return func() {
		stop()
		telling.Wait()
	}
}

// pace keeps a rate. golang.org/x/time/rate would, too, but it gives up early when the next turn is after ctx's
// deadline: an execution would stop without a reason.
type pace struct {
	rate float64 // per second; 0 is no limit
	next time.Time
}

// wait returns when the next may go, or the context's error.
func (p *pace) wait(ctx context.Context) error {
	if err := ctx.Err(); err != nil || p.rate <= 0 {
		return err
	}
	if now := time.Now(); p.next.Before(now) {
		p.next = now
	}

	err := pause(ctx, time.Until(p.next))
	p.next = p.next.Add(time.Duration(float64(time.Second) / p.rate))
	return err
}

// pause waits, or returns the context's error when that ends first.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
