package broker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker/link"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

const (
	// tick is how long deliveries may pause before the broker is asked whether the queue has more.
	tick = 25 * time.Millisecond
	// late is how long an action, or a look that prepares one, waits for messages that a quorum queue counted as ready but
	// did not deliver: the leader counts, and another member may deliver later (3.10.8, 4.3.6).
	late = 2 * time.Second
	// silentFor is how long a request that needs a classic queue may remain without an answer where another node can be
	// asked then, and aloneFor where none can: what does not answer is a broker that is very busy, rather than a node that
	// was killed.
	silentFor = 10 * time.Second
	aloneFor  = time.Minute
	// settling bounds how long a page that is ended early waits for deliveries in flight.
	settling = 5 * time.Second
	// streamStart is how long a stream may take to deliver its first message, streamPause each further one.
	streamStart, streamPause = 2 * time.Second, 250 * time.Millisecond
	// stashLimit is how many acknowledgements to a quorum queue may be in flight without being buffered: from 32 on, a
	// channel buffers them and drops them when it is closed (3.10.8 to 4.3.6; rabbitmq-server issue 10327).
	stashLimit = 16
	// comeback bounds the wait until messages returned to a quorum queue are ready again, and brinkComeback the same wait
	// where one more return would lose some of them: when a consumer is cancelled, RabbitMQ counts messages in flight to
	// it as returned (3.10.8), and the next look may be such a consumer.
	comeback      = 500 * time.Millisecond
	brinkComeback = turnLimit
)

// With 33 consumers or more, their messages return to a quorum queue out of order (3.10.8, 4.0.5). An execution uses
// maxPages of them, which leaves some for extend.
const (
	maxPages     = 20
	maxConsumers = 31
)

// errNothingComes ends a page although messages are ready: the queue serves other consumers first.
var errNothingComes = errors.New("messages are ready, but none came: consumers of the queue are served first")

// source takes messages from the head of one queue, page by page, and holds them until they are acknowledged or given
// back.
//
// Each page has its own consumer, with the page's size as its prefetch. The consumer is cancelled when the page is full
// or the queue is empty; only then may the messages be acknowledged. This keeps the order on quorum queues: when a
// consumer is cancelled, messages in flight to it return at once, ahead of those still held, and an acknowledgement
// makes room for more (3.10.8, 4.0.5, 4.3.6). Up to 32 such consumers on a channel return their messages in order,
// further ones do not.
//
// One goroutine takes pages; another may call acknowledge and sync.
type source struct {
	client  *Client
	plan    peek.Plan
	link    *link.Link
	holding *amqp.Channel
	probe   *amqp.Channel // counts: an error on it must not void what is held
	closed  chan *amqp.Error
	why     atomic.Pointer[amqp.Error] // the error that closed holding; nil while it is open
	depth   int64                      // ready messages when the source was opened

	disconnect func() // closes the channels
	released   func() // records that nothing is held any more
	turn       *turn  // nil for a stream

	calls    sync.Mutex // one synchronous call at a time on holding
	prefetch int
	pages    int // consumers so far
	taken    int // messages so far
	// again: the last message had been returned before, so there may be more of these behind it.
	again bool

	anchor anchor       // of a classic queue
	silent atomic.Bool  // the queue did not answer in time
	asking atomic.Int32 // passive declares without an answer
	open   atomic.Bool  // a page is open: messages may be in flight

	brink   *doomedMessages
	rescuer *rescuer // nil: nothing had to be rescued yet

	recognizers []recognizer // of replays that are watched
	acts        bool         // messages are acknowledged
	noted       bool         // this look was counted
	highest     int64        // highest delivery count that a message may have after the release

	acknowledged atomic.Int64 // messages
	commands     atomic.Int64 // acknowledgements sent
	applied      atomic.Int64 // of these, how many a quorum queue has certainly applied
	through      int64        // of these, how many were sent before the last consumer
}

// eachTaken receives the messages that a source takes, in order, with delivery tags and without fingerprints.
type eachTaken func(tag uint64, m *message.Message)

