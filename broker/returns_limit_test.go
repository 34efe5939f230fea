package broker_test

import (
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
)

// TestReturnsThatCountTowardsTheLimit: which way of giving a message back counts towards the delivery limit of a quorum
// queue differs. What the findings say of a loop stands on it.
func TestReturnsThatCountTowardsTheLimit(t *testing.T) {
	const limit, many = 3, 30
	counts := model.BehaviourOf(model.ParseVersion(node.Version())).ReturnCountsAsDelivery
	for _, test := range []struct {
		name string
		back func(amqp.Delivery) error
		lost bool
	}{
		{"nack", func(d amqp.Delivery) error { return d.Nack(false, true) }, counts},
		{"reject", func(d amqp.Delivery) error { return d.Reject(true) }, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := newApp(t)
			q := a.queue("limited", model.Quorum, "x-delivery-limit", int64(limit))
			a.publish(q, amqp.Publishing{MessageId: "1"})
			a.await(q, 1)
			returned := 0
			for ; returned < many; returned++ {
				d, there, err := a.channel.Get(q.Name, false)
				must.Do(t, err)
				if !there {
					break
				}
				must.Do(t, test.back(d))
			}
			if lost := returned < many; lost != test.lost || lost && returned != limit+1 {
				t.Errorf("after %d returns it is lost: %v, on %s", returned, lost, node.Version())
			}
		})
	}
}
