// Package tap shows the messages that pass exchanges, without affecting their consumers.
package tap

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker/link"
	"github.com/dlxtop/dlxtop/broker/wire"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/trace"
	"github.com/dlxtop/dlxtop/model/trouble"
)

const (
	prefetch   = 500                    // messages; more wait in the tap's queue, where they are counted
	countEvery = 250 * time.Millisecond // between two counts of missed messages
	// bindings that are remade in turn: an exchange that was declared again has lost them
	rebinds      = 10
	rebindEvery  = 8                      // counts
	catchUpLimit = 500 * time.Millisecond // at the end, for what is still in its queue
	idle         = 25 * time.Millisecond  // without a delivery: then none is on its way

	missedMessages, missedBytes = 100_000, 64 << 20 // capacity of the queue of the missed between two counts
)

// Run shows each message that passes the exchanges of a plan, until ctx ends. see is called with each, in order, with
// the time of its arrival; it owns the message, whose body is whole. tell is called from another goroutine when the tap
// works, and then with each change of its counts; it may be nil. A plan received from follow replaces the bindings;
// follow may be nil.
//
// The tap has its own queue on its own connection: exclusive, so that it is deleted with the connection, however that
// ends (not auto-delete: it must outlive its consumer for a last count). It is bounded, and when full it drops its
// oldest messages silently (drop-head; reject-publish would refuse the publishers' messages). So it dead-letters them
// into a second queue, whose length is their number; no statistics would show it: a broker has none for dead letters
// (all versions).
//
// The error says why it ended early: one sentence, a *trouble.Error when a right is missing.
func Run(
	ctx context.Context, pool *link.Pool, plan trace.TapPlan, follow <-chan trace.TapPlan,
	see func(m *message.Message, at time.Time), tell func(trace.TapCounts),
) error {
	if plan.Refusal.Refused() {
		return errors.New(plan.Refusal.Words())
	}
	t := &tap{pool: pool, plan: plan, see: see, tell: tell}
	for {
		err := t.run(ctx, follow)
		if ctx.Err() != nil || !pool.Several() || !errors.Is(err, model.ErrConnectionLost) {
			return err
		}
	}
}

// run taps on one node.
func (t *tap) run(ctx context.Context, follow <-chan trace.TapPlan) error {
	connection, channels, err := t.pool.DialChannels(ctx, t.plan.VHost, "dlxtop tap", 2)
	if err != nil {
		return err
	}
	defer connection.Wire.Cut()
	t.link, t.channel, t.control = connection, channels[0], channels[1]
	t.lost = t.control.NotifyClose(make(chan *amqp.Error, 1))
	if err := t.start(); err != nil {
		return err
	}
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var watcher sync.WaitGroup
	watcher.Go(func() { stop(t.watch(running, follow)) })
	t.receive(running)
	watcher.Wait()
	err = context.Cause(running)

	if ctx.Err() != nil {
		t.catchUp()
		err = nil
	} else {
		t.noteGap()
	}

	t.report()
	connection.HangUp()
	return err
}

type tap struct {
	pool *link.Pool
	link *link.Link
	plan trace.TapPlan
	see  func(m *message.Message, at time.Time)
	tell func(trace.TapCounts)

	queue      string
	counting   bool          // dropped messages go into the queue of the missed
	channel    *amqp.Channel // the consumer's channel
	deliveries <-chan amqp.Delivery
	control    *amqp.Channel
	lost       chan *amqp.Error // the control channel's
	checks     int
	works      time.Time // when the broker has last answered
	rebound    int       // the binding that was remade last

	sync.Mutex
	counts trace.TapCounts
}

// start declares the queues, starts the consumer, and binds last: so nothing waits without a consumer.
func (t *tap) start() error {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	t.queue = model.TapPrefix + hex.EncodeToString(random[:])
	if err := t.declare(); err != nil {
		return err
	}
	if err := t.channel.Qos(prefetch, 0, false); err != nil {
		return t.error("limit what is delivered to", t.queue, err)
	}
	var err error
	if t.deliveries, err = t.channel.Consume(t.queue, t.queue, false, true, false, false, nil); err != nil {
		return t.error("read", t.queue, err)
	}
	for _, b := range t.plan.Bindings {
		if err := t.bind(b); err != nil {
			return err
		}
	}

	t.note(func(c *trace.TapCounts) {
		if c.Queue = t.queue; !t.works.IsZero() {
			c.Moved, c.MovedTo, c.Blind = time.Now(), t.pool.Node(), t.works
		}
	})
	t.works = time.Now()
	t.report()
	return nil
}

func (t *tap) missed() string { return t.queue + ".missed" }

