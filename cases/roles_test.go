package cases

import (
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
)

// A policy for all queues says nothing about a single one.
func TestPoliciesForAll(t *testing.T) {
	playScripts(t, "testdata/policies_for_all.toml",
		situation{
			Name: "a fleet's error queue and its audit", From: "NServiceBus",
			Parts: `
				exchange fanout nsb.dlx
				queue Sales consumers=1
				queue Billing consumers=1
				queue error
				queue audit
				queue nsb.dead
				bind nsb.dlx nsb.dead
				policy all ^(?!amq\.).* 0 dead-letter-exchange=nsb.dlx
			`,
			traffic: func(w *world) {
				w.publish("", "error", "e", headed(amqp.Table{
					"NServiceBus.FailedQ": "Sales", "NServiceBus.ExceptionInfo.Message": "no",
				}))

				w.publish("", "audit", "a")
			},
			Replays: []replay{{Queue: "error", Reach: "Sales"}},
			// audit may be a worker that is away
			Flows: []string{"Billing: nsb.dead=failed", "Sales: nsb.dead=failed", "audit: nsb.dead=failed"},
		},
		situation{
			Name: "a group's dlq while it is deployed", From: "Spring Cloud Stream",
			Parts: `
				exchange fanout dlx
				exchange topic input
				queue input.group
				queue input.group.dlq
				queue all
				bind input # input.group
				bind dlx all
				policy all ^(?!amq\.).* 0 dead-letter-exchange=dlx
			`,
			traffic: func(w *world) {
				w.publish("", "input.group.dlq", "m", headed(amqp.Table{
					"x-exception-message": "no", "x-original-exchange": "input", "x-original-routingKey": "input",
				}))
			},

			Replays: []replay{{Queue: "input.group.dlq", Reach: "input.group"}},
		},
	)
}

func headed(headers amqp.Table) func(*amqp.Publishing) {
	return func(p *amqp.Publishing) { p.Headers = headers }
}