// openSource waits for the turn at a queue, opens it, and counts its messages; it takes none yet. Until its release the
// queue counts as held by dlxtop. acts: messages will be acknowledged. The error is a *peek.LimitReached or a
// *peek.RescueImpossible where taking messages could lose them.
func (c *Client) openSource(ctx context.Context, plan peek.Plan, acts bool) (_ *source, err error) {
	s := &source{client: c, plan: plan, acts: acts, brink: &doomedMessages{plan: plan}}
	if plan.Method != peek.Stream {
		if s.turn, err = c.takeTurn(ctx, plan.Queue, s.acts || plan.Decides); err != nil {
			return nil, err
		}
	}

	if err := link.Patiently(ctx, link.IsChannelLimit, func() error { return s.connect(ctx) }); err != nil {
		if errors.Is(err, model.ErrQueueGone) {
			c.forget(ctx, plan.Queue)
		}
		s.turn.end()
		return nil, err
	}

	if plan.Careful() { // a rescue must be possible while the source's channels are open
		err = c.canRescue(ctx, plan)
	}
	if err == nil {
		err = c.lookBegins(ctx, s)
	}

	if err != nil {
		s.disconnect()
		s.turn.end()
		return nil, err
	}

	ended := c.holds.begin(plan.Queue)
	c.outdate(s) // already now: the program may be killed while it acts
	s.released = func() { s.disconnect(); ended(); c.outdate(s); s.turn.end() }
	s.recognizers = c.watched.of(plan.Queue)
	return s, nil
}

// connect opens both channels, before any message is held on them, and counts the queue's messages.
func (s *source) connect(ctx context.Context) error {
	held, release, err := s.client.Hold(ctx, s.plan.Queue.VHost)
	if err != nil {
		return err
	}
	s.link = held
	var channels []*amqp.Channel
	s.disconnect = func() {
		for _, channel := range channels {
			_ = channel.Close()
		}
		release()
	}

	if s.probe, err = s.client.Open(held.Connection); err == nil {
		channels = append(channels, s.probe)
		s.depth, err = s.awaitLeast(ctx)
	}

	if err == nil {
		s.holding, err = s.client.Open(held.Connection)
	}

	if err != nil {
		s.disconnect()
		return err
	}

	channels = append(channels, s.holding)
	s.closed = s.holding.NotifyClose(make(chan *amqp.Error, 1))
	s.anchor.cancels = s.holding.NotifyCancel(make(chan string, mostCancels))
	return nil
}

// ready counts the ready messages. It waits for a queue that does not answer as long as for messages. A stream has no
// such count and reports 0 (all versions).
func (s *source) ready() (int64, error) {
	for began := time.Now(); ; {
		q, answered, err := s.declared(s.probe)
		switch {
		case err != nil:
			return 0, link.QueueError("count", s.plan.Queue, err)
		case answered:
			return int64(q.Messages), nil
		case time.Since(began) > s.plan.Timeout:
			return 0, link.QueueError("count", s.plan.Queue, model.ErrQueueSilent)
		}
	}
}

// awaitLeast counts the ready messages. Messages that a look returned may be back late: the queue is asked again, for a
// while, until it has as many as it should. RabbitMQ also says 0 where it does not know the leader of a quorum queue
// (3.10.8 to 4.3.6), for several seconds after a node has ended. Where there should be messages a 0 is not
// believed: the result is the expected number, for a look no bound, and the consumer that reads shows what is there.
func (s *source) awaitLeast(ctx context.Context) (depth int64, err error) {
	quorum := s.plan.Type == model.Quorum
	var least int64
	if quorum {
		least = s.plan.Least
	}
	if s.plan.Acts {
		s.client.mu.Lock()
		if returned := s.client.late[s.plan.Queue]; time.Since(returned.at) < settling {
			least = max(least, returned.messages)
		}
		delete(s.client.late, s.plan.Queue)
		s.client.mu.Unlock()
	}

	for began := time.Now(); ; {
		depth, err = s.ready()
		over := time.Since(began) > settling
		unknown := quorum && depth == 0 && !s.acts
		nothingReturned := least == s.plan.Least
		switch {
		case err != nil, depth >= least, over && !quorum:
			return depth, err
		case unknown && (over || nothingReturned):
			return math.MaxInt32, nil
		case depth == 0 && over:
			return least, nil
		case over:
			return depth, nil
		}

		if err := pause(ctx, countEvery); err != nil {
			return depth, err
		}
	}
}

