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
	defaultLimit    = 50
	defaultMaxBytes = 64 << 20
	defaultTimeout  = 10 * time.Second
)

// PeekWant is what a person or a script asks for.
type PeekWant struct {
	Limit     int           // messages at most; 0 is 50, and all there are when ForAction
	MaxBytes  int64         // body bytes held at most; 0 is 64 MiB
	Timeout   time.Duration // 0 is 10 s
	KeepBody  int           // bytes of each body that are kept; 0 is all of it. BodyBytes and the fingerprint are of the whole
	Insist    bool          // go on in spite of a refusal that can be overridden
	ForAction bool          // acquiring in order to acknowledge some of it: the whole depth is wanted
}

// withDefaults fills in what was left out.
func (w PeekWant) withDefaults() PeekWant {
	if w.Limit <= 0 && !w.ForAction {
		w.Limit = defaultLimit
	}
	if w.MaxBytes <= 0 {
		w.MaxBytes = defaultMaxBytes
	}
	if w.Timeout <= 0 {
		w.Timeout = defaultTimeout
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
	MaxBytes int64         // body bytes held at most
	Timeout  time.Duration // of the whole peek; of an action: without a message although some are ready
	KeepBody int
	Priority int    // x-priority of the consumer: below the application's
	Cost     string // in words, for the person who looks
	Refusal  string // why not, "" when allowed
	Override string // what insisting would do; "" when a refusal is final or there is none
}

// Allowed reports whether the plan may run.
func (p PeekPlan) Allowed() bool { return p.Refusal == "" }

// Peeked is the result of a peek. Nothing is held any more when it is returned.
type Peeked struct {
	Plan     PeekPlan
	Messages []Message
	Depth    Opt[int64] // ready messages just before the peek; unknown of a stream
	Stopped  string     // why fewer than asked for and present were read ("64 MiB are held"), "" otherwise
	TakenAt  time.Time
}