// declare declares the tap's queue and, if the user has the right to publish to the default exchange, the queue of the
// missed. A dead-letter exchange is always set, if need be one that does not exist: a policy for all queues could set
// another one, which would get the dropped copies.
func (t *tap) declare() error {
	own := amqp.Table{
		"x-queue-type":              "classic",
		"x-max-length":              t.plan.MaxMessages,
		"x-max-length-bytes":        t.plan.MaxBytes,
		"x-overflow":                "drop-head",
		"x-dead-letter-exchange":    "",
		"x-dead-letter-routing-key": t.missed(),
	}

	_, err := t.channel.QueueDeclare(t.queue, false, false, true, false, own)
	if t.counting = err == nil; !t.counting {
		if t.channel, err = t.reopen(err); err != nil {
			return t.error("declare", t.queue, err)
		}
		own["x-dead-letter-exchange"] = t.queue + ".none"
		if _, err := t.channel.QueueDeclare(t.queue, false, false, true, false, own); err != nil {
			return t.error("declare", t.queue, err)
		}
		return nil
	}

	missed := amqp.Table{
		"x-queue-type":           "classic",
		"x-max-length":           int64(missedMessages),
		"x-max-length-bytes":     int64(missedBytes),
		"x-overflow":             "drop-head",
		"x-dead-letter-exchange": t.queue + ".none",
	}

	if _, err := t.channel.QueueDeclare(t.missed(), false, false, true, false, missed); err != nil {
		return t.error("declare", t.missed(), err)
	}

	return nil
}

// reopen opens a new channel in place of one that a refusal has closed. It returns errors other than refusals.
func (t *tap) reopen(err error) (*amqp.Channel, error) {
	var e *amqp.Error
	if !errors.As(err, &e) || e.Code != amqp.AccessRefused || t.link.IsClosed() {
		return nil, err
	}
	return t.pool.Open(t.link.Connection)
}

func (t *tap) bind(b trace.TapBinding) error {
	if err := t.control.QueueBind(t.queue, b.Key, b.Exchange, false, wire.Table(b.Arguments)); err != nil {
		return t.error("bind to", b.Exchange, err)
	}
	return nil
}

// receive shows what arrives, and acknowledges it in batches: so at most the prefetch is on its way, and the rest waits
// in the queue, where it is counted.
func (t *tap) receive(ctx context.Context) {
	var last uint64 // not acknowledged yet
	since := 0
	acknowledge := time.NewTicker(20 * time.Millisecond)
	defer acknowledge.Stop()

	for {
		select {
		case <-ctx.Done():
			return
		case d, open := <-t.deliveries:
			if !open {
				t.deliveries = nil // the watch notices why
				continue
			}
			t.show(&d)
			if last, since = d.DeliveryTag, since+1; since < prefetch/5 {
				continue
			}
		case <-acknowledge.C:
		}

		if last > 0 {
			_ = t.channel.Ack(last, true) // the watch notices a closed channel
			last, since = 0, 0
		}
	}
}

func (t *tap) show(d *amqp.Delivery) {
	at := time.Now()
	m := t.link.Wire.Message(d)
	t.note(func(c *trace.TapCounts) { c.Seen++ })
	t.see(&m, at)
}

// watch counts missed messages, keeps up the bindings, and returns why the tap cannot continue.
func (t *tap) watch(ctx context.Context, follow <-chan trace.TapPlan) error {
	lost := t.channel.NotifyClose(make(chan *amqp.Error, 1))
	ticker := time.NewTicker(countEvery)
	defer ticker.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case e := <-lost:
			err = t.ended(e)
		case e := <-t.lost:
			err = t.ended(e)
		case plan := <-follow:
			err = t.follow(plan)
		case <-ticker.C:
			err = t.check()
		}

		if err != nil {
			return err
		}
	}
}

func (t *tap) ended(e *amqp.Error) error {
	switch {
	case e != nil && e.Server && e.Code == amqp.InternalError:
		return fmt.Errorf("RabbitMQ ended the tap (%d %s): %s. The tap had a copy, nothing is lost: begin it again",
			e.Code, link.Words(e), peek.Unconvertible("a message that passed"))
	case e == nil || t.link.IsClosed():
		return link.Loss(amqp.ErrClosed)
	}

	return fmt.Errorf("the broker ended the tap: %s", link.Words(e))
}

// check counts missed messages, and remakes some of the bindings, which does nothing where they exist.
func (t *tap) check() error {
	if err := t.count(); err != nil {
		return err
	}
	t.checks++
	t.works = time.Now()
	for range min(rebinds, len(t.plan.Bindings)) {
		if t.checks%rebindEvery > 0 {
			break
		}
		t.rebound = (t.rebound + 1) % len(t.plan.Bindings)
		if err := t.bind(t.plan.Bindings[t.rebound]); err != nil {
			return err
		}
	}

	t.report()
	return nil
}

