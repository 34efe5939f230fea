package cases

import (
	"testing"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// rejected publishes messages with keys and lets a worker reject them.
func rejected(exchange, queue string, keys ...string) func(*world) {
	return func(w *world) {
		w.work(queue, rejects)
		for _, key := range keys {
			w.publish(exchange, key, key)
			w.awaitSeen(queue, key, 1)
		}
	}
}

// Dead letters that keys lead astray.
func TestKeys(t *testing.T) {
	worker := []build.Part{
		build.Exchange("topic", "orders"), build.Exchange("direct", "dlx"),
		build.Queue("billing", build.DLX("dlx")), build.Queue("billing.failed"),
	}
	play(t,
		situation{
			name: "a retry queue whose key is not bound", from: "a shop's manifest (c08)",
			parts: []build.Part{
				build.Exchange("topic", "events"), build.Exchange("direct", "dlx"),
				build.Queue("mail", build.DLX("dlx"), build.DeadKey("mail.failed"), build.Consumers(1)),
				build.Bind("events", "order.*", "mail"), build.Bind("events", "payment.*", "mail"),
				build.Queue("mail.failed"), build.Bind("dlx", "mail.failed", "mail.failed"),
				build.Queue("retry.30s", build.TTL(30_000), build.DLX("events"), build.DeadKey("mail.retry")),
			},
			says: []string{"error dead-letter-unroutable retry.30s: mail.retry"},
		},
		situation{
			name: "one of two keys", from: "btravstack/amqp-contract #618 (c46)",
			parts: append([]build.Part{
				build.Bind("orders", "order.created", "billing"), build.Bind("orders", "order.cancelled", "billing"),
				build.Bind("dlx", "order.created", "billing.failed"),
			}, worker...),
			traffic: func(w *world) {
				rejected("orders", "billing", "order.created", "order.cancelled")(w)
				w.depth("billing.failed", 1) // one is lost
			},
			says: []string{"warning dead-letter-unroutable billing: with the key order.cancelled are lost"},
		},
		situation{
			name: "a pattern, of which one key is bound", from: "c46",
			parts: append([]build.Part{
				build.Bind("orders", "order.*", "billing"), build.Bind("dlx", "order.created", "billing.failed"),
			}, worker...),
			traffic: func(w *world) {
				rejected("orders", "billing", "order.created", "order.cancelled")(w)
				w.depth("billing.failed", 1)
			},
			says: []string{"warning dead-letter-unroutable billing: order.*"},
		},
		situation{
			name: "keys that an alternate exchange or a wider pattern takes", from: "c46",
			parts: []build.Part{
				build.Exchange("topic", "orders"), build.Exchange("topic", "dlx"), build.Queue("failed"),
				build.Queue("a", build.DLX("dlx")), build.Bind("orders", "order.*", "a"), build.Bind("orders", "x", "a"),
				build.Bind("dlx", "order.#", "failed"), build.Bind("dlx", "x", "failed"),
				build.Exchange("direct", "dlx2", "alternate-exchange", "spare"), build.Exchange("fanout", "spare"),
				build.Queue("b", build.DLX("dlx2")), build.Bind("orders", "order.*", "b"), build.Bind("orders", "y", "b"),
				build.Bind("dlx2", "y", "failed"), build.Bind("spare", "", "failed"),
			},
			traffic: func(w *world) {
				w.work("a", rejects)
				rejected("orders", "b", "order.created", "y")(w)
				w.depth("failed", 3)
			},
			silent: []string{"dead-letter-unroutable"},
		},
		situation{
			name: "keys through an exchange that another one feeds", from: "c46",
			parts: append([]build.Part{
				build.Exchange("topic", "all"), build.BindExchange("all", "order.created", "orders"),
				build.Bind("orders", "#", "billing"), build.Bind("dlx", "order.created", "billing.failed"),
			}, worker...),
			traffic: func(w *world) {
				rejected("all", "billing", "order.created")(w)
				w.depth("billing.failed", 1)
			},
			silent: []string{"dead-letter-unroutable"},
		},
		situation{
			name: "a queue that keeps what no queue takes", from: "c46",
			parts: []build.Part{
				build.Exchange("topic", "orders"), build.Exchange("direct", "dlx"), build.Queue("failed"),
				build.Queue("w", build.AtLeastOnce, build.DLX("dlx")), build.Bind("orders", "a", "w"),
				build.Bind("orders", "b", "w"), build.Bind("dlx", "a", "failed"),
			},
			traffic: rejected("orders", "w", "b"),
			says: []string{
				"warning dead-letter-unroutable w: that arrive with the key b stay in it", "warning dead-letters-held w",
			},
		},
	)
}

// Dead-lettering that another policy hides.
func TestPolicies(t *testing.T) {
	dead := []build.Part{build.Exchange("fanout", "dlx"), build.Queue("dead"), build.Bind("dlx", "", "dead")}
	play(t,
		situation{
			name: "a policy of a higher priority", from: "rabbitmq-server #1212, #841, #2818 (c28)",
			parts: append([]build.Part{
				build.Queue("orders"), build.Queue("invoices"),
				build.UserPolicy("dlx-all", "^(orders|invoices)$", 0, model.Table{"dead-letter-exchange": "dlx"}),
				build.UserPolicy("limit-orders", "^orders$", 5, model.Table{"max-length": int64(100_000)}),
			}, dead...),
			traffic: func(w *world) {
				rejected("", "orders", "orders")(w)
				rejected("", "invoices", "invoices")(w)
				w.depth("dead", 1) // the one of invoices
			},
			says:   []string{"warning policy-hidden orders: dlx-all"},
			silent: []string{"policy-hidden invoices", "policy-hidden dead", "policy-skipped"},
		},
		situation{
			name: "for all queues but some, and a failed queue with one of its own", from: "c28",
			parts: append([]build.Part{
				build.Queue("orders", build.Consumers(1)), build.Queue("tmp.1", build.Consumers(1)),
				build.Queue("plain", build.Consumers(1)),
				build.UserPolicy("dlx-all", `^(?!tmp\.).*`, 0, model.Table{"dead-letter-exchange": "dlx"}),
				build.UserPolicy("keep", "^(dead|tmp|plain)", 5, model.Table{"max-length": int64(100_000)}),
			}, dead...),
			says:   []string{"warning policy-hidden plain: dlx-all"},
			silent: []string{"policy-hidden orders", "policy-hidden tmp.1", "policy-hidden dead"},
		},
		situation{
			name: "operator policies are merged, or skipped", from: "c28",
			parts: append([]build.Part{
				build.Queue("orders", build.Consumers(1)),
				build.UserPolicy("dlx-all", "^orders", 0, model.Table{"dead-letter-exchange": "dlx"}),
				operator(build.UserPolicy("cap", "^orders", 9, model.Table{"max-length": int64(9), "delivery-limit": int64(5)})),
			}, dead...),
			says:   []string{"warning policy-skipped orders: the operator policy cap"},
			silent: []string{"policy-hidden"},
		},
		situation{
			name: "a key that is hidden", from: "c28",
			parts: append([]build.Part{
				build.Exchange("direct", "dead.x"), build.Bind("dead.x", "dead", "dead"),
				build.Queue("orders", build.DLX("dead.x"), build.Consumers(1)),
				build.UserPolicy("keys", "^orders", 0, model.Table{"dead-letter-routing-key": "dead"}),
				build.UserPolicy("limit", "^orders", 5, model.Table{"max-length": int64(100_000)}),
			}, dead...),
			says: []string{"warning policy-hidden orders: dead-letter-routing-key dead"},
		},
		situation{
			name: "limits and a buffer's TTL that a policy of dead lettering hides", from: "c28",
			parts: append([]build.Part{
				build.Queue("orders", build.OfType(model.Quorum), build.Consumers(1)), build.Queue("wait"),
				build.UserPolicy("limits", "^(orders|wait)$", 0, model.Table{
					"delivery-limit": int64(5), "message-ttl": int64(500),
				}),
				build.UserPolicy("dlx", "^(orders|wait)$", 5, model.Table{"dead-letter-exchange": "dlx"}),
				build.UserPolicy("ttl", "^wait$", 1, model.Table{"message-ttl": int64(500)}),
			}, dead...),
			traffic: func(w *world) { w.publish("", "wait", "w1"); w.depth("wait", 1) },
			says: []string{
				"info policy-hidden orders: message-ttl, delivery-limit of policy limits",
				"warning policy-hidden wait: policy ttl has no effect on wait",
			},
		},
	)
}

// operator makes a policy an operator policy.
func operator(policy build.Part) build.Part {
	return func(s *model.Snapshot) {
		policy(s)
		s.Policies[len(s.Policies)-1].Operator = true
	}
}