// declared declares the queue passively, like Client.Declared.
func (s *source) declared(channel *amqp.Channel) (q amqp.Queue, answered bool, err error) {
	s.asking.Add(1)
	err = s.inTime(func() (err error) {
		q, answered, err = s.client.Declared(channel, s.plan.Queue.Name)
		return err
	})

	if err == nil {
		s.asking.Add(-1)
	}

	return q, answered, err
}

// inTime sends a request that needs the queue, and closes the connection when no answer comes in time: while RabbitMQ
// looks for a classic queue whose node was killed, the channel answers nothing for 70 to 104 s (4.3.6).
func (s *source) inTime(request func() error) error {
	if s.plan.Type == model.Quorum {
		return request()
	}
	patience := aloneFor
	if s.client.Several() {
		patience = silentFor
	}

	limit := time.AfterFunc(patience, func() {
		s.silent.Store(true)
		s.link.HangUp()
	})

	err := request()
	if !limit.Stop() {
		return model.ErrQueueSilent
	}

	return err
}

// takeNext takes the next n messages, up to 65,535, with one consumer. With 0 it only consumes and cancels, and takes
// what arrives meanwhile: at most one message. It ignores delivery limits: page respects them.
func (s *source) takeNext(ctx context.Context, n int, each eachTaken) (taken int, err error) {
	switch {
	case s.plan.Method == peek.Get:
		return s.get(ctx, n, each)
	case !s.anchors() || n == 0:
		return s.takeWith(ctx, n, false, each)
	case n > 1:
		if taken, err = s.takeWith(ctx, n-1, false, each); err != nil || taken < n-1 && s.anchor.consumer != "" {
			return taken, err
		}
	}

	last, err := s.takeWith(ctx, 1, true, each)
	return taken + last, err
}

// takeWith takes the next n messages with one consumer, which stays if it is an anchor.
func (s *source) takeWith(ctx context.Context, n int, anchors bool, each eachTaken) (taken int, err error) {
	sent, stashed := s.commands.Load(), s.stashed()
	tag := fmt.Sprintf("%s%04d", model.ConsumerTag, s.pages) // quorum queues return messages in the order of the tags
	s.pages++
	deliveries, err := s.consume(tag, n)
	if err != nil {
		return 0, link.QueueError("consume", s.plan.Queue, err)
	}
	s.open.Store(true)
	last := uint64(0)
	receive := func(d *amqp.Delivery) {
		taken++
		last = d.DeliveryTag
		s.again = d.Redelivered
		s.took(d, each)
	}

	ended, err := s.receive(ctx, deliveries, n, &taken, receive)
	if ended {
		return taken, err
	}

	first := anchors && s.anchor.consumer == ""
	if first && taken == 0 && err == nil {
		err = s.arrive(deliveries, receive)
	}

	s.open.Store(taken < n)
	held := last
	if anchors {
		if tag, deliveries = s.replaceAnchor(tag, deliveries, last); tag == "" {
			return taken, err
		}
	}

	// Deliveries still in flight are taken too: a message that is not received would stay unacknowledged.
	cancelled := make(chan error, 1)
	go func() {
		s.calls.Lock()
		defer s.calls.Unlock()
		err := s.cancel(tag)
		if err != nil {
			_ = s.holding.Close() // so that the deliveries end
		}
		cancelled <- err
	}()

	for d := range deliveries {
		receive(&d)
	}
	if e := <-cancelled; e != nil {
		return taken, link.QueueError("cancel the consumer of", s.plan.Queue, s.reason(e))
	}
	if anchors && held != 0 { // only now: acknowledging the old anchor's message would let it receive another
		s.anchor.holds.Store(held)
	}

	s.open.Store(false)
	// Consume and cancel went through the queue's log, behind what was sent before. What the channel had buffered follows,
	// and is applied once the next consume and cancel have gone through.
	through := s.through
	if s.through = sent; !stashed {
		through = sent
	}

	s.applied.Store(through)
	return taken, err
}

