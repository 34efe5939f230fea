package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker/link"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
)

// rescuePatience is how long a rescue waits: everything that its look has taken is held meanwhile.
var rescuePatience = patience{confirm: 10 * time.Second, alarm: 5 * time.Second, cancel: 10 * time.Second}

// rescuer keeps messages that would be lost when returned: each is first written to the journal completely, then a copy
// is published to the end of its queue, through the default exchange, mandatory and with a confirm, and only then is
// the original acknowledged. A message that could not be copied is acknowledged when the journal has it, so that it is
// in one place.
type rescuer struct {
	source *source
	ledger *ledger // without a journal when there is none, or it cannot be written
	window *window // nil: nothing can be published
	acks   *acknowledger
	why    error           // why not everything could be copied
	tried  map[uint64]bool // tags
	kept   map[uint64]bool // those of them that are in the journal
}

// rescue rescues the held messages that are at their delivery limit and not acted on.
func (s *source) rescue() {
	tags := s.brink.unclaimed()
	if s.rescuer != nil {
		tags = slices.DeleteFunc(tags, func(tag uint64) bool { return s.rescuer.tried[tag] })
	}
	if len(tags) == 0 {
		return
	}
	if s.rescuer == nil {
		s.rescuer = s.client.newRescuer(s)
	}
	for part := range slices.Chunk(tags, writeBatch) {
		s.rescuer.journalCopies(part)
	}
}

// newRescuer begins a record, and connects for publishing. If that fails it keeps what it can.
func (c *Client) newRescuer(s *source) *rescuer {
	queue := s.plan.Queue
	r := &rescuer{
		source: s, tried: map[uint64]bool{}, kept: map[uint64]bool{},
		ledger: &ledger{began: time.Now(), account: plan.Account{Operation: plan.Rescue, From: queue}},
	}

	ctx, cancel := context.WithTimeout(context.Background(), settling)
	defer cancel()

	var err error
	if r.ledger.journal, err = c.begin(ctx, plan.Record{Operation: plan.Rescue, From: queue}, nil); err != nil {
		r.fail(err)
	}

	r.ledger.account.JournalID = r.ledger.journal.number()
	if s.holding.IsClosed() {
		r.fail(fmt.Errorf("the connection was lost while they were held, which RabbitMQ counts as a return: %w",
			link.Loss(s.reason(errLost))))
		return r
	}

	r.acks = startAcknowledger(s, r.ledger, plan.Moved, r.fail)
	const tries = 3 // for a busy broker
	for range tries {
		if r.window, err = openWindow(context.Background(), c, rescuePatience, queue.VHost, nil, r.ledger,
			r.acks.add); err == nil {
			break
		}
	}

	r.fail(err)
	return r
}

var errLost = errors.New("it was lost")

// fail records why not everything can be copied. The first reason counts.
func (r *rescuer) fail(err error) {
	r.ledger.note(func(*plan.Account) { r.why = cmp.Or(r.why, err) })
}

func (r *rescuer) reason() (why error) {
	r.ledger.note(func(*plan.Account) { why = r.why })
	return why
}

// journalCopies writes messages into the journal, and publishes their copies.
func (r *rescuer) journalCopies(tags []uint64) {
	flights := make([]*flight, 0, len(tags))
	entries := make([]plan.Entry, 0, len(tags))
	for _, tag := range tags {
		m := r.source.brink.message(tag)
		if m == nil {
			continue
		}
		f := restoring(m, r.source.plan.Queue, r.source.client.User())
		f.tag = tag
		flights, entries = append(flights, f), append(entries, plan.NewEntry(m, f.publishing, true))
		r.tried[tag] = true
	}

	r.ledger.note(func(a *plan.Account) { a.Planned = len(r.tried) })
	ctx, cancel := context.WithTimeout(context.Background(), rescuePatience.confirm)
	defer cancel()
	if err := r.ledger.journal.intend(ctx, entries); err != nil {
		r.fail(err)
	} else if r.ledger.journal != nil {
		for _, tag := range tags {
			r.kept[tag] = true
		}
	}

	outcome := plan.Refused
	if r.acks == nil {
		outcome = plan.Unsure
	}

	for _, f := range flights {
		if err := r.copy(ctx, f); err != nil {
			r.fail(err)
			r.ledger.record(outcome, f.message, "it has no copy: "+err.Error())
		}
	}
}

func (r *rescuer) copy(ctx context.Context, f *flight) error {
	if r.window == nil {
		return r.reason()
	}
	var err error
	if f.properties, err = publishable(f.publishing, r.source.client.User(), r.window.link); err != nil {
		return err
	}
	return r.window.publish(ctx, f)
}

