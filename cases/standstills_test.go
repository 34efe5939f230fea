package cases

import (
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// Endless redelivery and standstills of consumers.
func TestStandstills(t *testing.T) {
	play(t,
		situation{
			name: "the consumer of a failed queue gives all back, slowly", from: "a repair job",
			parts: []build.Part{build.Text(`
				queue mail consumers=1 dlx= key=mail_error
				queue mail_error
			`)},
			traffic: func(w *world) {
				for _, id := range []string{"1", "2", "3"} {
					w.publish("", "mail_error", id)
				}
				w.work("mail_error", slowly(requeues))
			},
			says: []string{"error requeue-loop mail_error"},
		},
		situation{
			name: "a consumer of a lower priority that never gets anything", from: "rabbitmq.com/docs/consumer-priority",
			parts: []build.Part{build.Text("queue w dlx= key=failed\nqueue failed")},

			traffic: func(w *world) {
				w.work("w", acks)
				second := w.open()
				must.Get(second.Consume("w", "", false, false, false, false, amqp.Table{"x-priority": int32(-1)}))(w)

				for _, id := range []string{"1", "2", "3"} {
					w.publish("", "w", id)
					w.awaitSeen("w", id, 1)
				}
			},
			silent: []string{"requeue-loop", "no-acknowledgements", "worker-without-consumers"},
		},
		situation{
			name: "no delivery limit", from: "quorum queues from 4.0",
			when: func(b model.Behaviour) bool { return !b.NegativeDeliveryLimitDrops },
			parts: []build.Part{build.Text(`
				quorum w x-delivery-limit=-1 dlx= key=failed
				quorum failed
			`)},
			traffic: func(w *world) {
				w.work("w", slowly(requeues))
				w.publish("", "w", "m")

				w.awaitSeen("w", "m", 25)
			},
			says: []string{"error requeue-loop w"},
		},
		situation{
			name: "the first return is the last", from: "a delivery limit of 0",
			when: func(b model.Behaviour) bool { return b.ReturnCountsAsDelivery },
			parts: []build.Part{build.Text(`
				quorum w x-delivery-limit=0 dlx= key=failed
				quorum failed
			`)},
			traffic: func(w *world) {
				w.work("w", requeues)
				w.publish("", "w", "m")

				w.depth("failed", 1)
			},
			silent:  []string{"requeue-loop", "delivery-count-near-limit"},
			replays: []replay{{queue: "failed", reach: "w"}},
		},
	)
}

// An application polls a failed queue and rejects what comes back to it.
func TestPolledFailedQueue(t *testing.T) {
	play(t, situation{
		name: "basic.get and reject", from: "a policy for all queues",
		parts: []build.Part{build.Text(`
			exchange fanout dlx
			queue w
			queue dead
			bind dlx dead
			policy all .* 0 dead-letter-exchange=dlx
		`)},
		traffic: func(w *world) {
			w.work("w", rejects)
			w.publish("", "w", "m")
			w.depth("dead", 1)

			channel := w.open()
			go func() {
				for pace := time.Tick(100 * time.Millisecond); w.Context().Err() == nil; <-pace {
					d, ok, err := channel.Get("dead", false)
					if err != nil {
						return
					}
					if ok {
						_ = d.Reject(false) // an error when the test has ended
					}
				}
			}()
		},
		says: []string{"error dead-letters-return dead"},
	})
}
