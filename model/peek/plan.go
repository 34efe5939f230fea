// Package peek plans how to look at a queue: by which method, how messages are returned, what that costs of a delivery
// limit, and what the result was. It reads nothing itself: package broker does.
package peek

import (
	"fmt"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// Method is how messages are taken.
type Method string

// The methods. AMQP 0-9-1 cannot read by identity: all of them read from the head.
const (
	Consume Method = "basic.consume" // manual acknowledgement and an explicit prefetch
	Get     Method = "basic.get"     // only where a consumer would do harm
	Stream  Method = "stream"        // basic.consume with x-stream-offset; messages stay in place
)

// Release is how messages are returned.
type Release string

// The releases. Which one keeps the order depends on queue type and version: see the table at OfQueue.
const (
	ReleaseClose Release = "close the channel"
	ReleaseNack  Release = "one nack(multiple, requeue)"
)

// MaxPage is the largest prefetch of AMQP 0-9-1.
const MaxPage = 65535

// MostLook bounds the messages of one peek: the broker holds all of them until the end.
const MostLook = 200_000

const (
	defaultLimit   = 50
	lookBytes      = 512 << 20
	actionBytes    = 64 << 20
	defaultTimeout = 10 * time.Second
	longTimeout    = 30 * time.Second
	longLook       = 20_000 // messages
)

type Want struct {
	Limit     int              // messages at most; 0 is 50, or all when ForAction
	MaxBytes  int64            // body bytes; 0 is 512 MiB on disk, or 64 MiB in memory when ForAction
	Timeout   time.Duration    // 0 is 10 s, or 30 s for a long peek
	Delivered model.Opt[int64] // the highest delivery count of a message after an earlier peek
	Insist    bool             // override a refusal, where possible
	ReadOnly  bool             // the connection is read-only: moving messages cannot be agreed to
	Looked    model.Looked     // how the last peek ended
	ForAction bool             // some messages will be acknowledged: the whole depth is wanted
	Carried   model.Carried    // the delivery count with which messages may come into the queue
	TakesAll  bool             // everything taken is acted on: nothing is to be returned
	Decides   bool             // an action follows: the look waits for its turn like one
	Whole     bool             // where a look uses up a delivery limit, take all: that costs no more
	Worker    bool             // the queue is a flow's worker, also while it has no consumers
}

func (w Want) withDefaults() Want {
	if w.Limit <= 0 && !w.ForAction {
		w.Limit = defaultLimit
	}

	if w.MaxBytes <= 0 {
		w.MaxBytes = lookBytes
		if w.ForAction {
			w.MaxBytes = actionBytes
		}
	}

	if w.Timeout <= 0 {
		w.Timeout = defaultTimeout
		if w.Limit > longLook && !w.ForAction {
			w.Timeout = longTimeout
		}
	}

	return w
}

// Plan is how to peek at a queue, what that costs, and whether it is refused.
type Plan struct {
	Queue    model.QueueRef
	Type     model.QueueType
	Method   Method
	Release  Release
	Limit    int           // messages at most; for an action the expected number, 0 if unknown
	Least    int64         // messages that a quorum queue should have, by what a record or an action knows
	Page     int           // messages that one consumer takes at most: its prefetch
	MaxBytes int64         // body bytes at most: for a peek in total, for an action in memory
	Mean     int64         // mean body size in bytes, from the statistics; 0 if unknown
	Timeout  time.Duration // for the whole peek; for an action: without a message although some are ready
	Priority int           // x-priority of the consumer: below the application's
	Counts   bool          // each return of a message uses 1 of the delivery limit
	Carries  bool          // a message may have arrived with a delivery count above the limit: returning it loses it
	Carried  model.Carried // the count with which they may arrive, by the topology
	Budget   int64         // the delivery limit, when returns count or messages carry a count
	TakesAll bool          // nothing taken is to be returned, so that the limit stops nothing
	Agreed   bool          // someone agreed: the limit stops nothing, and messages at it are rescued
	Final    bool          // no one can agree to that: the connection is read-only
	Cost     string        // in words, for the user
	Ended    model.Ended   // how the last peek ended, if not by dlxtop
	Scarce   bool          // one that ends so again may lose what is held
	Acts     bool          // messages are taken out of the queue
	Decides  bool          // what it does not find decides what an action does: it has the queue to itself
	Insists  bool          // the user insisted
	Free     bool          // the only cost is that messages become marked as redelivered: no need to ask
	Harms    bool          // it has a cost besides that and the delivery limit
	Spare    int64         // deliveries that a peek leaves which begins by itself, by the user's Consent
	// the highest delivery count that earlier peeks have left, where returns count
	Delivered model.Opt[int64]
	Expires   bool    // overdue messages expire when they are read
	Refusal   Refusal // why it must not run, nil when it may
	// Nameless messages have no fingerprint: computing it takes time, and the reader does not compare them.
	Nameless bool
}

func (p Plan) Allowed() bool { return !p.Refusal.Refused() }

// Uses reports whether the peek leaves a count of returns in each message.
func (p Plan) Uses() bool { return !p.Free && !p.Expires }

// Fits reports whether one peek takes all of a queue, by the statistics.
func (p Plan) Fits(q *model.Queue) bool {
	return q.Ready.Or(0) <= int64(p.Limit) && q.ReadyBytes.Or(0) <= p.MaxBytes
}

// DeliveriesLeft returns how often a message with this delivery count can still be returned before it is dropped or
// dead-lettered, and whether peeks use that up.
func (p Plan) DeliveriesLeft(count int64) (left int64, counts bool) {
	return max(p.Budget-count, 0), p.Counts
}

// Looked says what a peek at the whole queue has cost, in printable words.
func (p Plan) Looked() string {
	words := model.Sayf("looked at all of %s: order kept, messages become marked as redelivered", p.Queue)
	if p.Counts {
		words += fmt.Sprintf(", and 1 of the delivery limit %d is used", p.Budget)
	}
	return words
}

// Peeked is the result of a peek. Nothing is held any more when it is returned.
type Peeked struct {
	Plan     Plan
	Messages message.Messages // the caller must close them; not nil unless there was an error
	Depth    model.Opt[int64] // ready messages just before the peek; unknown for a stream
	Stopped  string           // why fewer were read than asked for and present ("64 MiB are held"), otherwise ""
	// because the queue had no more: after the count some were consumed, or they expired
	Fewer   bool
	Highest int64 // the highest delivery count in the queue now, as far as known, where returns count
	Rescued Rescued
	TakenAt time.Time
}

// LooksLeft returns how many peeks the delivery limit allows after this one; counts reports whether it limits them.
func (p *Peeked) LooksLeft() (left int64, counts bool) { return p.Plan.DeliveriesLeft(p.Highest) }

// MayHold reports whether a queue still has what was read of it, as far as its count and consumers say. Statistics from
// before the look ended may count its own consumer.
func (p *Peeked) MayHold(q *model.Queue) bool {
	n, known := q.Consumers.Get()
	consumed := q.CountedAt.Sub(p.TakenAt) >= message.CountsLate && (!known || n > 0)
	return !consumed && !message.LeftSince(p.TakenAt, p.Depth.Or(0), q.Ready, q.CountedAt)
}

type Read struct {
	Stopped string // why it ended early without an error, "" when it did not
	Rescued Rescued
}
