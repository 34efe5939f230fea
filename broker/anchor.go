package broker

import (
	"errors"
	"sync/atomic"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
)

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

// forgotten is why the queue no longer knows what is held; nil while it does.
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
