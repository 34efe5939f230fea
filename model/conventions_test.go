package model

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Queues and exchanges as each framework of the table of conventions declares them, with workers that run.
func TestFlowsOfEachConvention(t *testing.T) {
	for _, test := range []struct {
		name  string
		parts []part
		want  []string
		alone []string
	}{
		{
			name: "Spring Cloud Stream: a group with its DLQ on the exchange DLX, and a parking lot that the application fills",
			parts: []part{
				exchange("topic", "orders"), exchange("direct", "DLX"), queue("orders.billing", consumers(1), dlx("DLX"), deadKey("orders.billing")),
				bind("orders", "#", "orders.billing"), queue("orders.billing.dlq"), bind("DLX", "orders.billing", "orders.billing.dlq"), queue("orders.billing.parkingLot"),
			},
			want: []string{"orders.billing: orders.billing.dlq=failed orders.billing.parkingLot=failed"},
		},
		{
			name: "Spring Cloud Stream: the DLQ sends back after dlqTtl",
			parts: []part{
				exchange("topic", "orders"), exchange("direct", "DLX"), queue("orders.billing", consumers(1), dlx("DLX"), deadKey("orders.billing")),
				queue("orders.billing.dlq", dlx("orders"), deadKey("orders.billing"), ttl(5000)), bind("DLX", "orders.billing", "orders.billing.dlq"), bind("orders", "#", "orders.billing"),
			},
			want: []string{"orders.billing: orders.billing.dlq=retry(5s, argument)"},
		},
		{
			name: "MassTransit: error and skipped queues behind exchanges of their names, and a delaying exchange",
			parts: []part{
				exchange("fanout", "mail"), queue("mail", consumers(1)), bind("mail", "", "mail"),
				exchange("fanout", "mail_error"), queue("mail_error"), bind("mail_error", "", "mail_error"),
				exchange("fanout", "mail_skipped"), queue("mail_skipped"), bind("mail_skipped", "", "mail_skipped"),
				exchange("x-delayed-message", "mail_delay", "x-delayed-type", "fanout"), bindExchange("mail_delay", "", "mail"),
			},
			want: []string{"mail: mail_delay=delayed(per message, message) mail_error=failed mail_skipped=failed"},
		},
		{
			name:  "NServiceBus: one endpoint, delays, the error queue",
			parts: append(delayLevels("nsb.v2.delay-level-%02d", "nsb.v2.delay-delivery", 28), endpoint("mail"), endpointDown("error")),
			want:  []string{"mail: nsb.v2.delay-level-00 … nsb.v2.delay-level-27=delayed(1s…8y186d, argument) error=failed"},
		},
		{
			name: "Celery: native delayed delivery",
			parts: append(delayLevels("celery_delayed_%d", "celery_delayed_delivery", 28),
				exchange("topic", "tasks"), queue("tasks", ofType(Quorum), consumers(1)), bind("tasks", "tasks", "tasks"), bindExchange("celery_delayed_delivery", "#.tasks", "tasks")),
			want: []string{"tasks: celery_delayed_0 … celery_delayed_27=delayed(1s…8y186d, argument)"},
		},
		{
			name: "EasyNetQ: one error queue behind exchanges named after keys; a future publish",
			parts: []part{
				exchange("topic", "Shop.Order, Shop"), queue("Shop.Order, Shop_billing", consumers(1)), bind("Shop.Order, Shop", "#", "Shop.Order, Shop_billing"),
				exchange("direct", "ErrorExchange_#"), queue("EasyNetQ_Default_Error_Queue"), bind("ErrorExchange_#", "#", "EasyNetQ_Default_Error_Queue"),
				exchange("direct", "Shop.Order, Shop_00_00_30"), queue("Shop.Order, Shop_00_00_30", ttl(30000), dlx("Shop.Order, Shop"), deadKey("#")),
				bind("Shop.Order, Shop_00_00_30", "#", "Shop.Order, Shop_00_00_30"),
			},
			want: []string{"Shop.Order, Shop_billing: Shop.Order, Shop_00_00_30=delayed(30s, argument) EasyNetQ_Default_Error_Queue=failed"},
		},
		{
			name: "EasyNetQ: several workers share the error queue",
			parts: []part{
				queue("Order_billing", consumers(1)), queue("Order_stock", consumers(1)), queue("EasyNetQ_Default_Error_Queue"),
			},
			alone: []string{"EasyNetQ_Default_Error_Queue"},
		},
		{
			name: "Sneakers and Kicks: retry, requeue and error exchanges",
			parts: []part{
				exchange("topic", "mail-retry"), exchange("topic", "mail-retry-requeue"), exchange("topic", "mail-error"),
				queue("mail", consumers(1), dlx("mail-retry")), bind("mail-retry-requeue", "#", "mail"),
				queue("mail-retry", ttl(60000), dlx("mail-retry-requeue")), bind("mail-retry", "#", "mail-retry"),
				queue("mail-error"), bind("mail-error", "#", "mail-error"),
			},
			want: []string{"mail: mail-retry=retry(1m, argument) mail-error=failed"},
		},
		{
			name: "Kicks with a backoff: a retry queue for each delay",
			parts: []part{
				exchange("topic", "mail-backoff"), exchange("topic", "mail-retry-requeue"), queue("mail", consumers(1)), bind("mail-retry-requeue", "#", "mail"),
				queue("mail-retry-30000", ttl(30000), dlx("mail-retry-requeue")), bind("mail-backoff", "30000", "mail-retry-30000"),
				queue("mail-retry-60000", ttl(60000), dlx("mail-retry-requeue")), bind("mail-backoff", "60000", "mail-retry-60000"),
			},
			want: []string{"mail: mail-retry-30000=retry(30s, argument) mail-retry-60000=retry(1m, argument)"},
		},
		{
			name: "Dramatiq: the workers hold what is delayed; the dead queue forgets", parts: dramatiqParts,
			want: []string{"mail: mail.DQ=delayed(per message, message) mail.XQ=failed"},
		},
		{
			name: "Wolverine: one dead letter queue by arguments",
			parts: []part{
				exchange("fanout", "wolverine-dead-letter-queue"), queue("wolverine-dead-letter-queue"), bind("wolverine-dead-letter-queue", "", "wolverine-dead-letter-queue"),
				queue("mail", consumers(1), dlx("wolverine-dead-letter-queue")), queue("stock", consumers(1), dlx("wolverine-dead-letter-queue")),
			},
			want: []string{"mail: wolverine-dead-letter-queue=failed", "stock: wolverine-dead-letter-queue=failed"},
		},
		{
			name:  "Rebus: one error queue for all",
			parts: []part{exchange("direct", "RebusDirect"), queue("mail", consumers(1)), queue("stock", consumers(1)), queue("error"), bind("RebusDirect", "error", "error")},
			alone: []string{"error"},
		},
		{
			name:  "Watermill: a poison queue that the user named",
			parts: []part{exchange("fanout", "mail"), queue("mail", consumers(1)), bind("mail", "", "mail"), exchange("fanout", "mail.poison"), queue("mail.poison"), bind("mail.poison", "", "mail.poison")},
			want:  []string{"mail: mail.poison=failed"},
		},
		{
			name: "Rascal: delays and dead letters that the user named",
			parts: []part{
				exchange("topic", "delay"), exchange("topic", "retry"), exchange("topic", "dead_letters"),
				queue("demo:save", consumers(1), dlx("dead_letters"), deadKey("demo.dead")), bind("retry", "demo.save", "demo:save"),
				queue("demo:delay:1m", ttl(60000), dlx("retry"), deadKey("demo.save")), bind("delay", "delay.1m", "demo:delay:1m"),
				queue("demo:dead_letters"), bind("dead_letters", "demo.dead", "demo:dead_letters"),
			},
			want: []string{"demo:save: demo:delay:1m=delayed(1m, argument) demo:dead_letters=failed"},
		},
		{
			name: "x-delayed-message plugin",
			parts: []part{
				exchange("x-delayed-message", "my-exchange", "x-delayed-type", "direct"), queue("mail", consumers(1)), bind("my-exchange", "mail", "mail"),
			},
			want: []string{"mail: my-exchange=delayed(per message, message)"},
		},
		{
			name: "quorum delayed retry, by policy",
			parts: []part{
				queue("mail", ofType(Quorum), consumers(1), policy("retry", Table{"delayed-retry-type": "all", "delayed-retry-min": int64(1000), "delayed-retry-max": int64(60000)})),
			},
			want: []string{"mail: retries by itself: all (policy retry)"},
		},
		{
			name:  "none: a plain dead-letter exchange",
			parts: scenarioParts["a plain worker with a dead-letter queue"],
			want:  []string{"mail: mail.dlq=failed"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			topology := topologyOf("4.3.6", test.parts...)
			if diff := cmp.Diff(test.want, told(topology.Flows())); diff != "" {
				t.Error(diff)
			}
			for _, f := range topology.Flows() {
				for _, b := range f.Buffers {
					if b.Reason == "" {
						t.Errorf("%s has no reason", b.Name())
					}
				}
			}
			var alone []string
			for _, m := range topology.FailedWithoutFlow() {
				alone = append(alone, m.Queue.String())
			}
			if diff := cmp.Diff(test.alone, alone); diff != "" {
				t.Error(diff)
			}
			for _, f := range topology.Findings() {
				if f.Code == "buffer-with-consumers" {
					t.Errorf("%s: %s", f.Queue, f.Message)
				}
			}
		})
	}
}
