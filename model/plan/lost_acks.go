package plan

import (
	"slices"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// lostMost bounds how many acknowledgements at the end of a record are checked: a queue that lags one second at 10,000
// messages a second loses this many.
const lostMost = 10_000

// LostAcks finds messages that a killed program recorded as moved or dropped, but that are in their queue again. While
// a quorum queue lags, the channel buffers acknowledgements, and drops them when it is closed (3.10.8 to 4.3.6;
// rabbitmq-server issue 10327). So the last ones are lost, and their messages come back as redelivered.
type LostAcks struct {
	recorded []message.Fingerprint // in order
	times    message.Twins         // how often each was recorded
	there    message.Twins         // how many of each are in the queue, redelivered
	again    []message.Fingerprint // the same, in the order of the queue
	more     int64                 // messages in the queue beyond those that the record left there
}

// LostAcks prepares the search in the queue that the record's messages come from; nil when none can be lost.
func (r *Record) LostAcks(t *model.Topology, from model.QueueRef) *LostAcks {
	if t.Known(from).Type != model.Quorum || !r.Unfinished() || r.Operation == Rescue || r.Intent == nil {
		return nil
	}
	return &LostAcks{more: -r.Intent.Depth}
}

// Recorded reports whether an entry of the record may have lost its acknowledgement, and remembers it. Call it with all
// entries in order before the first call of See.
func (l *LostAcks) Recorded(e *Entry) bool {
	if l == nil || e.Outcome != Moved && e.Outcome != Dropped {
		return false
	}

	l.more++
	l.recorded = Last(l.recorded, e.Fingerprint)
	return true
}

// Last appends to a list, and may drop its first elements: it keeps at least as many as LostAcks checks.
func Last[T any](list []T, next T) []T {
	if len(list) == 2*lostMost {
		list = append(list[:0], list[lostMost:]...)
	}
	return append(list, next)
}

func (l *LostAcks) See(m *message.Message) {
	if l == nil {
		return
	}
	if l.there == nil {
		l.there = make(message.Twins, len(l.recorded))
		l.times = make(message.Twins, len(l.recorded))
		for _, f := range l.recorded {
			l.times[f]++
			l.there[f] = 0
		}
	}

	l.more++
	if n, recorded := l.there[m.Fingerprint]; recorded && m.Redelivered {
		l.there[m.Fingerprint] = n + 1
		l.again = append(l.again, m.Fingerprint)
	}
}

// Back returns the last messages of the record that are in the queue again. It is sure if two of them have no twin.
// Otherwise they may be other messages of the same content, and are at most as many as the queue has in excess.
func (l *LostAcks) Back() (back []message.Fingerprint, sure bool) {
	if l == nil {
		return nil, false
	}
	most := l.inAnyOrder()
	n := most // start at one without a twin: among twins, only the order shows which came back
	for n > 0 && !l.alone(l.recorded[len(l.recorded)-n]) {
		n--
	}

	for _, n := range []int{l.inOrder(), n} {
		back, count := l.lastRecorded(n), 0
		for _, f := range back {
			if l.alone(f) {
				count++
			}
		}

		if count >= 2 {
			return back, true
		}
	}

	return l.lastRecorded(max(min(most, int(l.more)), 0)), false
}

func (l *LostAcks) lastRecorded(n int) []message.Fingerprint { return l.recorded[len(l.recorded)-n:] }

func (l *LostAcks) alone(f message.Fingerprint) bool { return l.times[f] == 1 && l.there[f] == 1 }

// inOrder returns how many of the last recorded messages the queue has in that order, ahead of all their twins.
func (l *LostAcks) inOrder() int {
	n := min(len(l.recorded), len(l.again))
	for ; n > 0 && !slices.Equal(l.again[:n], l.lastRecorded(n)); n-- {
	}
	return n
}

// inAnyOrder returns how many of the last recorded messages the queue has in any order: many pages may change it.
func (l *LostAcks) inAnyOrder() (n int) {
	found := message.Twins{}
	for _, f := range slices.Backward(l.recorded) {
		if found[f]++; found[f] > l.there[f] {
			break
		}
		n++
	}

	return n
}
