package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dlxtop/model"
)

const (
	actionFirstPage = 250  // a chosen message is mostly near the head
	actionPage      = 4000 // what is taken ahead of the publishing
	progressEvery   = 100 * time.Millisecond
)

// operations are what Execute does.
var operations = []model.Operation{model.Replay, model.Move, model.Drop, model.Undo}

// errCancelled is why an execution ends when its context was cancelled.
var errCancelled = errors.New("cancelled")

// Execute runs a plan. It acts on messages that were ready when it started, each at most once: what comes in meanwhile, and what it
// publishes into the queue itself, is not chased. An original is acknowledged only after its publish was confirmed and not returned;
// what is not acknowledged goes back in its order. progress is called from another goroutine, about ten times a second and once at
// the end; nil is fine.
//
// An error means that nothing was done. What ends a running execution early, a cancelled context too, is in Account.Stopped.
func (c *Client) Execute(ctx context.Context, plan model.Plan, progress func(model.Account)) (model.Account, error) {
	l := &ledger{began: time.Now(), account: model.Account{Operation: plan.Operation, From: plan.From, Planned: plan.Planned}}
	attempt := fmt.Sprintf("%s %s", plan.Operation, model.Printable(plan.From.String()))
	switch {
	case plan.Refusal != "":
		return l.copy(), fmt.Errorf("%s: %s", attempt, plan.Refusal)
	case !plan.Acquire.Allowed():
		return l.copy(), fmt.Errorf("%s: %s", attempt, plan.Acquire.Refusal)
	case plan.Operation == model.Undo && (plan.Undoing == nil || c.journal == nil), !slices.Contains(operations, plan.Operation), plan.Acquire.Method == model.PeekStream, plan.Acquire.Queue != plan.From:
		return l.copy(), fmt.Errorf("%s: this plan cannot be executed", attempt)
	}
	if plan.Undoing != nil {
		plan.Undoing = plan.Undoing.Copy() // it is used up
	}
	connection, err := c.connection(ctx, plan.From.VHost)
	if err != nil {
		return l.copy(), err
	}
	source, err := c.openSource(connection, plan.Acquire)
	if err != nil {
		return l.copy(), fmt.Errorf("%s: %w", attempt, err)
	}
	if plan.Mark && plan.MarkName == "" {
		plan.MarkName = model.NewMark()
	}
	x := &execution{client: c, plan: &plan, source: source, ledger: l, picker: plan.Selection.Picker(), left: source.depth, outcome: model.Dropped}
	if plan.Operation.Publishes() {
		x.outcome = model.Moved
	}
	if plan.Canary != nil {
		x.canary = &canary{execution: x, plan: plan.Canary, released: model.Released{Mark: plan.MarkName}}
	}
	if err := x.run(ctx, progress); err != nil {
		_ = source.release()
		return l.copy(), err
	}
	account := l.copy()
	if progress != nil {
		progress(account)
	}
	return account, nil
}

// execution is a plan while it runs. One goroutine takes messages, page by page; another writes what is intended with the chosen ones
// into the journal; a third publishes them; the window settles them when their confirms come; the acknowledger takes the settled ones
// out of the queue. So nothing is published or acknowledged that is not on disk, and nobody waits for the disk but the journal's
// goroutine, which is ahead of the publishing. With a canary all of this happens in stages, and nothing is held between them.
type execution struct {
	client   *Client
	plan     *model.Plan
	source   *source
	ledger   *ledger
	picker   *model.Picker
	window   *window // nil for a drop
	acks     *acknowledger
	canary   *canary // nil without one
	outcome  model.Outcome
	stop     context.CancelCauseFunc // ends taking and publishing
	kept     int64                   // bytes of the bodies that were chosen so far
	taken    int                     // messages of this stage so far, behind those that are gone: the position of the last one
	last     int                     // the last position that was given to a chosen message
	left     int64                   // messages that were ready at the start and have not been moved or dropped
	finished bool                    // the window is
	most     int                     // messages that may have been picked when this stage is over; 0: all
}

// run does the work. An error means that it did not begin.
func (x *execution) run(ctx context.Context, progress func(model.Account)) error {
	work, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer collectSeldom()()
	x.stop = stop
	var others sync.WaitGroup
	if x.outcome == model.Moved {
		var err error
		if x.window, err = openWindow(ctx, x.client, x.plan.From.VHost, x.ledger, func(f *flight) { x.acks.add(f.tag, f.message) }); err != nil {
			return err
		}
		others.Go(func() { x.window.watch(ctx) })
	}
	var err error
	if x.ledger.journal, err = x.client.begin(ctx, recordOf(x.plan)); err != nil {
		if x.window != nil {
			_ = x.window.finish()
			others.Wait()
		}
		return err
	}
	x.ledger.account.JournalID = x.ledger.journal.number()
	done := make(chan struct{})
	if progress != nil {
		others.Go(func() { report(x.ledger, progress, done) })
	}
	complete := x.stages(work)
	x.canary.over()
	if x.window != nil && !x.finished {
		if err := x.window.finish(); err != nil {
			x.end(err)
		}
	}
	close(done)
	others.Wait()
	x.ledger.wait("")
	if ctx.Err() != nil {
		x.end(errCancelled)
	}
	x.close(complete)
	if err := x.ledger.journal.finish(x.ledger.copy()); err != nil {
		x.end(err)
	}
	return nil
}

