package broker

import (
	"context"
	"errors"
	"fmt"
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
	case plan.Operation != model.Replay && plan.Operation != model.Drop, plan.Acquire.Method == model.PeekStream, plan.Acquire.Queue != plan.From:
		return l.copy(), fmt.Errorf("%s: this plan cannot be executed", attempt)
	}
	connection, err := c.connection(ctx, plan.From.VHost)
	if err != nil {
		return l.copy(), err
	}
	source, err := openSource(connection, plan.Acquire)
	if err != nil {
		return l.copy(), fmt.Errorf("%s: %w", attempt, err)
	}
	x := &execution{client: c, plan: &plan, source: source, ledger: l, picker: plan.Selection.Picker()}
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

// execution is a plan while it runs. One goroutine takes messages, page by page; another publishes the chosen ones; the window
// settles them when their confirms come; the acknowledger takes the settled ones out of the queue.
type execution struct {
	client *Client
	plan   *model.Plan
	source *source
	ledger *ledger
	picker *model.Picker
	window *window // nil for a drop
	acks   *acknowledger
	stop   context.CancelCauseFunc // ends taking and publishing
	kept   int64                   // bytes of the bodies that were chosen so far
}

// run does the work. An error means that it did not begin.
func (x *execution) run(ctx context.Context, progress func(model.Account)) error {
	work, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	x.stop = stop
	var others sync.WaitGroup
	outcome := model.Dropped
	if x.plan.Operation == model.Replay {
		outcome = model.Moved
		var err error
		if x.window, err = openWindow(ctx, x.client, x.plan.From.VHost, x.ledger, func(f *flight) { x.acks.add(f.tag, f.message) }); err != nil {
			return err
		}
		others.Go(func() { x.window.watch(ctx) })
	}
	x.acks = startAcknowledger(x.source, x.ledger, outcome, x.end)
	done := make(chan struct{})
	if progress != nil {
		others.Go(func() { x.report(progress, done) })
	}

	pages := make(chan []chosen, 1) // one page ahead of the publishing
	complete := false
	var taker sync.WaitGroup
	taker.Go(func() {
		defer close(pages)
		complete = x.take(work, pages)
	})
	x.act(work, pages)
	taker.Wait()
	if x.window != nil {
		if err := x.window.finish(); err != nil {
			x.end(err)
		}
	}
	x.acks.finish()
	if err := x.client.giveBack(x.source); err != nil {
		x.end(err)
	}
	close(done)
	others.Wait()
	x.ledger.wait("")
	if ctx.Err() != nil {
		x.end(errCancelled)
	}
	x.close(complete)
	return nil
}

// chosen is a message that the plan acts on.
type chosen struct {
	tag     uint64
	message *model.Message
}

// take takes messages until all that were there at the start were seen, or all that were chosen are found, and hands the chosen ones
// on. It reports whether it came so far.
func (x *execution) take(ctx context.Context, pages chan<- []chosen) (complete bool) {
	for left, number := x.source.depth, 0; left > 0 && !x.picker.Done(); number++ {
		n := x.nextPage(left, number)
		var page []chosen
		taken, err := x.source.page(ctx, n, func(d *amqp.Delivery) {
			m := messageOf(d)
			if x.picker.Pick(&m) {
				x.kept += int64(m.BodyBytes)
				page = append(page, chosen{d.DeliveryTag, &m})
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
	} else if rest := int64(maxPages - number); rest > 0 {
		n = max(n, (left+rest-1)/rest)
	}
	return int(min(max(n, 1), left, model.MaxPage))
}

// act publishes the chosen messages, or hands them to be acknowledged, in their order.
func (x *execution) act(ctx context.Context, pages <-chan []chosen) {
	defer func() {
		for range pages { // the taker must not wait for us
		}
	}()
	pace := pace{rate: x.plan.Rate}
	for page := range pages {
		for i := range page {
			if pace.wait(ctx) != nil {
				return
			}
			c := page[i]
			page[i] = chosen{} // lets go of the body as soon as it is settled
			if x.plan.Operation == model.Drop {
				c.message.Body = nil
				x.acks.add(c.tag, c.message)
				continue
			}
			if err := x.replay(ctx, c); err != nil {
				x.end(err)
				return
			}
		}
	}
}

// replay publishes one message. An error means that no further one can be.
func (x *execution) replay(ctx context.Context, c chosen) error {
	p, err := x.plan.Publishing(c.message)
	if err == nil {
		err = publishable(&p, x.client.User())
	}
	if err != nil {
		x.ledger.record(model.Refused, c.message, err.Error())
		return nil
	}
	return x.window.publish(ctx, &flight{tag: c.tag, message: c.message, publishing: &p})
}

// publishable refuses what would end the channel or the connection, and with it all that is under way.
func publishable(p *model.Publishing, user string) error {
	switch q := &p.Properties; {
	case len(p.Exchange) > 255 || len(p.RoutingKey) > 255:
		return errors.New("the name of an exchange and a routing key have 255 bytes at most")
	case q.UserID != "" && q.UserID != user:
		return fmt.Errorf("its user_id is %s, and the broker takes none but that of the connected user %s", model.Printable(q.UserID), model.Printable(user))
	}
	if err := wireTable(p.Headers).Validate(); err != nil {
		return fmt.Errorf("AMQP cannot carry its headers: %s", model.Printable(err.Error()))
	}
	return nil
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
func (x *execution) report(progress func(model.Account), done <-chan struct{}) {
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			progress(x.ledger.copy())
		}
	}
}
