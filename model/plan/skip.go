package plan

import (
	"fmt"

	"github.com/dlxtop/dlxtop/model/peek"
)

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

// Words say why, to be read behind the number of messages.
func (s Skip) Words() string {
	switch s.Kind {
	case MaybeUndone:
		return "not certain: perhaps brought back before"
	case Undone:
		return "brought back before"
	case RescuedThere:
		return "rescued: the end of the queue got a copy of each"
	case NeverTaken:
		return "never taken out of the queue"
	case UndoneNow:
		return fmt.Sprintf("being brought back now by undo %d", s.By)
	case There:
		return "already in the queue: its outcome was unknown before"
	case NotKept:
		return "not kept by the journal"
	case Damaged:
		return "damaged in the journal: it cannot be read"
	case SentToMany:
		return fmt.Sprintf("sent to %d queues (%s): to remove it, drop it there", len(s.Queues), quoteList(s.Queues))
	case TargetGone:
		return fmt.Sprintf("sent to %s, which does not exist any more", quoteList(s.Queues))
	}
	return fmt.Sprintf("sent to %s: %s", quoteList(s.Queues), s.Look.Words())
}
