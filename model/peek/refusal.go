package peek

import "github.com/dlxtop/dlxtop/model"

// Refusal is why a queue must not be looked at; nil when it may.
type Refusal = model.Refusal[Objection]

// ObjectionKind is a reason against a look.
type ObjectionKind string

// The kinds.
const (
	NoQueue         ObjectionKind = "no queue"
	QueueDown       ObjectionKind = "queue down"
	OthersExclusive ObjectionKind = "exclusive to another connection"
	UnknownType     ObjectionKind = "unknown type"
	OutOfStream     ObjectionKind = "out of a stream" // to act on what is read
	// the one that gets messages goes on with those behind the held ones, as basic.get is not refused (classic)
	ActiveConsumerGoesOn ObjectionKind = "active consumer goes on"
	ActiveConsumerHasAll ObjectionKind = "active consumer has all" // nobody else gets any (quorum)
	DelayedRetry         ObjectionKind = "delayed retry"
	NegativeLimit        ObjectionKind = "negative delivery limit" // which drops a message at its first return
	LimitNear            ObjectionKind = "delivery limit near"     // as an earlier look told
	LimitMet             ObjectionKind = "delivery limit met"      // while messages were taken
	CountCarried         ObjectionKind = "delivery count carried"  // from another queue, above the limit of this one
	CannotRescue         ObjectionKind = "cannot rescue"           // a message that is at its delivery limit
	EndedBefore          ObjectionKind = "ended before"            // an earlier look did not end by itself
)

// Objection is one reason against a look, with the values that its sentence needs.
type Objection struct {
	Kind    ObjectionKind
	Queue   model.QueueRef       `json:",omitzero"`
	Type    model.QueueType      `json:",omitempty"`
	Down    model.Down           `json:",omitzero"`
	Retry   string               `json:",omitempty"` // of DelayedRetry: the policy
	Left    int64                `json:",omitempty"` // of Limit, to the message that came back most often
	Limit   model.Setting[int64] `json:",omitzero"`  // of deliveries
	Carried model.Carried        `json:",omitzero"`  // of CountCarried: from where
	Why     string               `json:",omitempty"` // of CannotRescue: one sentence
	Ended   model.Ended          `json:",omitzero"`  // of EndedBefore
	Final   bool                 `json:",omitempty"` // nobody can agree to go on: the connection is read-only
}

// Overridable reports whether a person may insist.
func (o Objection) Overridable() bool {
	switch o.Kind {
	case UnknownType, ActiveConsumerGoesOn, DelayedRetry, EndedBefore:
		return true
	case NegativeLimit, LimitNear, LimitMet, CountCarried, CannotRescue:
		return !o.Final
	}
	return false
}
