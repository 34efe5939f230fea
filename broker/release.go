package broker

import (
	"context"
	"errors"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker/link"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

// giveBack gives back what a source holds, in its order, whatever ended the work with it. What would be lost by that is
// rescued.
func (c *Client) giveBack(s *source) (rescued peek.Rescued, err error) {
	quorum := s.plan.Type == model.Quorum
	s.brink.unclaim()
	rescued = s.rescueAll()
	// Further messages may be at their limit, too, or end the look.
	ends := rescued.Any() && s.plan.Careful() || s.plan.Ended.Sure()
	if quorum && s.held() > 0 && !s.holding.IsClosed() && !ends {
		c.mu.Lock()
		expected := c.returned[s.plan.Queue]
		c.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), settling)
		err = s.extend(ctx, expected)
		cancel()
		if errors.Is(err, errNothingComes) {
			err = nil
		}
		rescued = rescued.With(s.rescueAll())
	}
	if quorum {
		c.mu.Lock()
		c.returned[s.plan.Queue] = s.held()
		c.mu.Unlock()
	}
	s.highest = c.lookEnds(s) // before another look begins
	err = s.explained(err)
	if e := s.release(); e != nil && err == nil {
		err = link.QueueError("give the messages back to", s.plan.Queue, e)
	}
	return rescued, err
}

// extend takes what a quorum queue got back before and holds in front of its other messages. It puts what it gets back
// behind the earlier ones (3.10.8, 4.0.5, 4.3.6): taking only a part of these would change the order. expected is how
// many they probably are, 0 when that is not known.
func (s *source) extend(ctx context.Context, expected int) error {
	for n := 1; s.again && s.taken != expected && s.pages < maxConsumers && ctx.Err() == nil &&
		len(s.brink.unclaimed()) == 0; n = min(2*n, peek.MaxPage) {
		if expected > s.taken {
			n = min(expected-s.taken, peek.MaxPage)
		}
		if s.plan.Counts {
			// A consumer that gets all that it wants cannot be cancelled while something is on the way to it.
			ready, err := s.ready()
			if err != nil || ready == 0 {
				return err
			}
			n = int(min(int64(n), ready))
		}
		if taken, err := s.take(ctx, n, func(uint64, *message.Message) {}); err != nil || taken < n {
			return err
		}
	}
	return nil
}

// release gives back everything that is held, as the plan says, and closes. It depends on no context: whatever ended
// the work, the messages go back.
func (s *source) release() error {
	defer s.released()
	s.calls.Lock()
	defer s.calls.Unlock()
	if s.holding.IsClosed() {
		return s.reason(amqp.ErrClosed)
	}
	wait := s.plan.Method != peek.Stream && s.held() > 0
	var others int64
	if wait {
		var err error
		if others, err = s.ready(); err != nil {
			wait = false // the queue is gone
		}
	}
	if s.plan.Release == peek.ReleaseNack && s.plan.Method != peek.Stream {
		if err := s.holding.Nack(0, true, true); err != nil { // 0 is all
			return s.reason(err)
		}
	}
	if err := s.holding.Close(); err != nil {
		return err
	}
	if wait {
		s.awaitReturn(others + int64(s.held()))
	}
	return nil
}

// awaitReturn waits until a queue shows what it got back: that takes a moment (3.10.8, classic and quorum), and a look
// at once would not find all. It does not wait long, because consumers may take the messages meanwhile; but where some
// of it is at its delivery limit now, it lets the next look wait, and a queue that does not answer has no time yet to
// take anything back. An action, or a look that decides about one, waits for the rest.
func (s *source) awaitReturn(want int64) {
	limit := s.client.comeback
	if s.plan.Doomed(s.brink.given()) {
		limit = brinkComeback
	}
	if s.plan.Priority != 0 {
		limit /= 5
	}
	began := time.Now()
	for latest := began.Add(s.plan.Timeout); time.Since(began) < limit; time.Sleep(2 * time.Millisecond) {
		q, answered, err := s.declared(s.probe)
		if err == nil && int64(q.Messages) >= want {
			return
		}
		if err != nil {
			break
		}
		if !answered && time.Now().Before(latest) {
			began = time.Now()
		}
	}
	if s.plan.Type == model.Quorum && s.plan.Priority == 0 { // no consumer takes them
		s.client.mu.Lock()
		s.client.late[s.plan.Queue] = want
		s.client.mu.Unlock()
	}
}
