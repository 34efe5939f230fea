package broker

import (
	"errors"
	"fmt"
	"math"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
)

// endedBy is how the look ended when dlxtop has not ended it: what the broker does when a queue is gone, or when it
// stops, is no sign of a message that ends every look.
func (s *source) endedBy() (ended model.Ended) {
	var why *amqp.Error
	if !s.holding.IsClosed() || !errors.As(s.reason(nil), &why) {
		return ended
	}
	if known := reasonOf(onQueue, why); known != unknownReason {
		return ended
	}
	// 541, too, when the queue's node is out of sight (4.3.6)
	nothingComes := s.plan.Method != peek.Get && !s.open.Load() && why.Code == amqp.InternalError
	if nothingComes || s.plan.Type == model.Classic && s.asking.Load() > 0 {
		return ended
	}
	ended = model.Ended{
		By: model.EndedByBroker, Said: fmt.Sprintf("%d %s", why.Code, words(why)),
		// amqp091-go 1.16 drops what it has not handed out when a connection ends
		Before: int64(s.held() + s.wire.Unclaimed()), Times: s.plan.Ended.Times + 1, At: time.Now(),
	}
	_, broken := s.wire.Heard()
	switch {
	case why.Server && why.Code == amqp.InternalError && s.version.AtLeast(4, 0):
		ended.By = model.EndedByConversion
	case why.Server:
	case broken != nil:
		ended.By, ended.Said = model.EndedByCut, words(why)
	default:
		ended.By = model.EndedByClient
	}
	return ended
}

// explained is err, or how the look ended when that is why, and another one would most likely end so, too.
func (s *source) explained(err error) error {
	if err == nil {
		return nil
	}
	if ended := s.endedBy(); ended.Sure() {
		return &peek.LookEnded{Queue: s.plan.Queue, Type: s.plan.Type, Ended: ended}
	}
	return err
}

// most is how many further messages may be taken. Where some are acknowledged of a quorum queue at which a look ended,
// they are so few that none of the acknowledgements waits: flush would have to take the next message.
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

// reached is why no further message is taken although one may be there.
func (s *source) reached() error {
	return &peek.LookEnded{Queue: s.plan.Queue, Type: s.plan.Type, Ended: s.plan.Ended, Reached: true}
}

// complete reports whether all was taken that the queue held.
func (s *source) complete() bool {
	if s.plan.Method == peek.Stream {
		return s.taken < s.prefetch
	}
	return int64(s.taken) >= s.depth
}
