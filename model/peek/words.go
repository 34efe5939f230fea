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
		return "each look counts against the delivery limit, and a message at the limit could not be rescued: " + o.Why
	case EndedBefore:
		return o.ended()
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
	case EndedBefore:
		return o.again()
	}
	return ""
}

// ended says how a look ended, at which message, and what that costs.
func (o Objection) ended() string {
	e, which := o.Ended, "a message here"
	if e.Before > 0 {
		which = "message " + model.Count(e.Before+1)
	}
	words := ""
	switch e.By {
	case model.EndedByConversion:
		words = fmt.Sprintf("RabbitMQ ended a look at this queue (%s): %s", e.Said, Unconvertible(which))
	case model.EndedByBroker:
		words = fmt.Sprintf("RabbitMQ ended a look at this queue at %s (%s)", which, e.Said)
	case model.EndedByClient:
		words = fmt.Sprintf("dlxtop cannot read %s, and lost its connection (%s): another client may read it", which, e.Said)
	default:
		last := "look"
		if e.Times > 1 {
			last = model.Plural(int(e.Times), "look")
		}
		words = fmt.Sprintf("the last %s at this queue lost the connection at %s (%s)", last, which, e.Said)
	}
	if o.Type == model.Quorum {
		words += "; each such look counts as a failed delivery of all that it held"
	}
	return words
}

// Unconvertible says why RabbitMQ 4 ends a connection instead of delivering a message.
func Unconvertible(which string) string {
	return "it cannot convert " + which + " to AMQP 0-9-1, most likely one of an AMQP 1.0 client with a UUID, char or " +
		"decimal in its properties or annotations, or an unsigned number in a list. Only an AMQP 1.0 client can read it"
}

// again says what a look does that is insisted on although the last one ended.
func (o Objection) again() string {
	switch {
	case o.Ended.Before > 0 && o.Type == model.Quorum:
		return fmt.Sprintf("only the %s before it are taken, and go behind others that were read before", model.Plural(
			int(o.Ended.Before), "message"))
	case o.Type == model.Quorum:
		return "it takes one message first, then a few at a time; if it ends in the same way, the messages held then have " +
			"1 more failed delivery, and RabbitMQ drops or dead-letters those above the delivery limit"
	}
	return "it reads the queue again; if it ends in the same way, all messages stay in their order"
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
