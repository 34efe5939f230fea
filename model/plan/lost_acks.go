package plan

import (
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// lostMost bounds how many of the last messages that a record calls moved or dropped may be in their queue again: those
// of a queue that was a second behind at 10,000 messages a second.
const lostMost = 10_000

// LostAcks finds what a killed program recorded as moved or dropped, and its queue has again. A quorum queue that is
// behind lets the channel keep its acknowledgements, and these go with the connection (3.10.8 to 4.3.6;
// rabbitmq-server issue 10327). So they are the last ones, and what they were of comes back as redelivered.
type LostAcks struct {
	recorded []message.Fingerprint       // in their order
	there    map[message.Fingerprint]int // how many of the queue are such a message
	others   bool                        // one of these was never delivered: somebody published it
}

// LostAcks is what finds them for a record of messages that came out of a queue; nil: none can be lost.
func (r *Record) LostAcks(t *model.Topology, from model.QueueRef) *LostAcks {
	if q, exists := t.Queue(from); !exists || q.Type != model.Quorum || !r.Unfinished() || r.Operation == Rescue {
		return nil
	}
	return &LostAcks{}
}

// Recorded takes in an entry of the record; from the first one on, before any message of the queue.
func (l *LostAcks) Recorded(e *Entry) {
	if l == nil || e.Outcome != Moved && e.Outcome != Dropped {
		return
	}
	l.recorded = Last(l.recorded, e.Fingerprint)
}

// Last is a list with one more, of which the first ones may go: of those that can be Back, all are there.
func Last[T any](list []T, next T) []T {
	if len(list) == 2*lostMost {
		list = append(list[:0], list[lostMost:]...)
	}
	return append(list, next)
}

// See takes in a message of the queue, and reports whether it is like one that was recorded.
func (l *LostAcks) See(m *message.Message) bool {
	if l == nil {
		return false
	}
	if l.there == nil {
		l.there = make(map[message.Fingerprint]int, len(l.recorded))
		for _, f := range l.recorded {
			l.there[f] = 0
		}
	}
	n, like := l.there[m.Fingerprint]
	if like {
		l.there[m.Fingerprint], l.others = n+1, l.others || !m.Redelivered
	}
	return like
}

// Back are the messages that are in the queue again, the last ones of those that were recorded; none where others could
// be taken for them.
func (l *LostAcks) Back() []message.Fingerprint {
	if l == nil || l.others {
		return nil
	}
	n, times := 0, map[message.Fingerprint]int{}
	for _, there := range l.there {
		n += there
	}
	for _, f := range l.recorded {
		times[f]++
	}
	if n > len(l.recorded) {
		return nil
	}
	back := l.recorded[len(l.recorded)-n:]
	for _, f := range back {
		if times[f] != 1 || l.there[f] != 1 {
			return nil
		}
	}
	return back
}
