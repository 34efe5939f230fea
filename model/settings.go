package model

import "time"

// Source is where an effective setting comes from.
type Source struct {
	Kind SourceKind
	Name string // of the policy
}

// SourceKind is the kind of place where a setting can be made.
type SourceKind string

// The places, as flows -o json names them.
const (
	FromArgument       SourceKind = "argument"
	FromPolicy         SourceKind = "policy"
	FromOperatorPolicy SourceKind = "operator policy"
	FromMessage        SourceKind = "message"
	FromDefault        SourceKind = "default" // the broker's own
)

// String is "argument", "policy retry-30s", "operator policy cap".
func (s Source) String() string {
	if s.Name == "" {
		return string(s.Kind)
	}
	return string(s.Kind) + " " + s.Name
}

// Setting is an effective value with where it comes from. The zero Setting is not set.
type Setting[T any] struct {
	Value  T
	Set    bool
	Source Source
}

// Settings are the effective settings of one queue: arguments, policy and operator policy merged as the broker does it.
type Settings struct {
	TTL           Setting[time.Duration] // message TTL of the queue; a message's own expiration may be lower
	Expires       Setting[time.Duration] // x-expires: the queue itself is deleted when unused for so long
	DLX           Setting[string]        // "" with Set is the default exchange
	Key           Setting[string]        // dead-letter routing key; not set: the message's own keys
	Strategy      Setting[string]        // at-most-once or at-least-once (quorum)
	MaxLength     Setting[int64]         // messages
	MaxBytes      Setting[int64]         // body bytes
	Overflow      Setting[string]        // drop-head, reject-publish, reject-publish-dlx
	DeliveryLimit Setting[int64]         // quorum; -1 is unlimited from 4.0
	DelayedRetry  Setting[string]        // delayed-retry-type of a quorum queue, 4.3 and later
}
