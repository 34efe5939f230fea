package plan

import (
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// lostMost bounds how many acknowledgements at the end of a record are checked: a queue that lags one second at 10,000
// messages a second loses this many.
const lostMost = 10_000

// LostAcks finds messages that a killed program recorded as moved or dropped, although they are in their queue again.
// While a quorum queue lags, the channel buffers acknowledgements, and drops them when it is closed (3.10.8 to 4.3.6;
// rabbitmq-server issue 10327). So the last ones are lost, and their messages come back as redelivered.
type LostAcks struct {
	recorded []message.Fingerprint       // in order
	there    map[message.Fingerprint]int // how many of each are in the queue
	others   bool                        // one of them was never delivered: it was published since
}

// LostAcks prepares the search in the queue that the record's messages come from; nil when none can be lost.
func (r *Record) LostAcks(t *model.Topology, from model.QueueRef) *LostAcks {
	if q, exists := t.Queue(from); !exists || q.Type != model.Quorum || !r.Unfinished() || r.Operation == Rescue {
		return nil
	}
	return &LostAcks{}
}

// Recorded takes in an entry of the record. Call it with all entries in order before the first call of See.
func (l *LostAcks) Recorded(e *Entry) {
	if l == nil || e.Outcome != Moved && e.Outcome != Dropped {
		return
	}
	l.recorded = Last(l.recorded, e.Fingerprint)
}

// Last appends to a list, and may drop its first elements: it keeps at least as many as LostAcks checks.
func Last[T any](list []T, next T) []T {
	if len(list) == 2*lostMost {
		list = append(list[:0], list[lostMost:]...)
	}
	return append(list, next)
}

// See takes in a message of the queue.
func (l *LostAcks) See(m *message.Message) {
	if l == nil {
		return
	}
	if l.there == nil {
		l.there = make(map[message.Fingerprint]int, len(l.recorded))
		for _, f := range l.recorded {
			l.there[f] = 0
		}
	}
	if n, recorded := l.there[m.Fingerprint]; recorded {
		l.there[m.Fingerprint], l.others = n+1, l.others || !m.Redelivered
	}
}

// Back are the record's last messages that are in the queue again; none when they could be mistaken for others.
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
