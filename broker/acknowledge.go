package broker

import (
	"errors"
	"fmt"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
)

const (
	ackBatch = 250                   // acknowledged at once
	ackDelay = 10 * time.Millisecond // how long an acknowledgement waits for others

	// A busy broker that was stopped had forgotten acknowledgements whose channel had answered behind them (classic,
	// 3.10.8: 249 messages, once in 50 stops), probably those that the queue had not come to. So the latest are
	// uncertain then: those of the last second, up to a bound.
	latest     = time.Second
	latestMost = 1000
)

// acknowledger takes settled messages out of the queue, many with one acknowledgement, and counts them when the broker
// has got it.
type acknowledger struct {
	source  *source
	ledger  *ledger
	outcome plan.Outcome // moved or dropped
	failed  func(error)  // called when the queue's channel is gone

	mu      sync.Mutex
	pending []settled
	wake    chan struct{} // full when a batch is there
	ending  chan struct{}
	over    chan struct{}

	floor uint64     // every message up to this tag was acknowledged
	sent  []sentAcks // what the queue may not have taken in yet
}

// settled is a message that is to be acknowledged.
type settled struct {
	tag     uint64
	message *message.Message
}

// sentAcks are messages that were acknowledged up to one of the source's commands, by its number.
type sentAcks struct {
	command   int64
	at        time.Time
	positions []int // of the messages
}

func startAcknowledger(s *source, l *ledger, outcome plan.Outcome, failed func(error)) *acknowledger {
	a := &acknowledger{
		source: s, ledger: l, outcome: outcome, failed: failed,
		wake: make(chan struct{}, 1), ending: make(chan struct{}), over: make(chan struct{}),
	}
	go a.run()
	return a
}

// add hands a message over. Tags must rise.
func (a *acknowledger) add(tag uint64, m *message.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending = append(a.pending, settled{tag, m})
	if len(a.pending) >= ackBatch {
		select {
		case a.wake <- struct{}{}:
		default:
		}
	}
}

// finish acknowledges the rest and returns when the broker has got everything.
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
		a.mu.Lock()
		batch := a.pending
		a.pending = nil
		a.mu.Unlock()
		if err := a.batch(batch); err != nil {
			a.failed(fmt.Errorf("acknowledge: %w", lost(err)))
			a.lose(batch, err)
			a.drain(err)
			return
		}
	}
	if err := a.source.flush(); err != nil {
		a.failed(fmt.Errorf("acknowledge: %w", lost(err)))
		a.lose(nil, err)
	}
}

// batch acknowledges messages, waits until the broker has got it, and counts them.
func (a *acknowledger) batch(batch []settled) error {
	if len(batch) == 0 {
		return nil
	}
	// All from the head of the queue on go with one acknowledgement; behind a message that is kept, each needs its own.
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

// forget lets go of what the queue has certainly taken in, as far as anybody can know.
func (a *acknowledger) forget() {
	applied, waiting := a.source.stashed()
	first, n := len(a.sent), 0
	for first > 0 {
		s := &a.sent[first-1]
		if !(waiting && s.command > applied) && (n >= latestMost || time.Since(s.at) > latest) {
			break
		}
		n += len(s.positions)
		first--
	}
	a.sent = a.sent[first:]
}

// lose counts what became uncertain when the queue's channel went.
func (a *acknowledger) lose(batch []settled, err error) {
	reason := fmt.Sprintf("it was published and confirmed, but its original could not be acknowledged (%s): it may "+
		"be in both queues", words(err))
	if a.outcome == plan.Dropped {
		reason = fmt.Sprintf("its acknowledgement may not have reached the broker (%s): it may still be there", words(err))
	}
	for _, s := range batch {
		a.ledger.record(plan.Unsure, s.message, reason)
	}
	a.doubt(err)
}

// doubt counts what was acknowledged, and what the queue may not have taken in before its channel went: what waits in
// the channel, and when the broker is being stopped, the latest.
func (a *acknowledger) doubt(err error) {
	var e *amqp.Error
	stopped := errors.As(a.source.reason(err), &e) && e.Code == amqp.ConnectionForced
	applied, waiting := a.source.stashed()
	for _, s := range a.sent {
		if stopped || waiting && s.command > applied {
			a.ledger.doubt(s.positions)
		}
	}
	a.sent = nil
}

// drain takes what still comes, until the end.
func (a *acknowledger) drain(err error) {
	<-a.ending
	a.mu.Lock()
	rest := a.pending
	a.pending = nil
	a.mu.Unlock()
	a.lose(rest, err)
}