// stages acts on everything, or, with a canary, stage by stage. It reports whether it has seen all that were there at the start.
func (x *execution) stages(ctx context.Context) (complete bool) {
	for number := 0; ; number++ {
		n, watched := x.plan.Canary.Stage(number)
		if number > 0 {
			if err := x.reopen(ctx); err != nil {
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

// reopen begins to take messages anew. Those that were ready at the start, and were not moved, are in front.
func (x *execution) reopen(ctx context.Context) error {
	connection, err := x.client.connection(ctx, x.plan.From.VHost)
	if err != nil {
		return err
	}
	x.source, err = x.client.openSource(connection, x.plan.Acquire)
	return err
}

// stage acts on messages until so many were picked in all, 0 is all that are left, and gives back what it holds.
func (x *execution) stage(ctx context.Context, most int) (complete bool) {
	x.most = most
	before := x.ledger.done()
	x.taken = before
	x.acks = startAcknowledger(x.source, x.ledger, x.outcome, x.end)
	pages := make(chan []chosen, 1)   // one page ahead of the journal
	written := make(chan []chosen, 1) // one batch ahead of the publishing
	var taker sync.WaitGroup
	taker.Go(func() {
		defer close(pages)
		complete = x.take(ctx, pages)
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
	x.acks.finish()
	if err := x.client.giveBack(x.source); err != nil {
		x.end(err)
		x.acks.doubt(err)
	}
	x.left -= int64(x.ledger.done() - before)
	return complete
}

// settle waits until everything that was published is settled. The error is why it ended early, if it did.
func (x *execution) settle(last bool) error {
	switch {
	case x.window == nil:
		return nil
	case last:
		x.finished = true
		return x.window.finish()
	}
	x.window.quiet()
	return x.window.why()
}

// chosen is a message that the plan acts on.
type chosen struct {
	tag        uint64
	message    *model.Message
	publishing *model.Publishing // nil: it is dropped
}

// take takes messages until all that were there at the start were seen, or all that were chosen are found, and hands the chosen ones
// on. It reports whether it came so far.
func (x *execution) take(ctx context.Context, pages chan<- []chosen) (complete bool) {
	for left, number := min(x.source.depth, x.left), 0; left > 0 && !x.full(); number++ {
		n := x.nextPage(left, number)
		collectAsNeeded()
		var page []chosen
		taken, err := x.source.page(ctx, n, func(d *amqp.Delivery) {
			m := messageOf(d)
			x.taken++
			m.Position = x.taken
			// What came back is not sent again, although others may have gone from in front of it.
			if !x.full() && !m.MarkedBy(x.plan.MarkName) && x.picker.Pick(&m) {
				m.Position = max(m.Position, x.last+1) // names it in the journal: others may have gone between two stages
				x.last = m.Position
				x.kept += int64(m.BodyBytes)
				page = append(page, chosen{tag: d.DeliveryTag, message: &m})
			}
		})
		left -= int64(taken)
		if len(page) > 0 {
			select {
			case pages <- page:
			case <-ctx.Done():
				return false
			}
		}
		if err != nil {
			x.end(err)
			return false
		}
		if ctx.Err() != nil {
			return false
		}
		if taken < n { // others took the rest
			break
		}
	}
	return true
}

// full reports whether nothing further is picked in this stage.
func (x *execution) full() bool {
	return x.picker.Done() || x.most > 0 && x.picker.Picked() >= x.most
}

// nextPage is the size of the next page: small first, because what is chosen is mostly near the head; then as large as is useful, but
// so that the chosen bodies stay within MaxBytes and the messages that are kept in few pages.
func (x *execution) nextPage(left int64, number int) int {
	n := int64(min(actionFirstPage<<(2*min(number, 4)), actionPage))
	if picked := x.picker.Picked(); picked > 0 {
		mean := max(x.kept/int64(picked), 1)
		n = min(n, max(x.plan.Acquire.MaxBytes/2/mean, 1))
	}
	selection := &x.plan.Selection
	if !selection.OneByOne() {
		n = min(n, int64(max(x.plan.Acquire.Page, 1)))
		if selection.Limit > 0 {
			n = min(n, int64(selection.Limit-x.picker.Picked()))
		}
		if x.most > 0 {
			n = min(n, int64(x.most-x.picker.Picked()))
		}
	} else if rest := int64(maxPages - number); rest > 0 {
		n = max(n, (left+rest-1)/rest)
	}
	return int(min(max(n, 1), left, model.MaxPage))
}

// act publishes the chosen messages, or hands them to be acknowledged, in their order.
func (x *execution) act(ctx context.Context, batches <-chan []chosen) {
	defer func() {
		for range batches { // nobody must wait for us
		}
	}()
	pace := pace{rate: x.plan.Rate}
	for batch := range batches {
		for i := range batch {
			if pace.wait(ctx) != nil {
				return
			}
			c := batch[i]
			batch[i] = chosen{} // lets go of the body as soon as it is settled
			if c.publishing == nil {
				c.message.Body = nil
				x.acks.add(c.tag, c.message)
				continue
			}
			if err := x.window.publish(ctx, &flight{tag: c.tag, message: c.message, publishing: c.publishing}); err != nil {
				x.end(err)
				return
			}
		}
	}
}

// end stops taking and publishing, and notes why.
func (x *execution) end(err error) {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		err = errCancelled
	}
	x.ledger.stop(err.Error())
	x.stop(err)
}

// close completes the account.
func (x *execution) close(complete bool) {
	l := x.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	a, picked := &l.account, x.picker.Picked()
	a.Planned = max(a.Planned, picked)
	switch {
	case !complete || a.Stopped != "":
	case x.plan.Selection.Fingerprints != nil && x.picker.Done():
	default:
		a.Gone = a.Planned - picked
	}
}

// report tells the progress until done.
func report(l *ledger, progress func(model.Account), done <-chan struct{}) {
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			progress(l.copy())
		}
	}
}
