package cases

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
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
		situation{
			name: "a fleet's error queue and its audit", from: "NServiceBus",
			parts: []build.Part{build.Text(`
				exchange fanout nsb.dlx
				queue Sales consumers=1
				queue Billing consumers=1
				queue error
				queue audit
				queue nsb.dead
				bind nsb.dlx nsb.dead
				policy all ^(?!amq\.).* 0 dead-letter-exchange=nsb.dlx
			`)},
			traffic: func(w *world) {
				w.publish("", "error", "e", headed(amqp.Table{
					"NServiceBus.FailedQ": "Sales", "NServiceBus.ExceptionInfo.Message": "no",
				}))

				w.publish("", "audit", "a")
			},
			replays: []replay{{queue: "error", reach: "Sales"}},
			// audit may be a worker that is away
			check: flows("Billing: nsb.dead=failed", "Sales: nsb.dead=failed", "audit: nsb.dead=failed"),
		},
		situation{
			name: "failed and skipped for seven days", from: "MassTransit, an operator policy",
			parts: []build.Part{build.Text(`
				exchange fanout dlx
				queue submit-order consumers=1
				queue submit-order_error
				queue submit-order_skipped
				queue dead
				bind dlx dead
				policy all ^(?!amq\.).* 0 dead-letter-exchange=dlx
				policy ttl .* 1 dead-letter-exchange=dlx message-ttl=604800000
			`)},
			traffic: func(w *world) { w.publish("", "submit-order_error", "m") },

			replays: []replay{{queue: "submit-order_error", reach: "submit-order"}},
			check:   flows("submit-order: dead=failed submit-order_error=failed submit-order_skipped=failed"),
		},
		situation{
			name: "a queue without a telling name gets all rejects", from: "Celery",
			parts: []build.Part{build.Text(`
				exchange fanout bin
				queue celery
				queue trash
				bind bin trash
				policy all .* 0 dead-letter-exchange=bin
			`)},
			traffic: func(w *world) {
				rejected("", "celery", "celery")(w)

				w.depth("trash", 1)
			},
			says:    []string{"info dead-letters-return trash"},
			replays: []replay{{queue: "trash", reach: "celery"}},
			check:   flows("celery: trash=failed"),
		},
		situation{
			name: "a group's dlq while it is deployed", from: "Spring Cloud Stream",
			parts: []build.Part{build.Text(`
				exchange fanout dlx
				exchange topic input
				queue input.group
				queue input.group.dlq
				queue all
				bind input # input.group
				bind dlx all
				policy all ^(?!amq\.).* 0 dead-letter-exchange=dlx
			`)},
			traffic: func(w *world) {
				w.publish("", "input.group.dlq", "m", headed(amqp.Table{
					"x-exception-message": "no", "x-original-exchange": "input", "x-original-routingKey": "input",
				}))
			},

			replays: []replay{{queue: "input.group.dlq", reach: "input.group"}},
		},
		situation{
			name: "buffers behind an exchange that is named for retries", from: "Laravel",
			parts: []build.Part{build.Text(`
				exchange fanout dlx
				exchange direct app.retry
				queue default consumers=1
				queue reminders consumers=1
				queue default.delay.60000 ttl=60000 dlx= key=default
				queue default.retry.5000 ttl=5000 dlx= key=default
				queue reminders.scheduled ttl=3600000 dlx= key=reminders
				queue dead
				bind app.retry default.delay.60000 default.delay.60000
				bind app.retry default.retry.5000 default.retry.5000
				bind app.retry reminders.scheduled reminders.scheduled
				bind dlx dead
				policy all .* 0 dead-letter-exchange=dlx
			`)},

			check: flows(
				"default: default.retry.5000=retry(5s, argument) default.delay.60000=delayed(1m, argument) dead=failed",
				"reminders: reminders.scheduled=delayed(1h, argument) dead=failed",
			),
		},
		situation{
			name: "a policy for all, and a higher one for some", from: "rabbitmq.com/docs/policies",
			parts: []build.Part{build.Text(`
				exchange fanout all
				exchange fanout paydlx
				queue pay.in
				queue mail
				queue pay.rest
				queue rest
				bind all rest
				bind paydlx pay.rest
				policy all ^(?!amq\.).* 0 dead-letter-exchange=all
				policy pay ^pay\. 10 dead-letter-exchange=paydlx
			`)},
			traffic: func(w *world) {
				rejected("", "pay.in", "pay.in")(w)
				rejected("", "mail", "mail")(w)

				w.depth("rest", 1)
				w.depth("pay.rest", 1)
			},
			says:    []string{"info dead-letters-return rest", "info dead-letters-return pay.rest"},
			replays: []replay{{queue: "rest", reach: "mail"}, {queue: "pay.rest", reach: "pay.in"}},
			check:   flows("mail: rest=failed", "pay.in: pay.rest=failed"),
		},
		situation{
			name: "a worker that is scaled to zero, under a TTL for all", from: "a policy for all queues",
			parts: []build.Part{build.Text(`
				exchange fanout dlx
				queue orders consumers=1
				queue triage consumers=1
				queue reports
				bind dlx triage
				policy all .* 0 dead-letter-exchange=dlx message-ttl=86400000
			`)},
			traffic: func(w *world) {
				w.publish("", "reports", "1")
				w.publish("", "reports", "2")
			},
			says: []string{"error dead-letters-return triage: delivers what is rejected again at once"},

			check: flows("orders: triage=failed", "reports: triage=failed"),
		},
		situation{
			name: "streams get dead letters, and none", from: "rabbitmq.com/docs/streams",
			when: func(b model.Behaviour) bool { return !b.DropsDeadLettersToStreams },
			parts: []build.Part{build.Text(`
				exchange fanout dlx
				queue w consumers=1
				stream dead
				stream clicks
				bind dlx dead
				policy all .* 0 dead-letter-exchange=dlx max-length=1000
			`)},
			check: flows("w: dead=failed"),
		},
	)
}

func headed(headers amqp.Table) func(*amqp.Publishing) {
	return func(p *amqp.Publishing) { p.Headers = headers }
}

// flows checks which flows there are.
func flows(want ...string) func(*world) {
	return func(w *world) {
		topology, known := w.topology()
		must.That(w, known, "statistics of all queues")
		assert.NoDiff(w, cmp.Diff(want, build.Told(topology.Flows())))
	}
}
