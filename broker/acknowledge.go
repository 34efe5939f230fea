package broker

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker/link"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
)

const (
	ackBatch = 250                   // messages acknowledged at once
	ackDelay = 10 * time.Millisecond // how long an acknowledgement waits for more

	// A busy broker that was stopped had forgotten acknowledgements although the channel had answered later requests
	// (classic, 3.10.8: 249 messages, once in 50 stops), probably those that the queue had not processed. So the latest
	// ones are then uncertain: those of the last second, up to a bound.
	latest     = time.Second
	latestMost = 1000

	// A classic queue writes acknowledgements to disk in batches: a killed node has forgotten up to 32,768 of them
	// (queue_index_max_journal_entries, 3.10), and up to 2,048 (4.0, 4.3).
	unwrittenMost = 1 << 15
)

// acknowledger removes settled messages from the queue, many with one acknowledgement, and counts them when the broker
// has received it.
type acknowledger struct {
	source  *source
	ledger  *ledger
	outcome plan.Outcome // moved or dropped
	failed  func(error)  // called when the queue's channel is lost

	sync.Mutex
	pending []*flight
	wake    chan struct{} // full when a batch is ready
	ending  chan struct{}
	over    chan struct{}

	floor uint64     // every message up to this tag is acknowledged
	sent  []sentAcks // what the queue may not have processed yet
}

// sentAcks are messages that were acknowledged up to one of the source's commands, identified by its number.
type sentAcks struct {
	command   int64
	at        time.Time
	positions []int // of the messages
}

func startAcknowledger(s *source, l *ledger, outcome plan.Outcome, failed func(error)) *acknowledger {
	a := &acknowledger{
		source:  s,
		ledger:  l,
		outcome: outcome,
		failed:  failed,
		wake:    make(chan struct{}, 1),
		ending:  make(chan struct{}),
		over:    make(chan struct{}),
	}

	go a.run()

	return a
}

// add takes over a message. Tags must rise.
func (a *acknowledger) add(f *flight) {
	a.Lock()
	defer a.Unlock()
	a.pending = append(a.pending, f)
	if len(a.pending) >= ackBatch {
		signal(a.wake)
	}
}

// finish acknowledges the rest and returns when the broker has received everything.
func (a *acknowledger) finish() {
	close(a.ending)
	<-a.over
}

func (a *acknowledger) run() {
	defer close(a.over)
	ticker := time.NewTicker(ackDelay)
	defer ticker.Stop()
	for last := false; !last; {
		select {
		case <-a.wake:
		case <-ticker.C:
		case <-a.ending:
			last = true
		}

		batch := a.next()
		err := a.batch(batch)
		if err == nil && last {
			if batch, err = nil, a.source.raiseAnchor(); err == nil {
				batch = a.next()
				err = a.batch(batch)
			}
		}

		if err != nil {
			a.failed(fmt.Errorf("acknowledge: %w", link.Loss(err)))
			a.lose(batch, err)
			a.drain(err)
			return
		}
	}

	if err := a.source.flush(); err != nil {
		a.failed(fmt.Errorf("acknowledge: %w", link.Loss(err)))
		a.lose(nil, err)
	}
}

// next returns what can be acknowledged now: everything but what an anchor holds.
func (a *acknowledger) next() (batch []*flight) {
	held := a.source.anchor.holds.Load()
	a.Lock()
	defer a.Unlock()
	batch, a.pending = a.pending, nil
	if i := slices.IndexFunc(batch, func(f *flight) bool { return f.tag == held }); i >= 0 {
		a.pending = []*flight{batch[i]}
		batch = slices.Delete(batch, i, i+1)
	}

	return batch
}

// batch acknowledges messages, waits until the broker has received that, and counts them.
func (a *acknowledger) batch(batch []*flight) error {
	if len(batch) == 0 {
		return nil
	}

	// Consecutive messages from the head of the queue share one acknowledgement; behind a message that is kept, each needs
	// its own.
	n := 0
	for n < len(batch) && batch[n].tag == a.floor+1 {
		a.floor++
		n++
	}

	if n > 0 {
		if err := a.source.acknowledge(a.floor, true, n); err != nil {
			return err
		}
	}

	for _, s := range batch[n:] {
		if err := a.source.acknowledge(s.tag, false, 1); err != nil {
			return err
		}
	}

	if err := a.source.sync(); err != nil {
		return err
	}
	positions := make([]int, len(batch))
	for i, s := range batch {
		a.ledger.record(a.outcome, s.message, "")
		positions[i] = s.message.Position
	}

	a.sent = append(a.sent, sentAcks{a.source.commands.Load(), time.Now(), positions})
	a.forget()
	return nil
}

// forget drops the records of acknowledgements that the queue has certainly received and written to disk.
func (a *acknowledger) forget() {
	quorum := a.source.plan.Type == model.Quorum
	applied := a.source.applied.Load()
	first, n := len(a.sent), 0
	for first > 0 && (quorum && a.sent[first-1].command > applied || !quorum && n < unwrittenMost) {
		first--
		n += len(a.sent[first].positions)
	}

	a.sent = a.sent[first:]
}

// lose counts what became uncertain when the queue's channel was lost.
func (a *acknowledger) lose(batch []*flight, err error) {
	for _, s := range batch {
		a.ledger.record(plan.Unsure, s.message, a.unsure(err))
	}
	a.ledger.note(func(*plan.Account) { a.ledger.arrived(len(batch)) })
	a.doubt(err)
}

