package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker/link"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
)

// largeBody is the body size in bytes up to which a message may be published beside others: a broker does not announce
// its maximum (max_message_size), it closes the channel.
const largeBody = 1 << 20

// windowSize is how many publishes may be in flight: enough to keep a broker busy, but uncertain after a lost
// connection.
const windowSize = 1000

// publishes names the connections that publish; their client's session is appended.
const publishes = "dlxtop replay"

// window publishes messages on its own connection, as a broker in alarm stops reading from publishing connections, and
// settles each when the broker has confirmed, refused or returned it.
type window struct {
	link     *link.Link
	channel  *amqp.Channel
	patience patience
	ledger   *ledger
	into     []plan.Recipient
	moved    func(*flight) // gets what was confirmed and not returned; called in the order of publishing

	slots   chan struct{} // one for each publish in flight
	sent    chan *flight  // in the order of publishing; as large as slots, so it never blocks
	returns chan amqp.Return
	closed  chan *amqp.Error
	blocked chan amqp.Blocking
	dead    chan struct{} // closed when nothing more can be published
	over    chan struct{} // closed when everything is settled
	running sync.WaitGroup
	known   map[string]bool

	sync.Mutex
	idle     *sync.Cond
	flying   []*flight   // from the oldest unsettled one
	failure  error       // why it is dead, in words
	refusal  *amqp.Error // the broker's words when it closed the channel because of a publish
	several  bool        // more than one was in flight when the channel was closed
	streak   []*flight   // the last ones, all of them returned; they have no outcome yet
	activity atomic.Int64
}

// flight is one message from when it is chosen until it is settled.
type flight struct {
	tag        uint64 // of the original; 0: it is in no queue
	message    *message.Message
	publishing *message.Publishing // nil: it is dropped
	properties []byte              // of the publishing, as publishable returns them
	confirm    *amqp.DeferredConfirmation
	sent       message.Fingerprint // of the published message; computed when something is returned
	worked     bool
	returned   string // the broker's words
}

// errLeavesCopies ends a run whose target is full, and dead-letters what it refuses.
var errLeavesCopies = errors.New("the target is full, and its dead-letter exchange takes a copy of each message that " +
	"it refuses: make room there, then resume")

// errUnconfirmed means that the broker, or the leader of a target, stands still.
var errUnconfirmed = errors.New("the broker confirmed nothing")

// errNacked is a nack that does not prove that no queue has the message.
var errNacked = errors.New("RabbitMQ answered basic.nack, which does not say whether a queue has the message")

// errUnreached is a nack of the only queue that a message reaches, which leaves no copy when it is full: its node may
// be unreachable.
var errUnreached = fmt.Errorf("%w: the node of its target may be unreachable", errNacked)

// mostReturns is how many messages in a row are returned before nothing more is published: their target cannot take
// any. RabbitMQ returns what goes to a classic queue whose node is down (3.10.8, 4.0.5, 4.3.6).
const mostReturns = 100

// errReturns means that a target takes nothing.
var errReturns = fmt.Errorf("no queue took the last %d messages: the node of their target went down, or its queue or "+
	"binding is gone", mostReturns)

// openWindow connects for publishing to a vhost, until ctx ends and everything in flight is settled. into are the
// queues that may be reached.
func openWindow(
	ctx context.Context, c *Client, patience patience, vhost string, into []plan.Recipient, l *ledger,
	moved func(*flight),
) (*window, error) {
	connection, channels, err := c.DialChannels(ctx, vhost, publishes+" "+c.Session, 1)
	if err != nil {
		return nil, err
	}
	w := &window{
		link: connection, channel: channels[0], patience: patience, ledger: l, moved: moved, into: into,
		slots: make(chan struct{}, windowSize), sent: make(chan *flight, windowSize),
		returns: make(chan amqp.Return, windowSize), // amqp091-go drops what is not received for 5 s
		closed:  make(chan *amqp.Error, 1),
		blocked: make(chan amqp.Blocking, 8),
		dead:    make(chan struct{}), over: make(chan struct{}), known: map[string]bool{},
	}

	w.idle = sync.NewCond(&w.Mutex)
	if err := w.channel.Confirm(false); err != nil {
		connection.Wire.Cut()
		return nil, fmt.Errorf("ask for publisher confirms: %w", link.Loss(err))
	}

	w.channel.NotifyReturn(w.returns)
	w.channel.NotifyClose(w.closed)
	connection.NotifyBlocked(w.blocked)
	w.touch()
	w.running.Go(w.settle)
	w.running.Go(func() { w.watch(ctx) })
	return w, nil
}

