package peek

import (
	"fmt"

	"github.com/dlxtop/dlxtop/model"
)

// A look can end before dlxtop ends it: RabbitMQ closes the connection at a message that it cannot convert, or the
// channel, or this client cannot read what comes. On a quorum queue everything that was held then has one more failed
// delivery, also from 4.3 on, so that looks in a row lose all of it. So that queue is not looked at again by itself,
// and where it is most likely to end so again, only by who insists:
//
//   - where messages came before that, on a quorum queue, or to act on them: only these. None of the others is touched,
//     but on a quorum queue these go behind the others that came back with them.
//   - else it is tried again with one message first, then with few.

// scarcePage is how many messages are tried, one by one, where another failed delivery may lose what is held.
const scarcePage = 20

// Heed takes in how an earlier look at the queue ended.
func (p *Plan) Heed(looked model.Looked) {
	p.Ended = looked.Ended
	p.Scarce = p.Ended.Sure() && p.Limited() && p.Budget-looked.Highest <= scarceDeliveries
}

// Heeds reports whether the plan may run although a look at the queue ended this way. A plan made before that end needs
// --insist, and a look that no user asked for does not run.
func (p Plan) Heeds(ended model.Ended) bool {
	return !ended.Any() || p.Insists || p.Ended == ended || !ended.Sure() && !p.Free
}

// Most is how many messages may be taken in all; 0 is no bound.
func (p Plan) Most() int64 {
	switch before := p.Ended.Before; {
	case !p.Ended.Sure():
		return 0
	case before > 0 && (p.Type == model.Quorum || p.Acts):
		return before
	case p.Scarce:
		return scarcePage
	}
	return 0
}

// LookEnded is the error of a look that ended before dlxtop ended it, or that did not begin, or went no further,
// because an earlier one had.
type LookEnded struct {
	Queue   model.QueueRef
	Type    model.QueueType
	Ended   model.Ended
	Reached bool // it has read what the earlier one had read, and went no further
}

// Error is why, in words.
func (e *LookEnded) Error() string {
	switch {
	case e.Reached && e.Ended.Before == 0:
		return fmt.Sprintf("%d are read at a time, one by one: another failed delivery may lose them", scarcePage)
	case e.Reached:
		return fmt.Sprintf("an earlier look ended at message %s (%s)", model.Count(e.Ended.Before+1), e.Ended.Said)
	}
	return e.Refusal().Words()
}

// Refusal is why.
func (e *LookEnded) Refusal() Refusal { return Refusal{endedBefore(e.Ended, e.Type)} }

// LookEnd is how a look ended, for who remembers it.
type LookEnd struct {
	Highest  int64 // delivery count that one of the messages may have now that it took; 0: none went back
	Complete bool  // it took all that the queue held
	// a return counts only when dlxtop has not ended the look, and nothing was noted when it began
	Uncounted bool
	Ended     model.Ended // zero: dlxtop ended it
	Moved     int64       // messages that are no longer at the head of the queue
}

// After is the highest delivery count that a message may have when the look has ended; highest is what was noted, this
// look included where it counts.
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

// Then is what is remembered of how looks ended.
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
