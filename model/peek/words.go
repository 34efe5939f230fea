package peek

import (
	"math"

	"github.com/dlxtop/dlxtop/model"
)

// Refusal is why a queue must not be peeked at; nil when it may.
type Refusal = model.Refusal

const overLimit = "a message that comes back more often than its delivery limit is dropped or dead-lettered"

// rescuing is what a peek does that continues in spite of a delivery limit.
const rescuing = "messages that are at their limit move to the end of the queue (confirmed copies, in the journal)"

// noQueue: the queue is not in the topology.
func noQueue(queue model.QueueRef) model.Said {
	return model.Saidf("there is no queue %s (any more)", queue)
}

// limitNear: an earlier peek showed it.
func limitNear(left int64, limit model.Setting[int64]) model.Said {
	if limit.Value < 0 {
		return model.Saidf("its delivery limit is %d: with that, this RabbitMQ drops or dead-letters a message at its first "+
			"return", limit.Value).Insisting(rescuing)
	}
	return model.Saidf("%s (%s): %s", LooksLeft(left, limit.Value), limit.Source, overLimit).Insisting(rescuing)
}

// countCarried says which count a message brings along from another queue, and which limit applies to it.
func countCarried(carried model.Carried, limit int64) model.Said {
	count, keeps := "any delivery count", "-1"
	if c := carried.Count; c < math.MaxInt64 {
		count, keeps = model.Sayf("delivery counts of up to %d", c), model.Sayf("%d or more", c)
	}
	return model.Saidf("messages from %s keep %s; any return drops or dead-letters what is above the delivery limit %d "+
		"of this queue: set its delivery-limit to %s", carried.From, count, limit, keeps).Insisting(rescuing)
}

// endedBefore says how an earlier peek ended, if not by dlxtop: at which message, what that costs, and what a peek does
// if the user insists.
func endedBefore(e model.Ended, of model.QueueType) model.Said {
	which := "a message here"
	quorum := of == model.Quorum
	if e.Before > 0 {
		which = "message " + model.Count(e.Before+1)
	}

	words := ""
	switch e.By {
	case model.EndedByConversion:
		words = model.Sayf("RabbitMQ ended a look at this queue (%s): %s", e.Said, Unconvertible(which))
	case model.EndedByBroker:
		words = model.Sayf("RabbitMQ ended a look at this queue at %s (%s)", which, e.Said)
	case model.EndedByClient:
		words = model.Sayf("dlxtop cannot read %s, and lost its connection (%s): another client may read it", which, e.Said)
	default:
		last := "look"
		if e.Times > 1 {
			last = model.Plural(int(e.Times), "look")
		}
		words = model.Sayf("the last %s at this queue lost the connection at %s (%s)", last, which, e.Said)
	}

	again := "it reads the queue again; if it ends in the same way, all messages stay in their order"
	if quorum {
		words += "; each such look counts as a failed delivery of all that it held"
		again = "it takes one message first, then a few at a time; if it ends in the same way, the messages held then have " +
			"1 more failed delivery, and RabbitMQ drops or dead-letters those above the delivery limit"
		if e.Before > 0 {
			again = model.Sayf("only the %v message(s) before it are taken, and go behind others that were read before",
				int(e.Before))
		}
	}

	return model.Said{Says: words, Insist: again}
}

// Unconvertible says why RabbitMQ 4 closes a connection instead of delivering a message.
func Unconvertible(which string) string {
	return "it cannot convert " + which + " to AMQP 0-9-1, most likely one of an AMQP 1.0 client with a UUID, char or " +
		"decimal in its properties or annotations, or an unsigned number in a list. Only an AMQP 1.0 client can read it"
}
