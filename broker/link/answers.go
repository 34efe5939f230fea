package link

import (
	"slices"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// statLimit is how long RabbitMQ waits for a quorum queue in a passive declare, for example because of a slow disk. A
// queue that did not answer then counts as empty and without consumers (3.10.8, 4.0.5, 4.3.6).
const statLimit = 250 * time.Millisecond

// roundTrips are the durations of the last round trips to a broker.
type roundTrips struct {
	sync.Mutex
	last [32]time.Duration // 0: none yet
	next int
}

func (r *roundTrips) add(took time.Duration) {
	r.Lock()
	defer r.Unlock()
	r.last[r.next] = max(took, 1)
	r.next = (r.next + 1) % len(r.last)
}

// shortest returns the network's share of a round trip; there must have been one.
func (r *roundTrips) shortest() time.Duration {
	r.Lock()
	defer r.Unlock()
	return slices.Min(slices.DeleteFunc(slices.Clone(r.last[:]), func(d time.Duration) bool { return d == 0 }))
}

// Declared declares a queue passively, which counts it. answered reports whether the queue itself did: a quorum queue
// that seems empty and without consumers after statLimit did not, unless every round trip takes that long.
func (p *Pool) Declared(channel *amqp.Channel, queue string) (q amqp.Queue, answered bool, err error) {
	began := time.Now()
	q, err = channel.QueueDeclarePassive(queue, false, false, false, false, nil)
	took := time.Since(began)
	if err != nil || q.Messages > 0 || q.Consumers > 0 {
		return q, true, err
	}
	answered, err = p.trips.inTime(took, func() (time.Duration, error) {
		began := time.Now()
		err := channel.Qos(1, 0, false) // a channel for counts has no consumers, so this only makes a round trip
		return time.Since(began), err
	})

	return q, answered, err
}

// inTime reports whether an answer that took this long came from the queue and not from statLimit. On a slow network a
// round trip alone may take as long; on a busy machine many may, so that none of the last ones, nor of three more, was
// quick. In doubt it was the limit: asking again costs a moment, a wrong answer a queue.
func (r *roundTrips) inTime(took time.Duration, roundTrip func() (time.Duration, error)) (bool, error) {
	if took < statLimit*9/10 { // Erlang's clock may run up to one percent faster than ours, to catch up
		r.add(took)
		return true, nil
	}

	for range 3 {
		alone, err := roundTrip()
		if err != nil {
			return false, err
		}
		if r.add(alone); took-r.shortest() > statLimit/2 {
			return false, nil
		}
	}

	return true, nil
}
