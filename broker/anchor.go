package broker

import (
	"errors"
	"sync/atomic"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
)

// anchor is a consumer that stays while messages of a classic queue are acknowledged. When the queue's node dies,
// stands still or is out of sight for a moment, the queue forgets who holds what; acknowledging that draws no error,
// and only a channel that has a consumer then hears basic.cancel (3.10.8, 4.3.6). Its prefetch is 1, and it holds the
// last message of a page, so that nothing else comes to it: that one is acknowledged when the next page has an anchor
// and this one is cancelled, or at the end.
type anchor struct {
	consumer   string // its tag; "": there is none
	deliveries <-chan amqp.Delivery
	holds      atomic.Uint64 // the tag of its message; 0: it has none
	cancels    chan string   // consumers that the broker ended
}

// mostCancels bounds the cancellations that wait to be read: at most an old anchor, a new one and a page are consumers.
const mostCancels = 8

// anchors reports whether what is acknowledged needs an anchor. A queue that is read by basic.get cannot have one.
func (s *source) anchors() bool {
	return s.acts && s.plan.Type == model.Classic && s.plan.Method == peek.Consume
}

// replaceAnchor keeps the consumer that took the last message of a page, and returns the one that can be cancelled, ""
// when none can: the earlier anchor, or this one when nothing came to it.
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

// raiseAnchor ends the anchor, so that its message can be acknowledged and no other comes to it.
func (s *source) raiseAnchor() error {
	s.calls.Lock()
	defer s.calls.Unlock()
	consumer := s.anchor.consumer
	if s.anchor.consumer = ""; consumer == "" {
		return nil
	}
	s.anchor.holds.Store(0)
	if err := s.holding.Cancel(consumer, false); err != nil {
		return s.reason(err)
	}
	return s.forgotten()
}

// forgotten is why the queue does not know any more what is held; nil while it does.
func (s *source) forgotten() error {
	if len(s.anchor.cancels) == 0 {
		return nil
	}
	return s.gone()
}

// forgets reports whether a queue may have forgotten what was held of it, and what it had not written down, when an
// acknowledgement fails: its node went, or the connection did, perhaps with the node. It has not when the broker
// closed the channel for another reason, and one that was deleted has nothing to forget. A quorum queue forgets
// nothing, but what was sent to it last may not have come to a leader.
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

// errForgotten is that a queue has forgotten what was held of it.
var errForgotten = errors.New("the broker ended the consumer")
