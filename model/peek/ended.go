package peek

import (
	"fmt"

	"github.com/dlxtop/dlxtop/model"
)

// A peek can end before dlxtop ends it: RabbitMQ closes the connection at a message that it cannot convert, or the
// channel, or this client cannot decode a message. On a quorum queue each held message then has one more failed
// delivery, even from 4.3 on, so that repeated peeks lose them all. So such a queue is not peeked at again
// automatically, and if it is likely to end so again, only if the user insists:
//   - if messages came before that, on a quorum queue, or for an action: only those. None of the others is touched,
//     but on a quorum queue these go behind the others that were returned with them.
//   - otherwise it is tried again with one message first, then with a few.

// scarcePage is how many messages are tried, one by one, when another failed delivery may lose held ones.
const scarcePage = 20

// ApplyEnded adjusts the plan to how an earlier peek at the queue ended.
func (p *Plan) ApplyEnded(looked model.Looked) {
	p.Ended = looked.Ended
	p.Scarce = p.Ended.Sure() && p.Limited() && p.Budget-looked.Highest <= scarceDeliveries
}

// Considers reports whether the plan may run although a peek at the queue ended this way. A plan made before that needs
// --insist, and an automatic peek does not run.
func (p Plan) Considers(ended model.Ended) bool {
	return !ended.Any() || p.Insists || p.Ended == ended || !ended.Sure() && !p.Free
}

// Most returns how many messages may be taken in total; 0: unbounded.
func (p Plan) Most() int64 {
	before := p.Ended.Before
	switch {
	case !p.Ended.Sure():
		return 0
	case before > 0 && (p.Type == model.Quorum || p.Acts):
		return before
	case p.Scarce:
		return scarcePage
	}

	return 0
}

// LookEnded is the error of a peek that ended before dlxtop ended it, or that was not begun or stopped because an
// earlier one had.
type LookEnded struct {
	Type    model.QueueType
	Ended   model.Ended
	Reached bool // it has read as far as the earlier one, and stopped
}

func (e *LookEnded) Error() string {
	switch {
	case e.Reached && e.Ended.Before == 0:
		return fmt.Sprintf("%d are read at a time, one by one: another failed delivery may lose them", scarcePage)
	case e.Reached:
		return model.Sayf("an earlier look ended at message %v (%s)", e.Ended.Before+1, e.Ended.Said)
	}

	return e.Refusal().Words()
}

func (e *LookEnded) Refusal() Refusal { return Refusal{endedBefore(e.Ended, e.Type)} }

// LookEnd is how a peek ended, to be remembered.
type LookEnd struct {
	Highest  int64 // the highest delivery count that one of its messages may have now; 0: none was returned
	Complete bool  // it took everything in the queue
	// a return counts only when dlxtop did not end the peek, and nothing was recorded when it began
	Uncounted bool
	Ended     model.Ended // zero: dlxtop ended it
	Moved     int64       // messages that are no longer at the head of the queue
}

// After returns the highest delivery count that a message may have after the peek; highest is what was recorded,
// including this peek where it counts.
func (e LookEnd) After(highest int64) int64 {
	switch {
	case e.Ended.Any() && e.Uncounted:
		return max(highest+1, e.Highest)
	case e.Ended.Any():
		return max(highest, e.Highest)
	case e.Complete:
		return e.Highest
	case e.Uncounted:
		return highest
	}

	return max(highest-1, e.Highest)
}

// Then returns what to remember about how peeks ended.
func (e LookEnd) Then(before model.Ended) model.Ended {
	switch {
	case e.Ended.Any():
		e.Ended.Times = before.Times + 1
		return e.Ended
	case e.Complete, !before.Sure():
		return model.Ended{}
	}

	before.Before = max(before.Before-e.Moved, 0)
	return before
}
