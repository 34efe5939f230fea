package broker

import (
	"cmp"
	"context"
	"errors"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker/link"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

// giveBack gives back what a source holds, in order, whatever ended its work. Messages that would be lost by this are
// rescued. The error is why the work ended, nil for well, or else why it could not give back everything.
func (c *Client) giveBack(s *source, why error) (rescued peek.Rescued, err error) {
	quorum := s.plan.Type == model.Quorum
	s.brink.unclaim()
	rescued = s.rescueAll()
	// Further messages may also be at their limit, or end the look.
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
	for i := range s.recognizers {
		s.recognizers[i].ends(s.taken, s.depth)
	}

	err = s.explained(err)
	if e := s.release(); e != nil && err == nil {
		err = link.QueueError("give the messages back to", s.plan.Queue, e)
	}

	return rescued, cmp.Or(why, err)
}

// extend takes the messages that a quorum queue got back before, which it keeps ahead of its others. The queue puts
// returned messages behind those returned earlier (3.10.8, 4.0.5, 4.3.6), so taking only some of them would change the
// order. expected is how many there probably are, 0 when unknown.
func (s *source) extend(ctx context.Context, expected int) error {
	for n := 1; s.again && s.taken != expected && s.pages < maxConsumers && ctx.Err() == nil &&
		len(s.brink.unclaimed()) == 0; n = min(2*n, peek.MaxPage) {
		if expected > s.taken {
			n = min(expected-s.taken, peek.MaxPage)
		}

		if s.plan.Counts {
			// A consumer that receives all it asks for has nothing in flight when it is cancelled.
			ready, err := s.ready()
			if err != nil || ready == 0 {
				return err
			}
			n = int(min(int64(n), ready))
		}

		if taken, err := s.takeNext(ctx, n, func(uint64, *message.Message) {}); err != nil || taken < n {
			return err
		}
	}

	return nil
}

// release gives back everything held, in the way the plan says, and closes the source. It takes no context: the
// messages go back whatever ended the work.
func (s *source) release() error {
	defer s.released()
	s.calls.Lock()
	defer s.calls.Unlock()
	if s.holding.IsClosed() {
		return s.reason(amqp.ErrClosed)
	}
	wait := s.plan.Method != peek.Stream && s.held() > 0

	var others int64
	var err error
	if wait {
		others, err = s.ready()
		wait = err == nil // the queue is there
	}

	if s.plan.Release == peek.ReleaseNack && s.plan.Method != peek.Stream {
		if err := s.holding.Nack(0, true, true); err != nil { // 0: all
			return s.reason(err)
		}
	}

	if err := s.inTime(s.holding.Close); err != nil {
		return err
	}
	if wait {
		s.awaitReturn(others + int64(s.held()))
	}

	return nil
}

// awaitReturn waits until a queue counts the returned messages again: that takes a moment (3.10.8, classic and quorum),
// and an immediate look would miss some. The wait is short, because consumers may take the messages meanwhile. It is
// longer where some of them are now at their delivery limit, and the time starts only when the queue answers. An
// action, or a look that decides about one, waits for the rest.
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

	if s.plan.Priority == 0 { // no consumer takes them
		s.client.mu.Lock()
		s.client.late[s.plan.Queue] = lateReturn{want, time.Now()}
		s.client.mu.Unlock()
	}
}

// lateReturn is how many messages a queue should have, which showed fewer after a look had returned them.
type lateReturn struct {
	messages int64
	at       time.Time
}
