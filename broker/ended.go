package broker

import (
	"errors"
	"fmt"
	"math"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker/link"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
)

// endedBy returns how the look ended, if not by dlxtop: what the broker does when a queue is gone, or when it stops,
// does not indicate a message that ends every look.
func (s *source) endedBy() (ended model.Ended) {
	var why *amqp.Error
	if !s.holding.IsClosed() || !errors.As(s.reason(nil), &why) {
		return ended
	}
	if known := link.ReasonOf(link.OnQueue, why); known != link.UnknownReason {
		return ended
	}

	// 541, too, when the queue's node is unreachable (4.3.6)
	nothingComes := s.plan.Method != peek.Get && !s.open.Load() && why.Code == amqp.InternalError
	if nothingComes || s.plan.Type == model.Classic && s.asking.Load() > 0 {
		return ended
	}
	ended = model.Ended{
		By: model.EndedByBroker, Said: fmt.Sprintf("%d %s", why.Code, link.Words(why)),
		// amqp091-go 1.16 drops deliveries that it has not passed on when a connection ends
		Before: int64(s.held() + s.link.Wire.Unclaimed()), Times: s.plan.Ended.Times + 1, At: time.Now(),
	}

	_, broken := s.link.Wire.Heard()
	switch {
	case why.Server && why.Code == amqp.InternalError && model.ParseVersion(s.link.Version()).AtLeast(4, 0):
		ended.By = model.EndedByConversion
	case why.Server:
	case broken != nil:
		ended.By, ended.Said = model.EndedByCut, link.Words(why)
	default:
		ended.By = model.EndedByClient
	}

	return ended
}

// explained is err, or how the look ended if that is the cause, and another one would most likely end so, too.
func (s *source) explained(err error) error {
	if err == nil {
		return nil
	}
	if ended := s.endedBy(); ended.Sure() {
		return &peek.LookEnded{Type: s.plan.Type, Ended: ended}
	}
	return err
}

// most returns how many further messages may be taken. When messages of a quorum queue at which a look ended are
// acknowledged, they are so few that no acknowledgement is buffered: flush would have to take the next message.
func (s *source) most() int {
	most := s.plan.Most()
	switch {
	case most == 0:
		return math.MaxInt
	case s.acts && s.plan.Type == model.Quorum:
		most = min(most, stashLimit)
	}

	return max(int(most)-s.taken, 0)
}

// reason returns why the holding channel was closed, when amqp091-go only says that it is.
func (s *source) reason(err error) error {
	if s.silent.Load() {
		return model.ErrQueueSilent
	}
	if s.holding.IsClosed() && s.why.Load() == nil {
		select {
		case why := <-s.closed: // sent, or closed, a moment after the channel counts as closed
			if why != nil {
				s.why.Store(why)
			}
		case <-time.After(time.Second):
		}
	}

	if why := s.why.Load(); why != nil {
		return why
	}

	return err
}

// gone returns why the broker ended a consumer.
func (s *source) gone() error {
	if s.holding.IsClosed() {
		return link.QueueError("read", s.plan.Queue, s.reason(amqp.ErrClosed))
	}
	_, err := s.ready()
	for _, known := range []error{model.ErrQueueGone, model.ErrQueueDown} {
		if errors.Is(err, known) {
			return model.Errorf("read %v: %w", s.plan.Queue, known)
		}
	}

	return model.Errorf("read %v: %w: the queue's node went down or was out of sight, or its leader moved",
		s.plan.Queue, errForgotten)
}
