package cases

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// Failed messages and which queues get them in a replay.
func TestReplays(t *testing.T) {
	play(t,
		situation{
			name: "one wait queue and one failed queue for all services", from: "devobsession.com, retries (c51)",
			parts: []build.Part{
				build.Text(`
					exchange topic events
					exchange fanout dlx
					exchange direct rerouter
					queue wait ttl=300 dlx=rerouter
					bind dlx wait
					exchange fanout escalate
					queue escalation
					bind escalate escalation
					exchange fanout orders.in
					bind-exchange events item.# orders.in
					bind-exchange rerouter orders.in orders.in
					queue orders dlx=dlx key=orders.in
					bind orders.in orders
					exchange fanout stock.in
					bind-exchange events item.# stock.in
					bind-exchange rerouter stock.in stock.in
					queue stock dlx=dlx key=stock.in consumers=1
					bind stock.in stock
				`),
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
				errs := w.runs(0, "replay", "main.rejected", "--insist", "--yes")
				assert.Contains(w, errs, "the journal keeps the complete messages")
				for _, id := range []string{"m0", "m1", "m2"} { // RabbitMQ loses each, and the journal has it
					w.awaitSeen("main", id, 2)
				}

				w.depth("main", 0)
				w.depth("main.rejected", 0)
				assert.Contains(w, w.runs(1, "journal", "undo", "1", "--yes"), "undo and insist")
				w.runs(0, "journal", "undo", "1", "--insist", "--yes")

				w.depth("main.rejected", 3)
			},
		},
		situation{
			name: "dead letters by a key of CC, which a copy does not have", from: "the same kind",
			parts: []build.Part{
				build.Text(`
					exchange direct shop
					exchange direct shop.dlx
					queue main dlx=shop.dlx
					bind shop created main
					queue main.rejected
					bind shop.dlx bad main.rejected
				`),
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

			parts: append(shop()[:1:1], build.Text(`
				queue wait ttl=100 dlx=shop
				bind shop.dlx created wait
				bind shop.dlx main wait
			`)),
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
			parts: append(shop(), build.Text(`
				exchange topic admin
				bind admin created main
				bind admin changed main
				queue other
				bind admin changed other
			`)),
			traffic: rejectThree,
			replays: []replay{{queue: "main.rejected", reach: "main", got: []string{"main m0", "main m1", "main m2"}}},
		},
		situation{
			name: "a worker that chooses by the routing key", from: "xogroup/bunnybus",

			parts: []build.Part{
				build.Text(`
					exchange topic bus
					queue orders
					bind bus order.created orders
					queue orders_error
				`),
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

				w.runs(0, "replay", "orders_error", "--yes")
				assert.Equal(w, <-keys, "order.created", "the key with which the worker got it, and acknowledges it unseen")
			},
		},
		situation{
			name: "a worker that chooses by the key, and shares it", from: "the same",
			parts: []build.Part{
				build.Text(`
					exchange topic bus
					queue orders
					bind bus order.created orders
					queue mail
					bind bus order.* mail
					queue orders_error
				`),
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
				build.Text(`
					exchange topic ev
					exchange fanout dlx
					queue failed
					bind dlx failed
					queue invoices dlx=dlx
					bind ev invoice.* invoices
					queue ledger dlx=dlx consumers=1
					bind ev invoice.* ledger
				`),
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
				build.Text(`
					exchange topic ev
					exchange fanout dlx
					queue failed
					bind dlx failed
					queue invoices dlx=dlx ttl=100
					bind ev invoice.* invoices
					queue ledger dlx=dlx consumers=1
					bind ev invoice.* ledger
				`),
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
				build.Text(`
					exchange direct api/v1
					exchange direct api
					exchange direct dlx
					queue order;create dlx=dlx key=f
					queue failed
					bind dlx f failed
					queue other
					bind api/v1 order/created order;create
					bind api v1/order/created other
					bind api/v1 x other
					bind api v1/x failed
				`),
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

// shop has a worker that shares its key with an audit. Its dead-letter exchange is bound with that key.
func shop() []build.Part {
	return []build.Part{
		build.Text(`
			exchange direct shop
			exchange direct shop.dlx
			queue main dlx=shop.dlx
			queue audit consumers=1
			queue main.rejected
			bind shop created main
		`),
		build.Text(`
			bind shop created audit
			bind shop.dlx created main.rejected
		`),
	}
}

// losesAgain insists on a replay by the queue's name, of a message that the worker has had before, and sees it lost.
func losesAgain(worker, failed, id string) func(*world) {
	return func(w *world) {
		w.work(worker, rejects)
		before := len(w.seen())
		w.runs(0, "replay", failed, "--to", "queue:"+worker, "--insist", "--yes")
		must.Await(w, worker+" gets it again", func() bool { return slices.Contains(w.seen()[before:], worker+" "+id) })
		for _, q := range must.Get(w.source.Snapshot(w.Context()))(w).Queues {
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

// One failure in several failed queues.
func TestDoubles(t *testing.T) {
	play(t,
		situation{
			name: "two services with one dead-letter exchange", from: "trela-official/rabbitmq-pika-flask #30 (c22)",
			parts: twoServices(),
			traffic: func(w *world) {
				w.work("A", rejects)
				for _, id := range []string{"u1", "u2", "", ""} {
					w.publish("main", "user.created", id)
				}
				w.depth("A.dlq", 4)
				w.depth("B.dlq", 4)
			},
			says:    []string{"warning failure-in-two-queues A: arrives in A.dlq, B.dlq"},
			silent:  []string{"failure-in-two-queues B"},
			replays: []replay{{queue: "B.dlq", reach: "A", warns: "also arrive in A.dlq"}},
			check: func(w *world) {
				w.work("A", acks)
				w.runs(0, "replay", "B.dlq", "--yes")
				w.depth("B.dlq", 0)
				assert.Contains(w, w.runs(1, "replay", "A.dlq", "--yes"), "/B.dlq is replayed to the same queue, or was")
				w.depth("A.dlq", 4)
				w.work("A", rejects)
				w.runs(0, "replay", "A.dlq", "--yes", "--doubles")

				w.depth("B.dlq", 4) // they have failed again
				w.depth("A.dlq", 4)
				w.work("A", acks)
				w.runs(0, "replay", "B.dlq", "--yes", "--limit", "1")
				w.runs(1, "replay", "A.dlq", "--yes", "--canary", "--canary-wait", "1s")
				w.depth("A.dlq", 1) // of the first messages in B.dlq

				w.runs(1, "journal", "undo", "3", "--yes")
			},
		},
		situation{
			name: "the same id twice, and once with another body", from: "the same kind",
			parts: []build.Part{build.Text(`
				queue mail
				queue mail.failed
			`)},
			traffic: func(w *world) {
				for _, body := range []string{"a", "a", "b"} {
					w.publish("", "mail.failed", "m1", func(p *amqp.Publishing) { p.Body = []byte(body) })
				}
				w.publish("", "mail.failed", "")
				w.publish("", "mail.failed", "")
			},
			check: func(w *world) {
				errs := w.runs(1, "replay", "mail.failed", "--to", "queue:mail", "--yes")
				assert.Contains(w, errs, "1 of them stays: a copy from")
				assert.Contains(w, errs, "1 message with the message_id of another one")
				w.depth("mail", 4)
				w.depth("mail.failed", 1)
				w.runs(0, "journal", "undo", "1", "--yes")
				w.runs(0, "replay", "mail.failed", "--to", "queue:mail", "--yes", "--doubles")

				w.depth("mail", 5)
			},
		},
		situation{
			name: "two services that failed each on its own copy", from: "the same kind",
			parts: append(twoServices(), build.Text(`
				queue C dlx=dlx
				bind main user.created C
			`)),
			traffic: func(w *world) {
				w.work("A", rejects)
				w.publish("main", "user.created", "u1")
				w.depth("A.dlq", 1)
				w.work("C", rejects)
				w.depth("A.dlq", 2)
			},

			check: func(w *world) {
				w.work("A", acks)
				w.work("C", acks)
				w.runs(0, "replay", "A.dlq", "--yes")
				got := w.seen()
				assert.That(w, slices.Contains(got[2:], "A u1"), "the workers got %v", got)
				assert.That(w, slices.Contains(got[2:], "C u1"), "the workers got %v", got)
				w.runs(1, "replay", "B.dlq", "--yes")
				w.depth("B.dlq", 2)
			},
		},
	)
}

// twoServices have their own failed queues, and both get what A rejects.
func twoServices() []build.Part {
	return []build.Part{
		build.Text(`
			exchange topic main
			exchange fanout dlx
			queue A dlx=dlx
			bind main user.created A
			queue B consumers=1
			bind main user.created B
			queue A.dlq
			bind dlx A.dlq
			queue B.dlq
			bind dlx B.dlq
		`),
	}
}

func (w *world) runs(want int, args ...string) (errs string) {
	w.Helper()
	status, out, errs := w.dlxtop(args...)
	assert.That(w, status == want, "%v: exit status %d, want %d: %s%s", args, status, want, out, errs)
	return errs
}

// Failed queues and buffers that lose their messages.
func TestLosses(t *testing.T) {
	work := func(name, failed string, settings ...build.Setting) build.Part {
		return build.Queue(name, append(settings, build.DLX(""), build.DeadKey(failed))...)
	}
	limit := func(n int64, overflow string) build.Setting {
		return func(q *model.Queue) { q.Arguments["x-max-length"], q.Arguments["x-overflow"] = n, overflow }
	}
	streams := []build.Part{
		work("a", "a.failed", build.Consumers(1)),
		build.Text("stream a.failed x-max-age=1h"),
		work("b", "b.failed", build.Consumers(1)),
		build.Text("stream b.failed"),
	}

	play(t,
		situation{
			name: "a full failed queue refuses dead letters", from: "rabbitmq-server #8495 (c26)",
			parts: []build.Part{
				work("work.classic", "dlq.classic"), build.Queue("dlq.classic", limit(5, "reject-publish")),
				work("work.quorum", "dlq.quorum"),
				build.Queue("dlq.quorum", build.OfType(model.Quorum), limit(5, "reject-publish")),
				work("safe", "dlq.held", build.AtLeastOnce), build.Queue("dlq.held", limit(5, "reject-publish")),
				work("roomy", "dlq.roomy"), build.Queue("dlq.roomy", limit(500, "reject-publish-dlx")),
			},
			traffic: func(w *world) {
				for _, queue := range []string{"work.classic", "work.quorum", "safe"} {
					for i := range 12 {
						w.publish("", queue, fmt.Sprint(i))
					}
					w.work(queue, rejects)
					w.awaitSeen(queue, "11", 1)
				}

				w.depth("dlq.classic", 5) // 7 are lost
				w.depth("dlq.quorum", 12)
				w.depth("dlq.held", 5) // 7 wait in safe
			},
			says: []string{
				"error target-refuses dlq.classic: make it a quorum queue", "warning target-refuses dlq.roomy",
				"warning dead-letters-held safe",
			},
			silent: []string{"target-refuses dlq.quorum", "target-refuses dlq.held"},
		},
		situation{
			name: "a full worker behind a buffer refuses what is due", from: "c26",
			parts: []build.Part{
				build.Queue("w", limit(2, "reject-publish")), build.Text(`
					queue w.failed
					queue w.delay ttl=50 dlx= key=w
				`),
			},
			traffic: func(w *world) {
				for i := range 5 {
					w.publish("", "w.delay", fmt.Sprint(i))
				}

				w.depth("w.delay", 0)
				w.depth("w", 2)
			},
			says: []string{"error target-refuses w", "error worker-without-consumers w"},
		},
		situation{
			name: "remedies of a failed queue that pushes its oldest out", from: "c26",
			parts: []build.Part{
				work("a", "a.failed", build.Consumers(1)), build.Queue("a.failed", limit(5, "drop-head")),
				work("b", "b.failed", build.Consumers(1)),
				build.Queue("b.failed", build.OfType(model.Quorum), limit(5, "drop-head")),
				build.UserPolicy("over", "^b.failed", 0, model.Table{"overflow": "reject-publish"}),
			},
			says: []string{"warning failed-queue-forgets a.failed: declare it without x-max-length"},

			silent: []string{"target-refuses", "target-drops-head b.failed"}, // the remedy for quorum queues works
		},
		situation{
			name: "a failed queue that a policy deletes", from: "rabbitmq-server #2818, #10962 (c42)",
			parts: []build.Part{
				work("orders", "orders.dead"), build.Text(`
					queue orders.dead
					policy cleanup .* 0 expires=20000
				`),
			},
			traffic: rejected("", "orders", "orders"),
			says:    []string{"warning failed-queue-forgets orders.dead: is unused for 20s"},
			silent:  []string{"failed-queue-forgets orders"},
		},
		situation{
			name: "a failed queue that is gone with what failed", from: "c42",
			parts: []build.Part{
				work("orders", "orders.dead"), build.Text("queue orders.dead x-expires=1500"),
			},
			traffic: func(w *world) {
				rejected("", "orders", "orders")(w)

				must.Await(w, "orders.dead is deleted", func() bool {
					t, known := w.topology()
					return known && len(t.Snapshot.Queues) == 1
				})
			},
			says: []string{"error dead-letter-unroutable orders"}, // later failures are lost, too
		},
		situation{
			name: "a failed queue that goes with its consumer, or with its node", from: "c42",
			parts: []build.Part{
				work("orders", "orders.dead"), build.Queue("orders.dead", func(q *model.Queue) { q.AutoDelete = true }),
				work("mail", "mail.dead"), build.Queue("mail.dead", func(q *model.Queue) { q.Durable = false }),
			},
			traffic: func(w *world) {
				rejected("", "orders", "orders")(w)
				rejected("", "mail", "mail")(w)

				w.depth("orders.dead", 1)
			},
			says: []string{
				"warning failed-queue-forgets orders.dead: when the last of its consumers ends",
				"info failed-queue-forgets mail.dead: declared without durable",
			},
		},
		situation{
			name: "failed streams that forget", from: "c42, c47", parts: streams,
			when:   func(b model.Behaviour) bool { return !b.DropsDeadLettersToStreams },
			says:   []string{"warning failed-queue-forgets a.failed: max-age 1h"},
			silent: []string{"failed-queue-forgets b.failed"},
		},
		situation{
			name: "failed streams that take no dead letters", from: "c47, on 3.10", parts: streams,
			when: func(b model.Behaviour) bool { return b.DropsDeadLettersToStreams },
			says: []string{
				"error target-refuses a.failed: a stream takes none", "error target-refuses b.failed: a stream takes none",
				"warning failed-queue-forgets a.failed: max-age 1h",
			},
			silent: []string{"failed-queue-forgets b.failed"},
		},
		situation{
			name: "leases of buffers", from: "vyuldashev/laravel-queue-rabbitmq #606, #627, #633 (c24)",

			parts: []build.Part{
				build.Text(`
					quorum q consumers=1
					quorum q.delay ttl=20000 x-expires=40000 dlx= key=q
					queue c consumers=1
					queue c.delay ttl=20000 x-expires=40000 dlx= key=c
				`),
			},
			says: []string{
				"warning buffer-expires q.delay: later than 20s after it was declared", "info buffer-expires c.delay: declare",
			},
		},
		situation{
			name: "nothing renews the lease of a quorum buffer but a get", from: "c24",
			parts: []build.Part{build.Text("queue w consumers=1")},
			traffic: func(w *world) {
				size.Long(w)

				buffers := []model.QueueType{model.Quorum, model.Classic}
				pace := time.NewTicker(500 * time.Millisecond) // a lease runs by the broker's clock
				defer pace.Stop()

				for i := range 30 { // over 15 s, each after the queue was declared again
					for _, kind := range buffers {
						name := "w.delay." + string(kind)
						w.declare([]build.Part{build.Queue(name, build.OfType(kind), build.TTL(2000), build.DLX(""),
							build.DeadKey("w"), build.Argument("x-expires", int64(4000)))})
						w.publish("", name, fmt.Sprint(kind, i))
					}
					<-pace.C
				}

				w.awaitSeen("w", "classic29", 1)
				must.Await(w, "the quorum buffer is gone", func() bool {
					t, known := w.topology()
					return known && len(t.Snapshot.Queues) < 3
				})

				seen := strings.Join(w.seen(), "\n")
				classic := strings.Count(seen, "classic")
				quorum := strings.Count(seen, "quorum")
				assert.Equal(w, classic, 30, "%d of 30 arrive through the classic buffer, %d through the quorum buffer", classic,
					quorum)
				assert.That(w, quorum < 30, "%d of 30 arrive through the classic buffer, %d through the quorum buffer", classic,
					quorum)
			},
			silent: []string{"dead-letter-unroutable"},
		},
	)
}