// finish waits until everything is settled, and returns the result.
func (r *rescuer) finish() peek.Rescued {
	if r.window != nil {
		r.fail(r.window.finish())
	}
	if r.acks != nil {
		r.acks.finish()
	}

	out := peek.Rescued{JournalID: r.ledger.account.JournalID}
	for tag := range r.tried {
		if r.source.brink.message(tag) == nil {
			continue // acknowledged
		}
		if r.kept[tag] && (r.source.holding.IsClosed() || r.source.acknowledge(tag, false, 1) == nil) {
			out.Kept++
		} else {
			out.Lost++
		}

		r.source.brink.acknowledged(tag, false) // there is nothing else to do
	}

	if !r.source.holding.IsClosed() && out.Kept > 0 {
		r.fail(cmp.Or(r.source.sync(), r.source.flush()))
	}

	account := r.ledger.copy()
	out.Copied = len(r.tried) - out.Kept - out.Lost
	if why := r.reason(); why != nil {
		out.Why = why.Error()
	} else if len(account.Problems) > 0 {
		out.Why = account.Problems[0].Reason
	}

	if err := r.ledger.journal.finish(account); err != nil && out.Why == "" {
		out.Why = err.Error()
	}

	return out
}

// rescueAll rescues what is left at the limit, and returns the result. Each round may take one more message (flush).
func (s *source) rescueAll() (rescued peek.Rescued) {
	const rounds = 5
	for range rounds {
		s.rescue()
		if s.rescuer == nil {
			break
		}
		rescued = rescued.With(s.rescuer.finish())
		s.rescuer = nil
	}

	return rescued
}

// nowhere is a queue that cannot exist: RabbitMQ reserves names that begin with "amq.".
const nowhere = "amq.dlxtop.nowhere"

// canRescue proves that a message at its delivery limit could be rescued, before one is taken: that the journal is
// writable, and that the user may publish to the default exchange. It runs once for each vhost. The error is a
// *peek.RescueImpossible, or that of ctx.
func (c *Client) canRescue(ctx context.Context, look peek.Plan) error {
	c.mu.Lock()
	proven := c.rescues[look.Queue.VHost]
	c.mu.Unlock()
	if proven {
		return nil
	}
	err := c.canPublish(ctx, look.Queue.VHost)
	if err == nil && c.journal != nil {
		err = c.journal.Check(ctx)
	}

	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded): // ctx's, whose Err follows a moment later
		return err
	case err != nil:
		return &peek.RescueImpossible{Why: model.Printable(err.Error()), Final: look.Final}
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	c.rescues[look.Queue.VHost] = true
	return nil
}

// canPublish publishes empty messages that reach no queue. RabbitMQ returns them to users who may publish to the
// default exchange, and closes the channel of others (403; all versions). There are two: in an alarm RabbitMQ still
// accepts a connection's first one, but reads no further (4.0.5). They have their own connection.
func (c *Client) canPublish(ctx context.Context, vhost string) error {
	connection, channels, err := c.DialChannels(ctx, vhost, "dlxtop may publish", 1)
	if err != nil {
		return err
	}
	defer connection.Wire.Cut()
	channel := channels[0]
	const proofs = 2
	returns := channel.NotifyReturn(make(chan amqp.Return, proofs))
	closed := channel.NotifyClose(make(chan *amqp.Error, 1))
	blocked := connection.NotifyBlocked(make(chan amqp.Blocking, 1))

	for range proofs {
		err := channel.PublishWithContext(ctx, "", nowhere, true, false, amqp.Publishing{})
		if err != nil && !errors.Is(err, amqp.ErrClosed) { // why it is closed comes below
			return link.Loss(err)
		}
	}

	limit := time.NewTimer(c.Timeout)
	defer limit.Stop()
	for returned := 0; returned < proofs; {
		select {
		case <-returns:
			returned++
		case e := <-closed:
			switch {
			case e == nil:
				return link.Loss(amqp.ErrClosed)
			case e.Code == amqp.AccessRefused:
				return fmt.Errorf("the user %s may not publish to the default exchange (it needs write permission on "+
					"amq.default)", c.User())
			}
			return link.Loss(e)
		case b := <-blocked:
			if b.Active {
				return fmt.Errorf("the broker blocks publishers: %s", b.Reason)
			}
		case <-limit.C:
			return model.Errorf("the broker did not answer a publish within %v", c.Timeout)
		case <-ctx.Done():
			return ctx.Err()
		}
	}

	connection.HangUp()
	return nil
}
