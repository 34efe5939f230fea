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
	playScripts(t, "testdata/replays.toml",
		situation{
			Name: "one wait queue and one failed queue for all services", From: "devobsession.com, retries (c51)",
			Parts: `
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
			`,

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
			Replays: []replay{{Queue: "escalation", Reach: "orders", Got: []string{"orders i1"}}},
		},
		situation{
			Name:    "the dead-letter exchange is bound by the original key",
			From:    "arobson/rabbot #103, onebeyond/rascal #155 (c21)",
			Parts:   shop,
			traffic: rejectThree,
			Replays: []replay{
				{Queue: "main.rejected", Reach: "refused", Warns: "/main are lost: the dead-letter exchange"},
				{Queue: "main.rejected", To: "queue:main", Reach: "refused", Warns: "for created it does"},
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
			Name: "dead letters by a key of CC, which a copy does not have", From: "the same kind",
			Parts: `
				exchange direct shop
				exchange direct shop.dlx
				queue main dlx=shop.dlx
				bind shop created main
				queue main.rejected
				bind shop.dlx bad main.rejected
			`,
			traffic: func(w *world) {
				w.work("main", rejects)
				w.publish("shop", "created", "m0", func(p *amqp.Publishing) { p.Headers = amqp.Table{"CC": []any{"bad"}} })
				w.depth("main.rejected", 1)
			},
			Replays: []replay{{Queue: "main.rejected", Reach: "refused", Warns: "leads to no queue for the key created"}},
			check:   losesAgain("main", "main.rejected", "m0"),
		},
		situation{
			Name: "lost behind a retry buffer", From: "the same kind",

			Parts: shopAlone + `
				queue wait ttl=100 dlx=shop
				bind shop.dlx created wait
				bind shop.dlx main wait
			`,
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
			Replays: []replay{{Queue: "main.rejected", To: "queue:main", Reach: "refused", Warns: "main are lost: after wait"}},
			check:   losesAgain("main", "main.rejected", "m0"),
		},
		situation{
			Name: "a worker that chooses by the routing key", From: "xogroup/bunnybus",

			Parts: `
				exchange topic bus
				queue orders
				bind bus order.created orders
				queue orders_error
			`,
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
			Name: "a worker that chooses by the key, and shares it", From: "the same",
			Parts: `
				exchange topic bus
				queue orders
				bind bus order.created orders
				queue mail
				bind bus order.* mail
				queue orders_error
			`,
			traffic: func(w *world) {
				w.work("orders", republishes("", "orders_error", amqp.Table{"reason": "no customer"}))
				w.work("mail", acks)
				w.publish("bus", "order.created", "o1")

				w.depth("orders_error", 1)
			},
			Replays: []replay{{Queue: "orders_error", Reach: "orders", Warns: "orders is bound for other keys only"}},
		},
	)
}

// shop has a worker that shares its key with an audit. Its dead-letter exchange is bound with that key.
const shop = shopAlone + `
	bind shop created audit
	bind shop.dlx created main.rejected
`

const shopAlone = `
	exchange direct shop
	exchange direct shop.dlx
	queue main dlx=shop.dlx
	queue audit consumers=1
	queue main.rejected
	bind shop created main
`

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
			Name: "two services with one dead-letter exchange", From: "trela-official/rabbitmq-pika-flask #30 (c22)",
			Parts: twoServices,
			traffic: func(w *world) {
				w.work("A", rejects)
				for _, id := range []string{"u1", "u2", "", ""} {
					w.publish("main", "user.created", id)
				}
				w.depth("A.dlq", 4)
				w.depth("B.dlq", 4)
			},
			Says:    []string{"warning failure-in-two-queues A: arrives in A.dlq, B.dlq"},
			Silent:  []string{"failure-in-two-queues B"},
			Replays: []replay{{Queue: "B.dlq", Reach: "A", Warns: "also arrive in A.dlq"}},
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
			Name: "the same id twice, and once with another body", From: "the same kind",
			Parts: `
				queue mail
				queue mail.failed
			`,
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
			Name: "two services that failed each on its own copy", From: "the same kind",
			Parts: twoServices + `
				queue C dlx=dlx
				bind main user.created C
			`,
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
const twoServices = `
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
`

func (w *world) runs(want int, args ...string) (errs string) {
	w.Helper()
	status, out, errs := w.dlxtop(args...)
	assert.That(w, status == want, "%v: exit status %d, want %d: %s%s", args, status, want, out, errs)
	return errs
}

// Failed queues and buffers that lose their messages.
func TestLosses(t *testing.T) {
	playScripts(t, "testdata/losses.toml",
		situation{
			Name: "a failed queue that is gone with what failed", From: "c42",
			Parts: `
				queue orders dlx= key=orders.dead
				queue orders.dead x-expires=1500
			`,
			traffic: func(w *world) {
				rejected("", "orders", "orders")(w)

				must.Await(w, "orders.dead is deleted", func() bool {
					t, known := w.topology()
					return known && len(t.Snapshot.Queues) == 1
				})
			},
			Says: []string{"error dead-letter-unroutable orders"}, // later failures are lost, too
		},
		situation{
			Name: "a failed queue that goes with its consumer, or with its node", From: "c42",
			Parts: `
				queue orders dlx= key=orders.dead
				queue mail dlx= key=mail.dead
			`,
			more: []build.Part{
				build.Queue("orders.dead", func(q *model.Queue) { q.AutoDelete = true }),
				build.Queue("mail.dead", func(q *model.Queue) { q.Durable = false }),
			},
			traffic: func(w *world) {
				rejected("", "orders", "orders")(w)
				rejected("", "mail", "mail")(w)

				w.depth("orders.dead", 1)
			},
			Says: []string{
				"warning failed-queue-forgets orders.dead: when the last of its consumers ends",
				"info failed-queue-forgets mail.dead: declared without durable",
			},
		},
		situation{
			Name: "nothing renews the lease of a quorum buffer but a get", From: "c24",
			Parts: "queue w consumers=1",
			traffic: func(w *world) {
				size.Long(w)

				buffers := []model.QueueType{model.Quorum, model.Classic}
				pace := time.NewTicker(500 * time.Millisecond) // a lease runs by the broker's clock
				defer pace.Stop()

				for i := range 30 { // over 15 s, each after the queue was declared again
					for _, kind := range buffers {
						name := "w.delay." + string(kind)
						w.declare("queue " + name + " ttl=2000 dlx= key=w x-expires=4000 x-queue-type=" + string(kind))
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
			Silent: []string{"dead-letter-unroutable"},
		},
	)
}
