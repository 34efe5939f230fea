package plan

import (
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/mend"
	"github.com/dlxtop/dlxtop/model/peek"
)

// Refusal is why a plan must not run; nil when it may.
type Refusal = model.Refusal[Objection]

// ObjectionKind is a reason against a plan.
type ObjectionKind string

// The kinds. What the first ones speak against is a message's way, too.
const (
	NoFlow          ObjectionKind = "no flow"       // and the message has no trace of its worker
	Disagree        ObjectionKind = "disagree"      // what a message tells of its worker
	WorkerGone      ObjectionKind = "worker gone"   // that the message tells
	ManyFlows       ObjectionKind = "many flows"    // and nothing tells which worker it is for
	NoExchange      ObjectionKind = "no exchange"   // that it would be published to
	InternalOne     ObjectionKind = "internal"      // an exchange that nobody can publish to
	DelayingOne     ObjectionKind = "delaying"      // an exchange whose confirm tells nothing
	UnknownReach    ObjectionKind = "unknown reach" // it is unknown which queues it would reach
	NoBinding       ObjectionKind = "no binding"    // for its key
	NotReadable     ObjectionKind = "not readable"  // its queue, by peek
	SampleGone      ObjectionKind = "sample gone"   // what was looked at cannot be read again
	MoveNowhere     ObjectionKind = "move nowhere"
	MoveToItself    ObjectionKind = "move to itself"
	MoveToNone      ObjectionKind = "move to none"      // there is no such queue
	MoveToExclusive ObjectionKind = "move to exclusive" // which goes with its connection
	MoveToStream    ObjectionKind = "move to stream"    // which gives nothing back
	ImportToNone    ObjectionKind = "import to none"    // there is no such queue
	TargetDown      ObjectionKind = "target down"       // a queue that is not available
	CanaryBlind     ObjectionKind = "canary blind"      // they go back into the queue that it would watch
	CanaryCounted   ObjectionKind = "canary counted"    // its looks would use up the delivery limit
	NotMended       ObjectionKind = "not mended"        // a program that changes messages has no other for it
	TooSlow         ObjectionKind = "too slow"          // they would be held for longer than RabbitMQ allows
	Double          ObjectionKind = "double"            // a copy of it is replayed, or was

	// A limit would drop messages, or a second failure lose them. The kinds differ in what remains of these.
	DropsKept      ObjectionKind = "drops kept"       // whole in the journal, and an undo brings them back
	DropsGone      ObjectionKind = "drops gone"       // there is no journal
	DropsInFile    ObjectionKind = "drops in file"    // of an import
	DropsInJournal ObjectionKind = "drops in journal" // of an undo

	IsUndo      ObjectionKind = "is undo"   // what is to be undone
	IsImport    ObjectionKind = "is import" // the same
	StillRuns   ObjectionKind = "still runs"
	OtherBroker ObjectionKind = "other broker"
	BackGone    ObjectionKind = "back gone"    // the queue that they came from
	MaybeThere  ObjectionKind = "maybe there"  // they could be in the queue twice
	NothingLeft ObjectionKind = "nothing left" // to undo

	// The record has fingerprints of another kind.
	CopiesUnknown ObjectionKind = "copies unknown" // what was sent cannot be recognized
	ThereUnknown  ObjectionKind = "there unknown"  // they could be in the queue twice
)

// Objection is one reason against a plan, or against the way of a message, with the values that its sentence needs.
type Objection struct {
	Kind       ObjectionKind
	Queue      model.QueueRef   `json:",omitzero"`
	Down       model.Down       `json:",omitzero"`
	Exchange   string           `json:",omitempty"`
	RoutingKey string           `json:",omitempty"`
	Workers    []model.QueueRef `json:",omitempty"` // of ManyFlows
	Clues      []Clue           `json:",omitempty"` // of NoFlow, Disagree, WorkerGone: the queues that could be meant
	Why        string           `json:",omitempty"` // of UnknownReach and SampleGone: what routing or reading tells
	Look       *peek.Objection  `json:",omitempty"` // of NotReadable
	Mend       *mend.Problem    `json:",omitempty"` // of NotMended
	Losses     []LimitLoss      `json:",omitempty"`
	Again      []SecondFailure  `json:",omitempty"`
	Limit      int64            `json:",omitempty"` // of CanaryCounted: of deliveries
	Used       int64            `json:",omitempty"` // of that
	Record     int64            `json:",omitempty"` // that is to be undone
	Operation  Operation        `json:",omitempty"` // of that record
	There      string           `json:",omitempty"` // of OtherBroker: where it was done
	Here       string           `json:",omitempty"`
	Messages   int              `json:",omitempty"` // of MaybeThere, ThereUnknown; of TooSlow: that are not too many
	Skips      []Skip           `json:",omitempty"` // of NothingLeft
}

// Overridable reports whether a person may insist.
func (o Objection) Overridable() bool {
	switch o.Kind {
	case NotReadable:
		return o.Look.Overridable()
	case DropsKept, DropsGone, DropsInFile, DropsInJournal, OtherBroker, MaybeThere, ThereUnknown:
		return true
	}
	return false
}

// Unreadable is a peek's refusal as that of a plan.
func Unreadable(look peek.Refusal) Refusal {
	var r Refusal
	for i := range look {
		r = append(r, Objection{Kind: NotReadable, Look: &look[i]})
	}
	return r
}

// against refuses a plan for a reason, unless there is one already.
func (p *Plan) against(o Objection) {
	if !p.Refusal.Refused() {
		p.Refusal = Refusal{o}
	}
}

// refuseUnless refuses a plan for a reason that can be overridden; who insists is warned instead.
func (p *Plan) refuseUnless(o Objection, insisted bool) {
	switch {
	case insisted:
		p.warn(Warning{Kind: insistedOn, Against: Refusal{o}})
	case !p.Refusal.Refused() || p.Refusal.Overridable():
		p.Refusal = append(p.Refusal, o)
	}
}

// SkipKind is a reason why messages of a record are not undone.
type SkipKind string

// The kinds.
const (
	MaybeUndone  SkipKind = "maybe undone"
	Undone       SkipKind = "undone"
	RescuedThere SkipKind = "rescued" // the end of the queue has a copy
	NeverTaken   SkipKind = "never taken"
	UndoneNow    SkipKind = "undone now" // by another undo
	There        SkipKind = "there"      // what became of it was not known before
	NotKept      SkipKind = "not kept"   // by the journal
	Damaged      SkipKind = "damaged"    // in the journal
	SentToMany   SkipKind = "sent to many"
	TargetGone   SkipKind = "target gone"
	TargetUnread SkipKind = "target unreadable"
)

// Skip is why some messages are not undone.
type Skip struct {
	Messages int
	Kind     SkipKind
	By       int64        `json:",omitempty"` // of UndoneNow: the undo
	Queues   []string     `json:",omitempty"` // that they were sent to
	Look     peek.Refusal `json:",omitempty"` // of TargetUnread
}