func (s *source) consume(tag string, n int) (<-chan amqp.Delivery, error) {
	arguments := amqp.Table{}
	if s.plan.Priority != 0 {
		arguments["x-priority"] = int32(s.plan.Priority)
	}
	if s.plan.Method == peek.Stream {
		arguments = amqp.Table{"x-stream-offset": "first"} // a stream refuses a priority (406)
	}
	if s.anchors() {
		arguments["x-cancel-on-ha-failover"] = true // 3.10 would silently register it again
	}

	s.calls.Lock()
	defer s.calls.Unlock()
	s.prefetch = max(n, 1) // 0 means no limit
	if err := s.holding.Qos(s.prefetch, 0, false); err != nil {
		return nil, s.reason(err)
	}
	var deliveries <-chan amqp.Delivery
	err := s.inTime(func() (err error) {
		deliveries, err = s.holding.Consume(s.plan.Queue.Name, tag, false, false, false, false, arguments)
		return err
	})
	if err != nil {
		return nil, s.reason(err)
	}

	return deliveries, nil
}

func (s *source) cancel(consumer string) error {
	return s.inTime(func() error { return s.holding.Cancel(consumer, false) })
}

// receive takes deliveries until there are n, the queue has no more, or ctx ends. ended: the broker ended the consumer.
func (s *source) receive(
	ctx context.Context, deliveries <-chan amqp.Delivery, n int, taken *int, each func(*amqp.Delivery),
) (ended bool, err error) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	latest := -1
	at := time.Now()
	empty := 0
	done, ending := ctx.Done(), time.Time{}
	var d amqp.Delivery

	var ok bool
	for *taken < n {
		select {
		case d, ok = <-deliveries:
			if !ok {
				return true, s.gone()
			}
			each(&d)
		case <-done:
			done, ending = nil, time.Now()
			if s.plan.Type == model.Classic {
				return false, nil // its order survives a cancel at any moment
			}
		case now := <-ticker.C:
			if *taken != latest {
				latest, at, empty = *taken, now, 0
				if ending.IsZero() || now.Sub(ending) < settling {
					continue
				}
			}

			idle := now.Sub(at)
			if !ending.IsZero() {
				return false, nil
			}
			if s.plan.Method == peek.Stream {
				if latest > 0 && idle > streamPause || idle > streamStart {
					return false, nil
				}
				continue
			}

			q, answered, err := s.declared(s.probe)
			switch {
			case err != nil:
				return false, link.QueueError("count", s.plan.Queue, err)
			case !answered, s.plan.Type == model.Quorum && q.Consumers == 0: // 0 is wrong: we are one
				if idle > s.plan.Timeout {
					return false, link.QueueError("read", s.plan.Queue, model.ErrQueueSilent)
				}
			case q.Messages > 0:
				empty = 0
				if idle > s.plan.Timeout {
					return false, errNothingComes
				}
			default:
				empty++
				missing := s.plan.Acts && s.plan.Type == model.Quorum && int64(s.taken) < s.depth
				if empty > 1 && (!missing || idle > late) { // empty for a tick, and nothing in flight to us
					return false, nil
				}
			}
		}
	}

	return false, nil
}

// arrive receives what is on its way to the first anchor: the queue no longer counts it as ready, and as this consumer
// is not cancelled, nobody else would read it. The broker sends it before it answers later requests of the channel.
func (s *source) arrive(deliveries <-chan amqp.Delivery, each func(*amqp.Delivery)) error {
	err := s.sync()
	for err == nil && s.link.Wire.Unclaimed() > 0 {
		d, ok := <-deliveries
		if !ok {
			return s.gone()
		}
		each(&d)
	}

	return err
}

func (s *source) took(d *amqp.Delivery, each eachTaken) {
	s.taken++
	m := s.link.Wire.Message(d)
	s.brink.note(d.DeliveryTag, &m, s.taken)
	for i := range s.recognizers {
		s.recognizers[i].look(&m, s.taken)
	}
	each(d.DeliveryTag, &m)
}

