package cases

import (
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/model/build"
)

// Failed messages and who gets them by a replay.
func TestReplays(t *testing.T) {
	play(t,
		situation{
			name: "one wait queue and one failed queue for all services", from: "devobsession.com, retries (c51)",
			parts: []build.Part{
				build.Exchange("topic", "events"), build.Exchange("fanout", "dlx"), build.Exchange("direct", "rerouter"),
				build.Queue("wait", build.TTL(300), build.DLX("rerouter")), build.Bind("dlx", "", "wait"),
				build.Exchange("fanout", "escalate"), build.Queue("escalation"), build.Bind("escalate", "", "escalation"),
				build.Exchange("fanout", "orders.in"), build.BindExchange("events", "item.#", "orders.in"),
				build.BindExchange("rerouter", "orders.in", "orders.in"),
				build.Queue("orders", build.DLX("dlx"), build.DeadKey("orders.in")), build.Bind("orders.in", "", "orders"),
				build.Exchange("fanout", "stock.in"), build.BindExchange("events", "item.#", "stock.in"),
				build.BindExchange("rerouter", "stock.in", "stock.in"),
				build.Queue("stock", build.DLX("dlx"), build.DeadKey("stock.in"), build.Consumers(1)),
				build.Bind("stock.in", "", "stock"),
			},
			traffic: func(w *world) {
				w.work("orders", func(channel *amqp.Channel, d amqp.Delivery) error {
					if deaths, _ := d.Headers["x-death"].([]any); len(deaths) > 0 {
						return republishes("escalate", d.RoutingKey, nil)(channel, d)
					}
					return rejects(channel, d)
				})
				w.publish("events", "item.sold", "i1")
				w.depth("escalation", 1)
			},
			replays: []replay{{queue: "escalation", reach: "orders", got: []string{"orders i1"}}},
		},
	)
}
