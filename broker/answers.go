package broker

import (
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// statLimit is how long RabbitMQ waits for a quorum queue that is declared passively, because its disk is slow for
// example. One that did not answer counts as empty and without consumers then (3.10.8, 4.0.5, 4.3.6).
const statLimit = 250 * time.Millisecond

// declared declares a queue passively, which counts it. answered tells whether the queue itself did: a quorum queue
// that seems empty and without consumers after statLimit did not, unless all on this channel takes so long.
func declared(channel *amqp.Channel, queue string) (q amqp.Queue, answered bool, err error) {
	began := time.Now()
	q, err = channel.QueueDeclarePassive(queue, false, false, false, false, nil)
	took := time.Since(began)
	if err != nil || q.Messages > 0 || q.Consumers > 0 || took < statLimit {
		return q, true, err
	}
	began = time.Now()
	err = channel.Qos(1, 0, false) // nothing is consumed on a channel that counts: only the round trip
	return q, took-time.Since(began) < statLimit*4/5, err
}