func (s *source) get(ctx context.Context, n int, each eachTaken) (taken int, err error) {
	for taken < n && ctx.Err() == nil {
		s.calls.Lock()
		d, ok, err := s.holding.Get(s.plan.Queue.Name, false)
		s.calls.Unlock()
		if err != nil {
			return taken, link.QueueError("read", s.plan.Queue, s.reason(err))
		}
		if !ok {
			break
		}
		taken++
		s.took(&d, each)
	}

	return taken, nil
}

// held returns the number of messages that are neither acknowledged nor given back.
func (s *source) held() int { return s.taken - int(s.acknowledged.Load()) }

// acknowledge removes a message from the queue for good, and with multiple all that are held before it: n in total. The
// tag must be held. It does not wait: sync does.
func (s *source) acknowledge(tag uint64, multiple bool, n int) error {
	s.acknowledged.Add(int64(n))
	err := s.holding.Ack(tag, multiple)
	s.commands.Add(1) // after the Ack: what it counts was sent before the next consumer
	if err == nil {
		s.brink.acknowledged(tag, multiple)
	}
	return err
}

// sync returns when everything sent before has reached the broker, and a classic queue that still knows which messages
// are held. The channel notices that a queue was unreachable before it gets that queue's answer, and reports it before
// its own next answer.
func (s *source) sync() error {
	s.calls.Lock()
	defer s.calls.Unlock()
	if s.anchors() {
		_, answered, err := s.declared(s.holding)
		if err == nil && !answered {
			err = model.ErrQueueSilent
		}
		if err != nil {
			return link.QueueError("ask", s.plan.Queue, s.reason(err))
		}
	}

	if err := s.holding.Qos(max(s.prefetch, 1), 0, false); err != nil {
		return s.reason(err)
	}

	return s.forgotten()
}

// stashed reports whether a channel may be buffering acknowledgements to a quorum queue.
func (s *source) stashed() bool {
	return s.plan.Type == model.Quorum && s.commands.Load()-s.applied.Load() > stashLimit
}

// flush makes sure that the queue has applied all acknowledgements.
//
// A classic queue answers a passive declare ahead of acknowledgements that it has received, and a cancel behind them
// (3.10 to 4.3: prioritise_call in rabbit_amqqueue_process.erl).
//
// A queue read with basic.get has no consumer that would notice if it took the messages back; only its count shows
// that. Others may have published some of the surplus, so it has to be large.
//
// While a quorum queue has no leader, the channel buffers acknowledgements for the next one, and drops them when it is
// closed. A queue without a leader also reports a count of 0 (4.3.6); any other count means that a leader answered, and
// that the buffered ones are on their way to it. With 0, or where the channel buffered some, more consumers go through
// the queue's log behind them. While messages are left, each takes and holds one, because a cancel with a message in
// flight would change the order.
func (s *source) flush() error {
	switch {
	case s.commands.Load() == s.applied.Load():
		return nil
	case s.anchors():
		s.calls.Lock()
		defer s.calls.Unlock()
		return s.cancelAnchor()
	case s.plan.Type != model.Quorum && s.plan.Method != peek.Get:
		return nil
	}

	s.calls.Lock()
	q, _, err := s.declared(s.holding)
	s.calls.Unlock()
	if err != nil {
		return link.QueueError("ask", s.plan.Queue, s.reason(err))
	}
	if s.plan.Method == peek.Get {
		if more := int64(q.Messages) - s.depth + int64(s.taken); more > s.acknowledged.Load()/2 {
			return model.Errorf("read %v: it has %v message(s) more than were left: they were published meanwhile, or came back",
				s.plan.Queue, more)
		}
		return nil
	}

	if q.Messages > 0 && (!s.stashed() || s.plan.Most() > 0) {
		return s.sync()
	}
	ctx, cancel := context.WithTimeout(context.Background(), settling)
	defer cancel()
	for s.commands.Load() > s.applied.Load() {
		_, err := s.takeNext(ctx, min(q.Messages, 1), func(uint64, *message.Message) {})
		if err != nil && !errors.Is(err, errNothingComes) {
			return err
		}
	}

	return nil
}
