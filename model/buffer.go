package model

import (
	"cmp"
	"slices"
	"time"
	"unicode/utf8"
)

// Buffer is a part of a flow in which messages wait: one queue, several queues that delay as one (Levels), or an
// exchange that delays (InExchange; then there is no queue to look into).
type Buffer struct {
	// the queue; with levels the lowest one, from which messages leave. Zero when the messages wait in an exchange
	Member
	Role       Role
	Rejected   bool               // the worker's dead-letter settings prove that its rejected messages come here
	TTL        Opt[time.Duration] // the queue's effective message TTL; unknown when each message brings its own
	TTLSource  Source             // of the TTL; FromMessage when each message brings its own
	MaxTTL     Opt[time.Duration] // the longest that a message can wait in all levels together; unknown without levels
	Levels     []QueueRef         // the queues that delay as one, shortest TTL first; nil when it is one queue
	InExchange string             // the x-delayed-message exchange in which the messages wait; "" when they wait in queues
	Held       bool               // its consumers hold the messages, unacknowledged, until they are due (Dramatiq)
	DLX        string             // the exchange that receives messages after the wait
	DLXSource  Source
	Key        Opt[string] // dead-letter routing key; unknown when the messages' own keys are used
	Targets    []QueueRef  // the queues that receive messages after the wait
}

// Queues returns the queues in which the messages of a buffer wait: its levels, its one queue, or none when they wait
// in an exchange.
func (b *Buffer) Queues() []QueueRef {
	switch {
	case b.InExchange != "":
		return nil
	case len(b.Levels) > 0:
		return b.Levels
	}

	return []QueueRef{b.Queue}
}

// Has reports whether a queue is the buffer, or one of its levels.
func (b *Buffer) Has(ref QueueRef) bool {
	if b.InExchange != "" {
		return false
	}
	return b.Queue == ref || slices.Contains(b.Levels, ref)
}

// Name returns what to call the buffer: its queue, its exchange, or its first and last level.
func (b *Buffer) Name() string {
	switch {
	case b.InExchange != "":
		return b.InExchange
	case len(b.Levels) > 0:
		return b.Levels[0].Name + " … " + b.Levels[len(b.Levels)-1].Name
	}

	return b.Queue.Name
}

// ShortName is Name with the last level shortened as far as possible: "celery_delayed_0…27".
func (b *Buffer) ShortName() string {
	if len(b.Levels) == 0 {
		return b.Name()
	}
	first := b.Levels[0].Name
	last := b.Levels[len(b.Levels)-1].Name
	same := 0
	for same < min(len(first), len(last)) && first[same] == last[same] {
		same++
	}
	for same > 0 && same < len(last) && (last[same-1] >= '0' && last[same-1] <= '9' || !utf8.RuneStart(last[same])) {
		same--
	}

	return first + "…" + last[same:]
}

// Entrance returns the queue through which messages enter a buffer: the highest of its levels. It is false for an
// exchange that delays.
func (b *Buffer) Entrance() (QueueRef, bool) {
	queues := b.Queues()
	if len(queues) == 0 {
		return QueueRef{}, false
	}
	return queues[len(queues)-1], true
}

// Waiting returns how many messages wait in a buffer, as far as the broker reported: the ready ones, those that its
// consumers hold for it, or those that its exchange delays.
func (t *Topology) Waiting(b *Buffer) Opt[int64] {
	if b.InExchange != "" && len(b.Targets) > 0 {
		if x, ok := t.Exchange(ExchangeRef{b.Targets[0].VHost, b.InExchange}); ok {
			return x.Delayed
		}
	}

	var sum Opt[int64]
	for _, ref := range b.Queues() {
		q := t.Known(ref)
		n, known := q.Ready.Get()
		if !known {
			continue
		}
		if b.Held {
			n += q.Unacked.Or(0)
		}
		sum = Some(sum.Or(0) + n)
	}

	return sum
}

// IsBuffer reports whether a queue is a buffer of a flow, or one of its levels.
func (t *Topology) IsBuffer(ref QueueRef) bool {
	return slices.ContainsFunc(t.FlowsOf(ref), func(f *Flow) bool {
		role := f.Role(ref)
		return role == DelayedBuffer || role == RetryBuffer
	})
}

// byTTL orders the buffers of a flow.
func byTTL(a, b *Buffer) int {
	return cmp.Or(cmp.Compare(a.TTL.Or(0), b.TTL.Or(0)), cmp.Compare(a.Queue.Name, b.Queue.Name),
		cmp.Compare(a.InExchange, b.InExchange))
}