// publish publishes one message, waiting for room if needed. After an error nothing more can be published, and this one
// was not.
func (w *window) publish(ctx context.Context, f *flight) error {
	if err := w.acquireSlot(ctx); err != nil {
		return err
	}

	// The first message to an exchange is sent alone, and so is a large one: if the broker closes the channel because of
	// it, it is clear which one it was.
	alone := !w.known[f.publishing.Exchange] || len(f.publishing.Body) > largeBody
	if _, ends := plan.CopiesOf(w.into, f.publishing.Reaches); ends { // so that a full target gets one at most
		alone = true
	}
	if alone {
		w.quiet()
	}

	if err := w.send(f); err != nil {
		<-w.slots
		return err
	}

	if alone {
		w.quiet()
		w.known[f.publishing.Exchange] = true
	}

	return nil
}

func (w *window) acquireSlot(ctx context.Context) error {
	select {
	case <-w.dead:
		return w.why()
	case <-ctx.Done():
		return context.Cause(ctx)
	default:
	}

	select {
	case w.slots <- struct{}{}:
		return nil
	case <-w.dead:
		return w.why()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w *window) send(f *flight) error {
	w.Lock()
	if len(w.flying) == 0 {
		w.touch()
	}

	w.flying = append(w.flying, f) // before the publish: its return may come before the publish call ends
	w.Unlock()
	p := f.publishing
	w.link.Wire.Carry(f.properties)

	var err error
	if f.confirm, err = w.channel.PublishWithDeferredConfirm(p.Exchange, p.RoutingKey, true, false,
		amqp.Publishing{Body: p.Body}); err == nil {
		w.sent <- f
		return nil
	}

	w.Lock()
	w.flying = w.flying[:len(w.flying)-1]
	w.idle.Broadcast()
	w.Unlock()
	w.die(nil)
	return w.why()
}

// quiet waits until nothing is in flight. The watch makes sure that this ends.
func (w *window) quiet() {
	w.Lock()
	defer w.Unlock()
	for len(w.flying) > 0 {
		w.idle.Wait()
	}
}

// settle settles the oldest publish in flight, again and again.
func (w *window) settle() {
	defer close(w.over)
	for f := range w.sent {
		<-f.confirm.Done() // a closed channel ends it, too
		w.takeReturns()
		w.touch()
		switch {
		case f.returned != "":
			w.addToStreak(f)
		case f.confirm.Acked():
			w.endStreak()
			w.moved(f)
		case w.channel.IsClosed():
			w.settleClosed(f)
		default:
			w.settleNacked(f)
		}

		w.Lock()
		w.flying = w.flying[1:]
		w.idle.Broadcast()
		w.Unlock()
		<-w.slots
	}
}

// addToStreak notes a returned message. Those of a streak that ends the run stay untouched, so that a resume sends them
// when their target is back.
func (w *window) addToStreak(f *flight) {
	f.message.DropBody()
	f.publishing.Body = nil
	w.Lock()
	w.streak = append(w.streak, f)
	n := len(w.streak)
	w.Unlock()
	if n >= mostReturns {
		w.die(errReturns)
	}
}

// endStreak records the returned messages, unless they have ended the run. Another one was taken, or the stage is over.
func (w *window) endStreak() {
	w.Lock()
	streak := w.streak
	w.streak = nil
	w.Unlock()
	if len(streak) >= mostReturns {
		return
	}

	for _, f := range streak {
		w.ledger.record(plan.Returned, f.message, f.returned)
	}
}

// settleNacked settles a message that the broker answered with basic.nack.
func (w *window) settleNacked(f *flight) {
	left, ends := plan.CopiesOf(w.into, f.publishing.Reaches)
	w.ledger.note(func(a *plan.Account) { a.AddCopies(left) })
	outcome := plan.Unsure
	reason := errNacked.Error() + ": it may be in both queues"
	if plan.NackRefuses(w.into, f.publishing.Reaches) {
		outcome = plan.Refused
		reason = "the broker refused it (basic.nack): the queue that it reaches is full and rejects " +
			"publishes"
	}

	for i := range left {
		reason += "; " + left[i].Words()
	}

	w.ledger.record(outcome, f.message, reason)
	switch {
	case outcome == plan.Unsure && len(f.publishing.Reaches) == 1 && len(left) == 0:
		w.die(errUnreached)
	case outcome == plan.Unsure: // each further one might be in two places, too
		w.die(errNacked)
	case ends:
		w.die(errLeavesCopies)
	}
}

// settleClosed settles a message whose confirm did not come before the channel was closed. If the broker closed the
// channel because of a publish, and only one was in flight, that one is refused; otherwise any of them may have
// arrived.
func (w *window) settleClosed(f *flight) {
	w.die(nil)
	w.Lock()
	only := len(w.flying) == 1 && !w.several
	refusal := w.refusal
	w.several = true
	w.Unlock()
	if only && refusal != nil {
		w.ledger.record(plan.Refused, f.message, "the broker refused it: "+publishWords(refusal))
		return
	}

	w.ledger.record(plan.Unsure, f.message,
		"its publish was not confirmed before the channel was closed: it may be in both queues")
}

// publishWords returns the broker's words for a refused publish, with the next step if a right is missing.
func publishWords(e *amqp.Error) string {
	switch link.ReasonOf(link.OnPublish, e) {
	case link.NoWriteRight:
		return link.Words(e) + ": grant write on it (rabbitmqctl set_permissions), or use another user"
	case link.NoTopicRight:
		return link.Words(e) + ": grant write on the key (rabbitmqctl set_topic_permissions), or use another user"
	}

	return link.Words(e)
}

// takeReturns marks the messages whose returns have arrived. A return always arrives before the confirm of its message.
func (w *window) takeReturns() {
	for {
		select {
		case r, ok := <-w.returns:
			if !ok {
				w.returns = nil
				return
			}
			w.match(&r)
		default:
			return
		}
	}
}

// match finds the message that was returned. Twins are interchangeable: they went to the same address.
func (w *window) match(r *amqp.Return) {
	reason := model.Sayf("no queue took it: %v", r.ReplyText)
	back := w.link.Wire.Returned(r)
	fingerprint := message.FingerprintOf(&back)
	w.Lock()
	defer w.Unlock()

	var similar *flight
	for _, f := range w.flying {
		if f.returned != "" {
			continue
		}
		p := f.publishing
		if !f.worked {
			f.sent = f.message.FingerprintOfCopy(p)
			f.worked = true
		}

		if f.sent == fingerprint {
			f.returned = reason
			return
		}

		// A broker may add headers and a timestamp to a message (message interceptors). Returns come in the order of
		// publishing.
		if similar == nil && p.Exchange == back.Exchange && p.RoutingKey == back.RoutingKey &&
			p.Properties.MessageID == back.Properties.MessageID && string(p.Body) == string(back.Body) {
			similar = f
		}
	}

	if similar != nil {
		similar.returned = reason
		return
	}

	// This was never seen, but to be sure that nothing is lost by it, none of those in flight counts as moved.
	for _, f := range w.flying {
		if f.returned == "" {
			f.returned = "the broker returned a message that looks the same as this one"
		}
	}
}

func (w *window) touch() { w.activity.Store(time.Now().UnixNano()) }

// abort closes the connection at once, whatever it waits for; everything in flight becomes uncertain.
func (w *window) abort(why error) {
	w.die(why)
	w.link.Wire.Cut()
}

// die records that nothing more can be published, and why: nil is what the broker said when it closed the channel. The
// first reason counts.
func (w *window) die(why error) {
	w.Lock()
	defer w.Unlock()
	if w.failure != nil {
		return
	}
	if why == nil {
		why = link.Loss(amqp.ErrClosed)
		select {
		case e := <-w.closed: // nil when it was closed already
			switch {
			case e == nil:
			case w.link.IsClosed() || !e.Server:
				why = link.Loss(e)
			default:
				w.refusal = e
				why = fmt.Errorf("the broker closed the channel for publishing: %s", publishWords(e))
			}
		case <-time.After(time.Second):
		}
	}

	w.failure = why
	close(w.dead)
}

func (w *window) why() error {
	w.Lock()
	defer w.Unlock()
	return w.failure
}

// finish waits until everything published is settled, and disconnects. The error is why it ended early, if it did.
func (w *window) finish() error {
	close(w.sent)
	w.running.Wait()
	w.endStreak()
	w.link.HangUp()
	w.link.Wire.Cut()
	return w.why()
}

type patience struct {
	confirm time.Duration // for any confirm, while some are outstanding
	alarm   time.Duration // for an alarm of the broker to end
	cancel  time.Duration // for outstanding confirms, after the user cancelled
}

// silence is how long nothing is confirmed before that is shown. A deleted quorum queue, for one, leaves publishes in
// flight unconfirmed (3.10.8).
const silence = 2 * time.Second

var defaultPatience = patience{confirm: 30 * time.Second, alarm: time.Minute, cancel: 10 * time.Second}

// watch ends what would hang: publishing without confirms, a broker in alarm, a cancelled execution. It runs until the
// window is over.
func (w *window) watch(ctx context.Context) {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	var blockedAt, cancelledAt time.Time
	var alarm string
	silent := false

	blocked := w.blocked
	for {
		select {
		case <-w.over:
			return
		case b, ok := <-blocked:
			switch {
			case !ok:
				blocked = nil
			case b.Active:
				alarm, blockedAt = model.Printable(b.Reason), time.Now()
				w.ledger.wait("the broker blocks publishers: " + alarm)
			default:
				alarm, blockedAt = "", time.Time{}
				w.touch()
				w.ledger.wait("")
			}
		case now := <-ticker.C:
			if ctx.Err() != nil && cancelledAt.IsZero() {
				cancelledAt = now
			}

			w.Lock()
			waiting := len(w.flying) > 0
			w.Unlock()
			grace := w.patience.cancel
			if alarm != "" {
				grace /= 5 // what the broker does not read, it does not confirm
			}

			since := now.Sub(time.Unix(0, w.activity.Load()))
			if was := silent; was != (waiting && alarm == "" && since > silence) {
				silent = !was
				words := ""
				if silent {
					words = model.Sayf("the broker confirms nothing; this ends after %s without a confirm", w.patience.confirm)
				}
				w.ledger.wait(words)
			}

			switch {
			case !waiting:
			case !cancelledAt.IsZero() && now.Sub(cancelledAt) > grace:
				w.abort(model.Errorf("the broker did not confirm within %v after the stop", grace))
			case alarm != "" && now.Sub(blockedAt) > w.patience.alarm:
				w.abort(model.Errorf("the broker blocks publishers (%s) for more than %v", alarm, w.patience.alarm))
			case alarm == "" && since > w.patience.confirm:
				w.abort(model.Errorf("%w for %v", errUnconfirmed, w.patience.confirm))
			}
		}
	}
}
