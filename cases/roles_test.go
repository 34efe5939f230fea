package cases

import (
	"testing"

	"github.com/dlxtop/dlxtop/model/build"
)

// A policy for all queues says nothing about a single one.
func TestPoliciesForAll(t *testing.T) {
	play(t,
		situation{
			name: "all workers are away, and each queue has a TTL", from: "an operator policy for all queues",
			parts: []build.Part{build.Text(`
				exchange fanout sink
				queue jobs dlx=sink
				queue mails dlx=sink
				queue basement
				bind sink basement
				policy ttl .* 0 message-ttl=604800000
			`)},
			traffic: func(w *world) {
				w.work("jobs", rejects)
				w.publish("", "jobs", "j1")

				w.depth("basement", 1)
				w.stop()
			},
			says:    []string{"warning failed-queue-forgets basement"},
			silent:  []string{"worker-without-consumers"},
			replays: []replay{{queue: "basement", reach: "jobs"}},
		},
		situation{
			name: "the policy's failed queue while its worker is away", from: "rabbitmq.com/docs/dlx",
			parts: []build.Part{build.Text(`
				exchange fanout dlx
				queue mail
				queue rest
				bind dlx rest
				policy all ^(?!amq\.).* 0 dead-letter-exchange=dlx
			`)},
			traffic: func(w *world) {
				w.work("mail", rejects)
				w.publish("", "mail", "m1")

				w.depth("rest", 1)
				w.stop()
			},
			says:    []string{"info dead-letters-return rest"},
			replays: []replay{{queue: "rest", reach: "mail"}},
		},
	)
}
