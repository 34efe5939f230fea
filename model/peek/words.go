package peek

import (
	"fmt"
	"math"

	"github.com/dlxtop/dlxtop/model"
)

const overLimit = "a message that comes back more often than its delivery limit is dropped or dead-lettered"

// rescuing is what a look does that goes on in spite of a delivery limit.
const rescuing = "messages that are at their limit move to the end of the queue (confirmed copies, in the journal)"

// Words say the objection in one sentence.
func (o Objection) Words() string {
	switch o.Kind {
	case NoQueue:
		return "there is no queue " + model.Printable(o.Queue.String()) + " (any more)"
	case QueueDown:
		return o.Down.Words()
	case OthersExclusive:
		return "exclusive to another connection: only that connection can read it"
	case UnknownType:
		return fmt.Sprintf("dlxtop does not know what a look does to a queue of type %q", model.Printable(string(o.Type)))
	case OutOfStream:
		return "it is a stream: messages stay in it when they are read, so none can be replayed or dropped"
	case ActiveConsumerGoesOn:
		return "it has a single active consumer, and one is attached: that one would continue with the " +
			"messages behind the held ones"
	case ActiveConsumerHasAll:
		return "it has a single active consumer, and one is attached: a second one receives nothing, and " +
			"RabbitMQ refuses basic.get here"
	case DelayedRetry:
		return fmt.Sprintf("its delayed retry (%s) hides each returned message for a while", o.Retry)
	case NegativeLimit:
		return fmt.Sprintf("its delivery limit is %d: with that, this RabbitMQ drops or dead-letters a message "+
			"at its first return", o.Limit.Value)
	case LimitNear:
		return fmt.Sprintf("%s (%s): %s", LooksLeft(o.Left, o.Limit.Value), o.Limit.Source, overLimit)
	case LimitMet:
		return LooksLeft(o.Left, o.Limit.Value) + ": " + overLimit
	case CountCarried:
		return o.carried()
	case CannotRescue:
		return "each look counts against the delivery limit, and a message at the limit could not be rescued: " +
			"" + o.Why
	}
	return string(o.Kind)
}

// Override is what insisting would do, "" when nobody may.
func (o Objection) Override() string {
	if !o.Overridable() {
		return ""
	}
	switch o.Kind {
	case UnknownType:
		return "it is read as a classic queue would be"
	case ActiveConsumerGoesOn:
		return "the active consumer may receive messages out of their order"
	case DelayedRetry:
		return "the messages come back only after the delay of the retry"
	case NegativeLimit, LimitNear, LimitMet, CountCarried:
		return rescuing
	case CannotRescue:
		return "messages that are at their limit are dropped or dead-lettered"
	}
	return ""
}

// carried says what a message brings along, and which limit keeps it.
func (o Objection) carried() string {
	count, keeps := "any delivery count", "-1"
	if c := o.Carried.Count; c < math.MaxInt64 {
		count, keeps = fmt.Sprintf("delivery counts of up to %d", c), fmt.Sprintf("%d or more", c)
	}
	return fmt.Sprintf("messages from %s keep %s; any return drops or dead-letters what is above the delivery limit %d "+
		"of this queue: set its delivery-limit to %s by a policy", model.Printable(o.Carried.From.String()), count,
		o.Limit.Value, keeps)
}