// count empties the queue of the missed, which returns their number.
func (t *tap) count() error {
	if !t.counting {
		q, err := t.control.QueueDeclarePassive(t.queue, false, false, true, false, nil)
		if err != nil {
			return t.error("count", t.queue, err)
		}
		t.note(func(c *trace.TapCounts) { c.Unsure = c.Unsure || int64(q.Messages) >= t.plan.MaxMessages/2 })
		return nil
	}

	n, err := t.control.QueuePurge(t.missed(), false)
	if err != nil {
		return t.error("count", t.missed(), err)
	}
	t.note(func(c *trace.TapCounts) {
		c.Missed += int64(n)
		c.AtLeast = c.AtLeast || n >= missedMessages
	})

	return nil
}

// follow makes the bindings of another plan for the same exchanges, and removes those that it does not have.
func (t *tap) follow(plan trace.TapPlan) error {
	if plan.Refusal.Refused() || !slices.Equal(plan.Exchanges, t.plan.Exchanges) {
		return nil // the bindings stay; the next bind reports when an exchange is gone
	}
	for _, b := range plan.Bindings {
		if !slices.ContainsFunc(t.plan.Bindings, b.Same) {
			if err := t.bind(b); err != nil {
				return err
			}
		}
	}

	for _, b := range t.plan.Bindings {
		if !slices.ContainsFunc(plan.Bindings, b.Same) {
			if err := t.control.QueueUnbind(t.queue, b.Key, b.Exchange, wire.Table(b.Arguments)); err != nil {
				return t.error("unbind from", b.Exchange, err)
			}
		}
	}

	t.plan.Bindings, t.rebound = plan.Bindings, 0
	return nil
}

func (t *tap) report() {
	if counts := t.note(func(*trace.TapCounts) {}); t.tell != nil {
		t.tell(counts)
	}
}

// note changes the counts, and returns them.
func (t *tap) note(change func(*trace.TapCounts)) trace.TapCounts {
	t.Lock()
	defer t.Unlock()
	change(&t.counts)
	return t.counts
}

// error words the broker's refusal of an attempt.
func (t *tap) error(attempt, name string, err error) error {
	var e *amqp.Error
	switch {
	case !errors.As(err, &e) || !e.Server || e.Code == amqp.ConnectionForced:
		return fmt.Errorf("tap: %w", link.Loss(err))
	case e.Code == amqp.AccessRefused:
		return trouble.AMQPMayNotTap.With(trouble.Values{
			User: t.pool.User(), Name: attempt + " " + name, Detail: link.Words(err),
		})
	case e.Code == amqp.NotFound && attempt == "bind to":
		return model.Errorf("the tap has ended: there is no exchange %v any more", name)
	}

	return model.Errorf("tap: %s %v: %s", attempt, name, link.Words(err))
}

// catchUp briefly shows messages that have passed and are still on their way; what is left then counts as missed.
func (t *tap) catchUp() {
	end := time.Now().Add(catchUpLimit)
	for time.Now().Before(end) {
		before := t.seen()
		brief, stop := context.WithTimeout(context.Background(), idle)
		t.receive(brief)
		stop()

		q, err := t.control.QueueDeclarePassive(t.queue, false, false, true, false, nil)
		if err != nil || t.deliveries == nil {
			t.noteGap()
			return
		}

		if q.Messages == 0 && t.seen() == before {
			break
		}
	}

	// The answer to a cancel comes after everything delivered (classic queues, all versions): so each message is delivered
	// here, or still in the queue.
	if t.deliveries == nil || t.channel.Cancel(t.queue, false) != nil {
		t.noteGap()
		return
	}

	for d := range t.deliveries {
		if time.Now().Before(end) {
			t.show(&d)
		} else {
			t.addMissed(1)
		}
	}

	q, err := t.control.QueueDeclarePassive(t.queue, false, false, true, false, nil)
	if err != nil || t.count() != nil {
		t.noteGap()
		return
	}

	t.addMissed(q.Messages)
}

func (t *tap) addMissed(n int) { t.note(func(c *trace.TapCounts) { c.Missed += int64(n) }) }

// noteGap records that what passed since the last count is unknown.
func (t *tap) noteGap() { t.note(func(c *trace.TapCounts) { c.AtLeast, c.Unsure = true, true }) }

func (t *tap) seen() int64 { return t.note(func(*trace.TapCounts) {}).Seen }
