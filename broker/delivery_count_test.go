package broker_test

import (
	"fmt"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

// TestWhatAReturnCounts is what rescues stand on: which ways back count, that x-delivery-count tells it at the next
// delivery, and at which count a message is lost by its return.
func TestWhatAReturnCounts(t *testing.T) {
	t.Parallel()
	a, b := newApp(t), behaviour()
	for _, limit := range []int{-1, 0, 3} {
		for _, how := range []string{"close", "nack", "reject", "cut"} {
			t.Run(fmt.Sprintf("limit %d, %s", limit, how), func(t *testing.T) {
				q := a.queue(fmt.Sprint(limit, how), model.Quorum, "x-delivery-limit", int32(limit))
				// What a publisher writes into the header stands there until the first return (4.0.5).
				a.publish(q, amqp.Publishing{Headers: amqp.Table{"x-delivery-count": int64(17)}})
				counts := b.ReturnCountsAsDelivery || how != "nack"
				lost := limit + 1 // deliveries, the last of which is lost by its return
				switch {
				case limit < 0 && b.NegativeDeliveryLimitDrops:
					lost = 1
				case limit < 0 || !counts:
					lost = 0
				}
				plan := peek.Plan{Counts: counts, Budget: int64(limit)}
				for n := range 6 {
					m, there := a.deliverOnce(q, how)
					must.That(t, there == (lost == 0 || n < lost), "delivery %d: there %v, want %d deliveries", n+1, there, lost)
					if !there {
						return
					}
					if got := m.Counted(); counts && got != int64(n) || m.Redelivered != (n > 0) {
						t.Errorf("delivery %d: counted %d, redelivered %v", n+1, got, m.Redelivered)
					}
					if doomed := plan.Doomed(m.Counted()); lost > 0 && doomed != (n+1 == lost) {
						t.Errorf("delivery %d: doomed %v, %d deliveries until it is lost", n+1, doomed, lost)
					}
				}
			})
		}
	}
}

// deliverOnce takes the only message of a queue on a connection of its own, and gives it back.
func (a *app) deliverOnce(q model.QueueRef, how string) (m message.Message, there bool) {
	a.Helper()
	connection, err := dial.AMQP(node.AMQP())
	must.Do(a, err)
	defer connection.Close()
	channel, err := connection.Channel()
	must.Do(a, err)
	const comeback = 300 * time.Millisecond // of what was given back before
	var d amqp.Delivery
	for began := time.Now(); !there && time.Since(began) < comeback; {
		if d, there, err = channel.Get(q.Name, false); err != nil {
			a.Fatal(err)
		}
	}
	if !there {
		return m, false
	}
	m = message.Message{Redelivered: d.Redelivered, Headers: model.Table(d.Headers)}
	switch how {
	case "nack":
		err = channel.Nack(d.DeliveryTag, true, true)
	case "reject":
		err = channel.Reject(d.DeliveryTag, true)
	case "close":
		err = channel.Close()
	}
	must.Do(a, err)
	return m, true
}
