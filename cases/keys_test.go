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
		build.Text(`
			exchange topic orders
			exchange direct dlx
			queue billing dlx=dlx
			queue billing.failed
		`),
	}

	play(t,
		situation{
			name: "a retry queue whose key is not bound", from: "a shop's manifest (c08)",
			parts: []build.Part{
				build.Text(`
					exchange topic events
					exchange direct dlx
					queue mail dlx=dlx key=mail.failed consumers=1
					bind events order.* mail
					bind events payment.* mail
					queue mail.failed
					bind dlx mail.failed mail.failed
					queue retry.30s ttl=30000 dlx=events key=mail.retry
				`),
			},
			says: []string{"error dead-letter-unroutable retry.30s: mail.retry"},
		},
		situation{
			name: "one of two keys", from: "btravstack/amqp-contract #618 (c46)",

			parts: append([]build.Part{
				build.Text(`
					bind orders order.created billing
					bind orders order.cancelled billing
					bind dlx order.created billing.failed
				`),
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
				build.Text(`
					bind orders order.* billing
					bind dlx order.created billing.failed
				`),
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
				build.Text(`
					exchange topic orders
					exchange topic dlx
					queue failed
					queue a dlx=dlx
					bind orders order.* a
					bind orders x a
					bind dlx order.# failed
					bind dlx x failed
					exchange direct dlx2 alternate-exchange=spare
					exchange fanout spare
					queue b dlx=dlx2
					bind orders order.* b
					bind orders y b
					bind dlx2 y failed
					bind spare failed
				`),
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
				build.Text(`
					exchange topic all
					bind-exchange all order.created orders
					bind orders # billing
					bind dlx order.created billing.failed
				`),
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
				build.Text(`
					exchange topic orders
					exchange direct dlx
					queue failed
					queue w at-least-once dlx=dlx
					bind orders a w
					bind orders b w
					bind dlx a failed
				`),
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
	dead := []build.Part{build.Text(`
		exchange fanout dlx
		queue dead
		bind dlx dead
	`)}
	play(t,
		situation{
			name: "a policy of a higher priority", from: "rabbitmq-server #1212, #841, #2818 (c28)",
			parts: append([]build.Part{
				build.Text(`
					queue orders
					queue invoices
					policy dlx-all ^(orders|invoices)$ 0 dead-letter-exchange=dlx
					policy limit-orders ^orders$ 5 max-length=100000
				`),
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
				build.Text(`
					queue orders consumers=1
					queue tmp.1 consumers=1
					queue plain consumers=1
					policy dlx-all ^(?!tmp\.).* 0 dead-letter-exchange=dlx
					policy keep ^(dead|tmp|plain) 5 max-length=100000
				`),
			}, dead...),
			says:   []string{"warning policy-hidden plain: dlx-all"},
			silent: []string{"policy-hidden orders", "policy-hidden tmp.1", "policy-hidden dead"},
		},
		situation{
			name: "operator policies are merged, or skipped", from: "c28",

			parts: append([]build.Part{
				build.Text(`
					queue orders consumers=1
					policy dlx-all ^orders 0 dead-letter-exchange=dlx
				`),
				operator(build.Text("policy cap ^orders 9 max-length=9 delivery-limit=5")),
			}, dead...),
			says: []string{"warning policy-skipped orders: the operator policy cap"},

			silent: []string{"policy-hidden"},
		},
		situation{
			name: "a key that is hidden", from: "c28",
			parts: append([]build.Part{
				build.Text(`
					exchange direct dead.x
					bind dead.x dead dead
					queue orders dlx=dead.x consumers=1
					policy keys ^orders 0 dead-letter-routing-key=dead
					policy limit ^orders 5 max-length=100000
				`),
			}, dead...),
			says: []string{"warning policy-hidden orders: dead-letter-routing-key dead"},
		},
		situation{
			name: "limits and a buffer's TTL that a policy of dead lettering hides", from: "c28",

			parts: append([]build.Part{
				build.Text(`
					quorum orders consumers=1
					queue wait
					policy limits ^(orders|wait)$ 0 delivery-limit=5 message-ttl=500
					policy dlx ^(orders|wait)$ 5 dead-letter-exchange=dlx
					policy ttl ^wait$ 1 message-ttl=500
				`),
			}, dead...),
			traffic: func(w *world) { w.publish("", "wait", "w1"); w.depth("wait", 1) },
			says: []string{
				"info policy-hidden orders: message-ttl, delivery-limit of policy limits",
				"warning policy-hidden wait: policy ttl has no effect on wait",
			},
		},
		situation{
			name: "a limit for quorum queues alone", from: "messaging-topology-operator #667, rabbitmq-server #7601 (d18)",
			when: func(b model.Behaviour) bool { return !b.ReversesDeaths }, // 3.12 has such policies, 3.10 has not
			parts: append([]build.Part{
				build.Text(`
					quorum pay
					queue mail
					policy dl-all ^(pay|mail)$ 0 dead-letter-exchange=dlx
				`),

				build.UserPolicy("limit-qq", "^(pay|mail|dead)$", 5, model.Table{"max-length": 1000}, "quorum_queues"),
			}, dead...),
			traffic: func(w *world) {
				rejected("", "pay", "pay")(w)
				rejected("", "mail", "mail")(w)

				w.depth("dead", 1) // the one of mail
			},
			says:    []string{"warning policy-hidden pay: limit-qq"},
			silent:  []string{"policy-hidden mail", "policy-hidden dead"},
			replays: []replay{{queue: "dead", reach: "mail", got: []string{"mail mail"}}},
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
