package model

import "time"

// PeekMethod is how messages are acquired.
type PeekMethod string

// The methods. There is no read by identity in AMQP 0-9-1: all of them read from the head.
const (
	PeekConsume PeekMethod = "basic.consume" // manual acknowledgement and an explicit prefetch
	PeekGet     PeekMethod = "basic.get"     // only where a consumer would do harm
	PeekStream  PeekMethod = "stream"        // basic.consume with x-stream-offset; nothing is ever acquired
)

// Release is how acquired messages go back.
type Release string

// The releases. Which one keeps the order depends on queue type and version: the table is in PlanPeek.
const (
	ReleaseClose Release = "close the channel"
	ReleaseNack  Release = "one nack(multiple, requeue)"
)

// MaxPage is the largest prefetch of AMQP 0-9-1.
const MaxPage = 65535

// What a PeekWant says that says nothing.
const (
	defaultLimit   = 50
	lookBytes      = 512 << 20
	actionBytes    = 64 << 20
	defaultTimeout = 10 * time.Second
	longTimeout    = 30 * time.Second
	longLook       = 20_000 // messages
)

// PeekWant is what a person or a script asks for.
type PeekWant struct {
	Limit     int           // messages at most; 0 is 50, and all there are when ForAction
	MaxBytes  int64         // body bytes; 0 is 512 MiB, which are on disk, and 64 MiB in memory when ForAction
	Timeout   time.Duration // 0 is 10 s, and 30 s of a long look
	Delivered Opt[int64]    // the highest delivery count of a message, as an earlier look left it
	Insist    bool          // go on in spite of a refusal that can be overridden
	ForAction bool          // acquiring in order to acknowledge some of it: the whole depth is wanted
}

// withDefaults fills in what was left out.
func (w PeekWant) withDefaults() PeekWant {
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

// PeekPlan says how to look at a queue, what that costs, and whether it is refused.
type PeekPlan struct {
	Queue    QueueRef
	Type     QueueType
	Method   PeekMethod
	Release  Release
	Limit    int           // messages at most; of an action: as many as there are expected, 0 is unknown
	Page     int           // messages that one consumer takes at most: its prefetch
	MaxBytes int64         // body bytes at most: of a look all that is read, of an action what is in memory
	Timeout  time.Duration // of the whole peek; of an action: without a message although some are ready
	Priority int           // x-priority of the consumer: below the application's
	Budget   int64         // the delivery limit, when each look uses 1 of it; 0 otherwise
	Cost     string        // in words, for the person who looks
	Refusal  string        // why not, "" when allowed
	Override string        // what insisting would do; "" when a refusal is final or there is none
}

// Allowed reports whether the plan may run.
func (p PeekPlan) Allowed() bool { return p.Refusal == "" }

// DeliveriesLeft is how often a message with this delivery count can still come back until it is dropped or dead-lettered, and
// whether looks use that up.
func (p PeekPlan) DeliveriesLeft(count int64) (left int64, counts bool) {
	return max(p.Budget-count, 0), p.Budget > 0
}

// Peeked is the result of a peek. Nothing is held any more when it is returned.
type Peeked struct {
	Plan     PeekPlan
	Messages Messages   // to be closed by who asked for them; not nil when there was no error
	Depth    Opt[int64] // ready messages just before the peek; unknown of a stream
	Stopped  string     // why fewer than asked for and present were read ("64 MiB are held"), "" otherwise
	TakenAt  time.Time
}