// doubt counts as uncertain what was acknowledged but which the queue may not have processed before its channel was
// lost, or has forgotten: for a quorum queue, what has not certainly gone through its log; for a classic one the latest
// when the broker is being stopped, and everything not yet on disk when it has forgotten what is held.
func (a *acknowledger) doubt(err error) {
	var e *amqp.Error
	stopped := errors.As(a.source.reason(err), &e) && e.Code == amqp.ConnectionForced
	forgotten := a.source.forgets(err)
	waiting := a.source.stashed()
	quorum := a.source.plan.Type == model.Quorum
	applied := a.source.applied.Load()

	n := 0
	for _, s := range slices.Backward(a.sent) {
		late := quorum || n < latestMost && a.sent[len(a.sent)-1].at.Sub(s.at) <= latest
		if (forgotten || waiting || stopped && late) && !(quorum && s.command <= applied) {
			a.ledger.doubt(s.positions, a.unsure(err))
		}
		n += len(s.positions)
	}

	a.sent = nil
}

// unsure returns why a message's outcome is unknown.
func (a *acknowledger) unsure(err error) string {
	if a.outcome == plan.Dropped {
		return fmt.Sprintf("its acknowledgement may not have reached the broker (%s): it may still be there", link.Words(err))
	}
	return fmt.Sprintf("it was published and confirmed, but its original may not be acknowledged (%s): it may be in "+
		"both queues", link.Words(err))
}

// drain receives messages until the end, as uncertain.
func (a *acknowledger) drain(err error) {
	<-a.ending
	a.Lock()
	rest := a.pending
	a.pending = nil
	a.Unlock()
	a.lose(rest, err)
}

// anchor is a consumer that stays while messages of a classic queue are acknowledged. When the queue's node dies, hangs
// or is unreachable for a moment, the queue forgets who holds what; acknowledging then raises no error, and only a
// channel with a consumer receives basic.cancel (3.10.8, 4.3.6). Its prefetch is 1, and it holds the last message of a
// page, so that it receives nothing else: that message is acknowledged when the next page has an anchor and this one is
// cancelled, or at the end.
type anchor struct {
	consumer   string // its tag; "" without one
	deliveries <-chan amqp.Delivery
	holds      atomic.Uint64 // the tag of its message; 0 without one
	cancels    chan string   // consumers that the broker ended
}

// mostCancels bounds the unread cancellations: consumers are at most an old anchor, a new one and a page.
const mostCancels = 8

// anchors reports whether acknowledgements need an anchor. A queue that is read with basic.get cannot have one.
func (s *source) anchors() bool {
	return s.acts && s.plan.Type == model.Classic && s.plan.Method == peek.Consume
}

// replaceAnchor keeps the consumer that took the last message of a page, and returns the one to cancel, "" for none:
// the earlier anchor, or this one when it received nothing.
func (s *source) replaceAnchor(
	consumer string, deliveries <-chan amqp.Delivery, last uint64,
) (cancel string, rest <-chan amqp.Delivery) {
	a := &s.anchor
	if last == 0 && a.consumer != "" {
		return consumer, deliveries
	}
	cancel, rest = a.consumer, a.deliveries
	a.consumer, a.deliveries = consumer, deliveries
	if cancel == "" {
		a.holds.Store(last)
	}

	return cancel, rest
}

// raiseAnchor prepares to acknowledge the anchor's message, after which the anchor may receive another. Where the queue
// has more, the anchor is cancelled, which leaves the channel without a consumer.
func (s *source) raiseAnchor() error {
	s.calls.Lock()
	defer s.calls.Unlock()
	if s.anchor.consumer == "" {
		return nil
	}
	s.anchor.holds.Store(0)
	q, _, err := s.declared(s.holding)
	if err != nil {
		return s.reason(err)
	}
	if q.Messages > 0 {
		return s.cancelAnchor()
	}

	return s.forgotten()
}

func (s *source) cancelAnchor() error {
	consumer := s.anchor.consumer
	if s.anchor.consumer = ""; consumer == "" {
		return nil
	}
	if err := s.cancel(consumer); err != nil {
		return s.reason(err)
	}

	return s.forgotten()
}

// forgotten returns why the queue no longer knows what is held; nil while it does.
func (s *source) forgotten() error {
	if len(s.anchor.cancels) == 0 {
		return nil
	}
	return s.gone()
}

// forgets reports whether a failed acknowledgement may mean that the queue forgot which messages were held, and lost
// those not on disk: its node was lost, or the connection was, perhaps with the node. Any other reason for which the
// broker closed the channel rules this out, and a deleted queue has nothing to forget. A quorum queue forgets nothing,
// but the last commands may not have reached a leader.
func (s *source) forgets(err error) bool {
	var closed *amqp.Error
	switch {
	case errors.Is(err, model.ErrQueueGone):
		return false
	case errors.Is(err, model.ErrQueueDown) || errors.Is(err, errForgotten):
		return true
	}

	return !errors.As(s.reason(err), &closed) || !closed.Server || closed.Code == amqp.InternalError
}

// errForgotten means that a queue has forgotten which of its messages are held.
var errForgotten = errors.New("the broker ended the consumer")
