package findings

import (
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// manyReturns is the number of returns, none of which counted, from which a message is considered to be cycling: peeks
// return a message, too, but not as often beside a consumer.
const manyReturns = 100

// released: a worker returns a message again and again in a way that counts towards no delivery limit (basic.nack, and
// AMQP 1.0's released, from 4.3 on). RabbitMQ's statistics may not show such deliveries of AMQP 1.0, but the message
// does.
type released struct {
	queue     *model.Queue
	behaviour model.Behaviour

	n        int
	position int // of the worst one
	id       string
	most     int64 // how often it was taken
	count    int64 // how often that counted
}

func (r *released) inspect(m *message.Message) {
	taken, counted := m.Counted(), m.Delivered()
	if !r.behaviour.CarriesDeliveryCount || !r.queue.Consumed() || taken-counted < manyReturns || r.isCarried(m) {
		return
	}
	if r.n++; taken > r.most {
		r.most, r.count, r.position, r.id = taken, counted, m.Position, m.Properties.MessageID
	}
}

// isCarried reports whether a count is not this queue's: only quorum queues count, and until its first return here a
// dead letter has the count of the quorum queue that it comes from (4.3.6).
func (r *released) isCarried(m *message.Message) bool {
	if r.queue.Type != model.Quorum {
		return true
	}
	again, known := r.queue.Redelivered.Get()
	elsewhere := len(m.Deaths) > 0 && m.Deaths[0].Queue != r.queue.Name
	return elsewhere && known && again < manyReturns
}

func (r *released) finding() (Finding, bool) {
	return Finding{
		Code: "requeue-loop",
		Message: spell("%v message(s) went back to the queue %v times or more, and its delivery limit does not end that",
			r.n, manyReturns),
		Evidence: spell("message %d %s: x-acquired-count %v, x-delivery-count %v: taken that often, and returned by "+
			"basic.nack or AMQP 1.0's released, which do not count from RabbitMQ 4.3 on", r.position, r.id, r.most, r.count),
	}, r.n > 0
}
