package cases

import (
	"slices"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/must"
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
		situation{
			name:    "the dead-letter exchange is bound by the original key",
			from:    "arobson/rabbot #103, onebeyond/rascal #155 (c21)",
			parts:   shop(),
			traffic: rejectThree,
			replays: []replay{
				{queue: "main.rejected", reach: "refused", warns: "/main are lost: the dead-letter exchange"},
				{queue: "main.rejected", to: "queue:main", reach: "refused", warns: "for created it does"},
			},
			check: func(w *world) {
				w.work("main", rejects)
				status, _, errs := w.dlxtop("replay", "main.rejected", "--insist", "--yes")
				if status != 0 || !strings.Contains(errs, "the journal keeps the complete messages") {
					w.Errorf("insisted: exit status %d, %s", status, errs)
				}
				for _, id := range []string{"m0", "m1", "m2"} { // RabbitMQ loses each, and the journal has it
					w.awaitSeen("main", id, 2)
				}
				w.depth("main", 0)
				w.depth("main.rejected", 0)
				status, _, errs = w.dlxtop("journal", "undo", "1", "--yes")
				if status != 1 || !strings.Contains(errs, "undo and insist") {
					w.Errorf("undone: exit status %d, %s", status, errs)
				}
				if status, _, errs = w.dlxtop("journal", "undo", "1", "--insist", "--yes"); status != 0 {
					w.Errorf("undone: exit status %d, %s", status, errs)
				}
				w.depth("main.rejected", 3)
			},
		},
		situation{
			name: "dead letters by a key of CC, which a copy does not have", from: "the same kind",
			parts: []build.Part{
				build.Exchange("direct", "shop"), build.Exchange("direct", "shop.dlx"), build.Queue("main", build.DLX("shop.dlx")),
				build.Bind("shop", "created", "main"), build.Queue("main.rejected"), build.Bind("shop.dlx", "bad", "main.rejected"),
			},
			traffic: func(w *world) {
				w.work("main", rejects)
				w.publish("shop", "created", "m0", func(p *amqp.Publishing) { p.Headers = amqp.Table{"CC": []any{"bad"}} })
				w.depth("main.rejected", 1)
			},
			replays: []replay{{queue: "main.rejected", reach: "refused", warns: "leads to no queue for the key created"}},
			check:   losesAgain("main", "main.rejected", "m0"),
		},
		situation{
			name: "lost behind a retry buffer", from: "the same kind",
			parts: append(shop()[:6:6], build.Queue("wait", build.TTL(100), build.DLX("shop")),
				build.Bind("shop.dlx", "created", "wait"), build.Bind("shop.dlx", "main", "wait")),
			traffic: func(w *world) {
				failures := 0
				w.work("main", func(channel *amqp.Channel, d amqp.Delivery) error {
					if failures++; failures > 1 {
						return republishes("", "main.rejected", nil)(channel, d)
					}
					return rejects(channel, d)
				})
				w.publish("shop", "created", "m0")
				w.depth("main.rejected", 1)
			},
			replays: []replay{{queue: "main.rejected", to: "queue:main", reach: "refused", warns: "main are lost: after wait"}},
			check:   losesAgain("main", "main.rejected", "m0"),
		},
		situation{
			name: "another exchange leads to the worker alone", from: "the same",
			parts: append(shop(), build.Exchange("topic", "admin"), build.Bind("admin", "created", "main"),
				build.Bind("admin", "changed", "main"), build.Queue("other"), build.Bind("admin", "changed", "other")),
			traffic: rejectThree,
			replays: []replay{{queue: "main.rejected", reach: "main", got: []string{"main m0", "main m1", "main m2"}}},
		},
		situation{
			name: "a worker that chooses by the routing key", from: "xogroup/bunnybus",
			parts: []build.Part{
				build.Exchange("topic", "bus"), build.Queue("orders"), build.Bind("bus", "order.created", "orders"),
				build.Queue("orders_error"),
			},
			traffic: func(w *world) {
				w.work("orders", republishes("", "orders_error", amqp.Table{"reason": "no customer"}))
				w.publish("bus", "order.created", "o1")
				w.depth("orders_error", 1)
			},
			check: func(w *world) {
				keys := make(chan string, 1)
				w.work("orders", func(channel *amqp.Channel, d amqp.Delivery) error {
					keys <- d.RoutingKey
					return acks(channel, d)
				})
				if status, _, errs := w.dlxtop("replay", "orders_error", "--yes"); status != 0 {
					w.Errorf("exit status %d: %s", status, errs)
				}
				if key := <-keys; key != "order.created" {
					w.Errorf("the worker got it with the key %s, and acknowledges that unseen", key)
				}
			},
		},
		situation{
			name: "a worker that chooses by the key, and shares it", from: "the same",
			parts: []build.Part{
				build.Exchange("topic", "bus"), build.Queue("orders"), build.Bind("bus", "order.created", "orders"),
				build.Queue("mail"), build.Bind("bus", "order.*", "mail"), build.Queue("orders_error"),
			},
			traffic: func(w *world) {
				w.work("orders", republishes("", "orders_error", amqp.Table{"reason": "no customer"}))
				w.work("mail", acks)
				w.publish("bus", "order.created", "o1")
				w.depth("orders_error", 1)
			},
			replays: []replay{{queue: "orders_error", reach: "orders", warns: "orders is bound for other keys only"}},
		},
		situation{
			name: "the worker is gone, and another service shares its key", from: "JasperFx/wolverine #4281 (c53)",
			parts: []build.Part{
				build.Exchange("topic", "ev"), build.Exchange("fanout", "dlx"), build.Queue("failed"),
				build.Bind("dlx", "", "failed"), build.Queue("invoices", build.DLX("dlx")),
				build.Bind("ev", "invoice.*", "invoices"),
				build.Queue("ledger", build.DLX("dlx"), build.Consumers(1)), build.Bind("ev", "invoice.*", "ledger"),
			},
			traffic: func(w *world) {
				w.work("invoices", rejects)
				w.publish("ev", "invoice.new", "i1")
				w.depth("failed", 1)
				w.awaitSeen("ledger", "i1", 1)
				w.gone("invoices")
			},
			replays: []replay{{queue: "failed", reach: "refused", warns: "invoices, which is gone (x-death: it rejected the " +
				"message last); it could be ledger (its origin, exchange ev, key invoice.new)"}},
		},
		situation{
			name: "the messages of a queue that is gone had expired there", from: "the same",
			parts: []build.Part{
				build.Exchange("topic", "ev"), build.Exchange("fanout", "dlx"), build.Queue("failed"),
				build.Bind("dlx", "", "failed"), build.Queue("invoices", build.DLX("dlx"), build.TTL(100)),
				build.Bind("ev", "invoice.*", "invoices"), build.Queue("ledger", build.DLX("dlx"), build.Consumers(1)),
				build.Bind("ev", "invoice.*", "ledger"),
			},
			traffic: func(w *world) {
				w.publish("ev", "invoice.new", "i1")
				w.depth("failed", 1)
				w.awaitSeen("ledger", "i1", 1)
				w.gone("invoices")
			},
			replays: []replay{{queue: "failed", reach: "refused", warns: "invoices, which is gone"}},
		},
		situation{
			name: "exchanges named like paths", from: "symfony/symfony #37985 (c45)",
			parts: []build.Part{
				build.Exchange("direct", "api/v1"), build.Exchange("direct", "api"), build.Exchange("direct", "dlx"),
				build.Queue("order;create", build.DLX("dlx"), build.DeadKey("f")), build.Queue("failed"),
				build.Bind("dlx", "f", "failed"), build.Queue("other"), build.Bind("api/v1", "order/created", "order;create"),
				build.Bind("api", "v1/order/created", "other"), build.Bind("api/v1", "x", "other"),
				build.Bind("api", "v1/x", "failed"),
			},
			traffic: func(w *world) {
				w.work("order;create", rejects)
				w.publish("api/v1", "order/created", "o1")
				w.depth("failed", 1)
			},
			replays: []replay{
				{queue: "failed", to: "exchange:api/v1/x", reach: "refused", warns: "--to exchange:api/v1 --key x, or"},
				{queue: "failed", to: "exchange:api/v1/order/created", reach: "order;create", got: []string{"order;create o1"}},
			},
		},
	)
}

