package peek

import (
	"fmt"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// Method is how messages are acquired.
type Method string

// The methods. There is no read by identity in AMQP 0-9-1: all of them read from the head.
const (
	Consume Method = "basic.consume" // manual acknowledgement and an explicit prefetch
	Get     Method = "basic.get"     // only where a consumer would do harm
	Stream  Method = "stream"        // basic.consume with x-stream-offset; nothing is ever acquired
)

// Release is how acquired messages go back.
type Release string

// The releases. Which one keeps the order depends on queue type and version: the table is in For.
const (
	ReleaseClose Release = "close the channel"
	ReleaseNack  Release = "one nack(multiple, requeue)"
)

// MaxPage is the largest prefetch of AMQP 0-9-1.
const MaxPage = 65535

// MostLook bounds the messages of one look: the broker holds each for it until the end.
const MostLook = 200_000

// What a Want says that says nothing.
const (
	defaultLimit   = 50
	lookBytes      = 512 << 20
	actionBytes    = 64 << 20
	defaultTimeout = 10 * time.Second
	longTimeout    = 30 * time.Second
	longLook       = 20_000 // messages
)

// Want is what a person or a script asks for.
type Want struct {
	Limit     int              // messages at most; 0 is 50, and all there are when ForAction
	MaxBytes  int64            // body bytes; 0 is 512 MiB, which are on disk, and 64 MiB in memory when ForAction
	Timeout   time.Duration    // 0 is 10 s, and 30 s of a long look
	Delivered model.Opt[int64] // the highest delivery count of a message, as an earlier look left it
	Insist    bool             // override a refusal, where possible
	ReadOnly  bool             // the connection is read-only: nobody can agree that messages are moved
	Looked    model.Looked     // how the last look ended
	ForAction bool             // acquiring in order to acknowledge some of it: the whole depth is wanted
	Carried   model.Carried    // with which delivery count messages may come into the queue
	TakesAll  bool             // all that is acquired is acted on: nothing is to come back
}

// withDefaults fills in what was left out.
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

// Plan says how to look at a queue, what that costs, and whether it is refused.
type Plan struct {
	Queue    model.QueueRef
	Type     model.QueueType
	Method   Method
	Release  Release
	Limit    int           // messages at most; of an action: as many as there are expected, 0 is unknown
	Page     int           // messages that one consumer takes at most: its prefetch
	MaxBytes int64         // body bytes at most: of a look all that is read, of an action what is in memory
	Mean     int64         // bytes of a body, by the queue's statistics; 0 is unknown
	Timeout  time.Duration // of the whole peek; of an action: without a message although some are ready
	Priority int           // x-priority of the consumer: below the application's
	Counts   bool          // each return of a message uses 1 of the delivery limit
	Carries  bool          // a message may have come with a delivery count above the limit: a return loses it
	Carried  model.Carried // with which count they may come, by the ways of the topology
	Budget   int64         // the delivery limit, when returns count or messages carry a count
	TakesAll bool          // nothing that is taken is to come back, so that the limit ends nothing
	Agreed   bool          // somebody agreed: the limit ends nothing, and what is at it is rescued
	Final    bool          // nobody can agree to that: the connection is read-only
	Cost     string        // in words, for the person who looks
	Ended    model.Ended   // how the last look ended, where dlxtop did not end it
	Scarce   bool          // one that ends so again may lose what is held
	Acts     bool          // messages are taken out of the queue
	Insists  bool          // the user insisted
	Free     bool          // messages become marked as redelivered, and that is all that it costs: nobody must be asked
	Expires  bool          // overdue messages expire when they are read
	Refusal  Refusal       // why not, nil when allowed
	// Nameless messages have no fingerprint: who reads them does not compare them, and it takes its time.
	Nameless bool
}

// Allowed reports whether the plan may run.
func (p Plan) Allowed() bool { return !p.Refusal.Refused() }

// Uses reports whether the look leaves something behind in each message: a count of returns.
func (p Plan) Uses() bool { return !p.Free && !p.Expires }

// DeliveriesLeft is how often a message with this delivery count can still come back until it is dropped or
// dead-lettered, and whether looks use that up.
func (p Plan) DeliveriesLeft(count int64) (left int64, counts bool) {
	return max(p.Budget-count, 0), p.Counts
}

// Looked tells what a look at all of the queue has cost, in printable words.
func (p Plan) Looked() string {
	words := fmt.Sprintf("looked at all of %s: order kept, messages become marked as redelivered",
		model.Printable(p.Queue.String()))
	if p.Counts {
		words += fmt.Sprintf(", and 1 of the delivery limit %d is used", p.Budget)
	}
	return words
}

// Peeked is the result of a peek. Nothing is held any more when it is returned.
type Peeked struct {
	Plan     Plan
	Messages message.Messages // to be closed by who asked for them; not nil when there was no error
	Depth    model.Opt[int64] // ready messages just before the peek; unknown of a stream
	Stopped  string           // why fewer than asked for and present were read ("64 MiB are held"), "" otherwise
	// it is because the queue had no more: consumers took some since they were counted, or they expired
	Fewer   bool
	Highest int64 // delivery count of a message in the queue now, as far as is known, where returns count
	Rescued Rescued
	TakenAt time.Time
}

// LooksLeft is how many looks the delivery limit allows after this one; counts tells whether it limits them.
func (p *Peeked) LooksLeft() (left int64, counts bool) { return p.Plan.DeliveriesLeft(p.Highest) }

// Read is how reading a whole queue ended.
type Read struct {
	Stopped string // why it ended early although nothing failed, "" when it did not
	Rescued Rescued
}
