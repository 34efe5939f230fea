package findings

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// Queues and exchanges as each framework of the table of conventions declares them, with workers that run.
func TestFlowsOfEachConvention(t *testing.T) {
	for _, test := range []struct {
		name  string
		parts []build.Part
		want  []string
		alone []string
	}{
		{
			name: "Spring Cloud Stream: a group with its DLQ on the exchange DLX, and a parking lot that the application fills",
			parts: []build.Part{
				build.Exchange("topic", "orders"), build.Exchange("direct", "DLX"),
				build.Queue("orders.billing", build.Consumers(1), build.DLX("DLX"), build.DeadKey("orders.billing")),
				build.Bind("orders", "#", "orders.billing"), build.Queue("orders.billing.dlq"),
				build.Bind("DLX", "orders.billing", "orders.billing.dlq"), build.Queue("orders.billing.parkingLot"),
			},
			want: []string{"orders.billing: orders.billing.dlq=failed orders.billing.parkingLot=failed"},
		},
		{
			name: "Spring Cloud Stream: the DLQ sends back after dlqTtl",
			parts: []build.Part{
				build.Exchange("topic", "orders"), build.Exchange("direct", "DLX"),
				build.Queue("orders.billing", build.Consumers(1), build.DLX("DLX"), build.DeadKey("orders.billing")),
				build.Queue("orders.billing.dlq", build.DLX("orders"), build.DeadKey("orders.billing"),
					build.TTL(5000)), build.Bind("DLX", "orders.billing", "orders.billing.dlq"),
				build.Bind("orders", "#", "orders.billing"),
			},
			want: []string{"orders.billing: orders.billing.dlq=retry(5s, argument)"},
		},
		{
			name: "MassTransit: error and skipped queues behind exchanges of their names, and a delaying exchange",
			parts: []build.Part{
				build.Exchange("fanout", "mail"), build.Queue("mail", build.Consumers(1)), build.Bind("mail", "", "mail"),
				build.Exchange("fanout", "mail_error"), build.Queue("mail_error"), build.Bind("mail_error", "", "mail_error"),
				build.Exchange("fanout", "mail_skipped"), build.Queue("mail_skipped"),
				build.Bind("mail_skipped", "", "mail_skipped"),
				build.Exchange("x-delayed-message", "mail_delay", "x-delayed-type", "fanout"),
				build.BindExchange("mail_delay", "", "mail"),
			},
			want: []string{"mail: mail_delay=delayed(per message, message) mail_error=failed mail_skipped=failed"},
		},
		{
			name: "NServiceBus: one endpoint, delays, the error queue",
			parts: append(build.DelayLevels("nsb.v2.delay-level-%02d", "nsb.v2.delay-delivery", 28),
				build.Endpoint("mail"), build.EndpointDown("error")),
			want: []string{"mail: nsb.v2.delay-level-00 … nsb.v2.delay-level-27=delayed(1s…8y186d, argument) error=failed"},
		},
		{
			name: "Celery: native delayed delivery",
			parts: append(build.DelayLevels("celery_delayed_%d", "celery_delayed_delivery", 28),
				build.Exchange("topic", "tasks"), build.Queue("tasks", build.OfType(model.Quorum), build.Consumers(1)),
				build.Bind("tasks", "tasks", "tasks"), build.BindExchange("celery_delayed_delivery", "#.tasks", "tasks")),
			want: []string{"tasks: celery_delayed_0 … celery_delayed_27=delayed(1s…8y186d, argument)"},
		},
		{
			name: "EasyNetQ: one error queue behind exchanges named after keys; a future publish",
			parts: []build.Part{
				build.Exchange("topic", "Shop.Order, Shop"),
				build.Queue("Shop.Order, Shop_billing", build.Consumers(1)),
				build.Bind("Shop.Order, Shop", "#", "Shop.Order, Shop_billing"),
				build.Exchange("direct", "ErrorExchange_#"), build.Queue("EasyNetQ_Default_Error_Queue"),
				build.Bind("ErrorExchange_#", "#", "EasyNetQ_Default_Error_Queue"),
				build.Exchange("direct", "Shop.Order, Shop_00_00_30"),
				build.Queue("Shop.Order, Shop_00_00_30", build.TTL(30000), build.DLX("Shop.Order, Shop"), build.DeadKey("#")),
				build.Bind("Shop.Order, Shop_00_00_30", "#", "Shop.Order, Shop_00_00_30"),
			},
			want: []string{"Shop.Order, Shop_billing: Shop.Order, Shop_00_00_30=delayed(30s, argument) " +
				"EasyNetQ_Default_Error_Queue=failed"},
		},
		{
			name: "EasyNetQ: several workers share the error queue",
			parts: []build.Part{
				build.Queue("Order_billing", build.Consumers(1)), build.Queue("Order_stock", build.Consumers(1)),
				build.Queue("EasyNetQ_Default_Error_Queue"),
			},
			alone: []string{"EasyNetQ_Default_Error_Queue"},
		},
		{
			name: "Sneakers and Kicks: retry, requeue and error exchanges",
			parts: []build.Part{
				build.Exchange("topic", "mail-retry"), build.Exchange("topic", "mail-retry-requeue"),
				build.Exchange("topic", "mail-error"),
				build.Queue("mail", build.Consumers(1), build.DLX("mail-retry")), build.Bind("mail-retry-requeue", "#", "mail"),
				build.Queue("mail-retry", build.TTL(60000), build.DLX("mail-retry-requeue")),
				build.Bind("mail-retry", "#", "mail-retry"),
				build.Queue("mail-error"), build.Bind("mail-error", "#", "mail-error"),
			},
			want: []string{"mail: mail-retry=retry(1m, argument) mail-error=failed"},
		},
		{
			name: "Kicks with a backoff: a retry queue for each delay",
			parts: []build.Part{
				build.Exchange("topic", "mail-backoff"), build.Exchange("topic", "mail-retry-requeue"),
				build.Queue("mail", build.Consumers(1)), build.Bind("mail-retry-requeue", "#", "mail"),
				build.Queue("mail-retry-30000", build.TTL(30000), build.DLX("mail-retry-requeue")),
				build.Bind("mail-backoff", "30000", "mail-retry-30000"),
				build.Queue("mail-retry-60000", build.TTL(60000), build.DLX("mail-retry-requeue")),
				build.Bind("mail-backoff", "60000", "mail-retry-60000"),
			},
			want: []string{"mail: mail-retry-30000=retry(30s, argument) mail-retry-60000=retry(1m, argument)"},
		},
		{
			name: "Dramatiq: the workers hold what is delayed; the dead queue forgets", parts: build.DramatiqParts,
			want: []string{"mail: mail.DQ=delayed(per message, message) mail.XQ=failed"},
		},
		{
			name: "Wolverine: one dead letter queue by arguments",
			parts: []build.Part{
				build.Exchange("fanout", "wolverine-dead-letter-queue"), build.Queue("wolverine-dead-letter-queue"),
				build.Bind("wolverine-dead-letter-queue", "", "wolverine-dead-letter-queue"),
				build.Queue("mail", build.Consumers(1), build.DLX("wolverine-dead-letter-queue")),
				build.Queue("stock", build.Consumers(1), build.DLX("wolverine-dead-letter-queue")),
			},
			want: []string{"mail: wolverine-dead-letter-queue=failed", "stock: wolverine-dead-letter-queue=failed"},
		},
		{
			name: "Rebus: one error queue for all",
			parts: []build.Part{
				build.Exchange("direct", "RebusDirect"), build.Queue("mail", build.Consumers(1)),
				build.Queue("stock", build.Consumers(1)), build.Queue("error"), build.Bind("RebusDirect", "error", "error"),
			},
			alone: []string{"error"},
		},
		{
			name: "Watermill: a poison queue that the user named",
			parts: []build.Part{
				build.Exchange("fanout", "mail"), build.Queue("mail", build.Consumers(1)),
				build.Bind("mail", "", "mail"), build.Exchange("fanout", "mail.poison"), build.Queue("mail.poison"),
				build.Bind("mail.poison", "", "mail.poison"),
			},
			want: []string{"mail: mail.poison=failed"},
		},
		{
			name: "Rascal: delays and dead letters that the user named",
			parts: []build.Part{
				build.Exchange("topic", "delay"), build.Exchange("topic", "retry"), build.Exchange("topic", "dead_letters"),
				build.Queue("demo:save", build.Consumers(1), build.DLX("dead_letters"), build.DeadKey("demo.dead")),
				build.Bind("retry", "demo.save", "demo:save"),
				build.Queue("demo:delay:1m", build.TTL(60000), build.DLX("retry"), build.DeadKey("demo.save")),
				build.Bind("delay", "delay.1m", "demo:delay:1m"),
				build.Queue("demo:dead_letters"), build.Bind("dead_letters", "demo.dead", "demo:dead_letters"),
			},
			want: []string{"demo:save: demo:delay:1m=delayed(1m, argument) demo:dead_letters=failed"},
		},
		{
			name: "x-delayed-message plugin",
			parts: []build.Part{
				build.Exchange("x-delayed-message", "my-exchange", "x-delayed-type", "direct"),
				build.Queue("mail", build.Consumers(1)), build.Bind("my-exchange", "mail", "mail"),
			},
			want: []string{"mail: my-exchange=delayed(per message, message)"},
		},
		{
			name: "quorum delayed retry, by policy",
			parts: []build.Part{
				build.Queue("mail", build.OfType(model.Quorum), build.Consumers(1),
					build.Policy("retry", model.Table{
						"delayed-retry-type": "all",
						"delayed-retry-min":  int64(1000), "delayed-retry-max": int64(60000),
					})),
			},
			want: []string{"mail: retries by itself: all (policy retry)"},
		},
		{
			name:  "none: a plain dead-letter exchange",
			parts: build.ScenarioParts["a plain worker with a dead-letter queue"],
			want:  []string{"mail: mail.dlq=failed"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			topology := build.TopologyOf("4.3.6", test.parts...)
			assert.NoDiff(t, cmp.Diff(test.want, build.Told(topology.Flows())))
			for _, f := range topology.Flows() {
				for _, b := range f.Buffers {
					assert.That(t, b.Reason != "", "%s has no reason", b.Name())
				}
			}
			var alone []string
			for _, m := range topology.FailedWithoutFlow() {
				alone = append(alone, m.Queue.String())
			}
			assert.NoDiff(t, cmp.Diff(test.alone, alone))
			for _, f := range Of(topology) {
				assert.That(t, f.Code != "buffer-with-consumers", "%s: %s", f.Queue, f.Message)
			}
		})
	}
}