// shop has a worker that shares its key with an audit. Its dead-letter exchange is bound by that key.
func shop() []build.Part {
	return []build.Part{
		build.Exchange("direct", "shop"), build.Exchange("direct", "shop.dlx"), build.Queue("main", build.DLX("shop.dlx")),
		build.Queue("audit", build.Consumers(1)), build.Queue("main.rejected"), build.Bind("shop", "created", "main"),
		build.Bind("shop", "created", "audit"), build.Bind("shop.dlx", "created", "main.rejected"),
	}
}

// losesAgain insists on a replay by the queue's name, of a message that the worker has got before, and sees it lost.
func losesAgain(worker, failed, id string) func(*world) {
	return func(w *world) {
		w.work(worker, rejects)
		before := len(w.seen())
		if status, _, errs := w.dlxtop("replay", failed, "--to", "queue:"+worker, "--insist", "--yes"); status != 0 {
			w.Errorf("insisted: exit status %d, %s", status, errs)
		}
		w.await(worker+" gets it again", func() bool { return slices.Contains(w.seen()[before:], worker+" "+id) })
		snapshot := must.Get(w.source.Snapshot(w.Context()))(w)
		for _, q := range snapshot.Queues {
			w.depth(q.Name, 0)
		}
	}
}

func rejectThree(w *world) {
	w.work("main", rejects)
	for _, id := range []string{"m0", "m1", "m2"} {
		w.publish("shop", "created", id)
	}
	w.depth("main.rejected", 3)
}
