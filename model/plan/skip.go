package plan

import (
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
)

// SkipKind is why messages of a record are not undone, a phrase that follows their number.
type SkipKind string

// The kinds. Some need more words: Words.
const (
	MaybeUndone  SkipKind = "not certain: perhaps brought back before"
	Undone       SkipKind = "brought back before"
	RescuedThere SkipKind = "rescued: the end of the queue got a copy of each"
	NeverTaken   SkipKind = "never taken out of the queue"
	UndoneNow    SkipKind = "being brought back now by undo"
	There        SkipKind = "already in the queue: its outcome was unknown before"
	Back         SkipKind = "in the queue again: its acknowledgement was lost with dlxtop"
	NotKept      SkipKind = "not kept by the journal"
	Damaged      SkipKind = "damaged in the journal: it cannot be read"
	SentToMany   SkipKind = "sent to many"
	TargetGone   SkipKind = "target gone"
	TargetUnread SkipKind = "target unreadable"
)

// Skip is some messages that are not undone, and why.
type Skip struct {
	Messages int
	Kind     SkipKind
	By       int64        // with UndoneNow: the undo
	Queues   []string     // the queues that they were sent to
	Look     peek.Refusal // with TargetUnread
}

// Words returns the reason, to follow the number of messages.
func (s Skip) Words() string {
	switch s.Kind {
	case UndoneNow:
		return model.Sayf("%s %d", s.Kind, s.By)
	case Back:
		if len(s.Queues) > 0 {
			return model.Sayf("%s; a copy stays in %s", s.Kind, quoteList(s.Queues))
		}
	case SentToMany:
		return model.Sayf("sent to %d queues (%s): to remove it, drop it there", len(s.Queues), quoteList(s.Queues))
	case TargetGone:
		return model.Sayf("sent to %s, which does not exist any more", quoteList(s.Queues))
	case TargetUnread:
		return model.Sayf("sent to %s: %s", quoteList(s.Queues), s.Look.Words())
	}

	return string(s.Kind)
}
