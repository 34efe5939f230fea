package cases

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// Failed queues and buffers that lose what is in them.
func TestLosses(t *testing.T) {
	work := func(name, failed string, settings ...build.Setting) build.Part {
		return build.Queue(name, append(settings, build.DLX(""), build.DeadKey(failed))...)
	}
	limit := func(n int64, overflow string) build.Setting {
		return func(q *model.Queue) { q.Arguments["x-max-length"], q.Arguments["x-overflow"] = n, overflow }
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
				build.Queue("w", limit(2, "reject-publish")), build.Queue("w.failed"),
				build.Queue("w.delay", build.TTL(50), build.DLX(""), build.DeadKey("w")),
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
			says:   []string{"warning failed-queue-forgets a.failed: declare it without x-max-length"},
			silent: []string{"target-refuses", "target-drops-head b.failed"}, // what is said for quorum queues works
		},
		situation{
			name: "a failed queue that a policy deletes", from: "rabbitmq-server #2818, #10962 (c42)",
			parts: []build.Part{
				work("orders", "orders.dead"), build.Queue("orders.dead"),
				build.UserPolicy("cleanup", ".*", 0, model.Table{"expires": int64(20_000)}),
			},
			traffic: rejected("", "orders", "orders"),
			says:    []string{"warning failed-queue-forgets orders.dead: is unused for 20s"},
			silent:  []string{"failed-queue-forgets orders"},
		},
		situation{
			name: "a failed queue that is gone with what failed", from: "c42",
			parts: []build.Part{
				work("orders", "orders.dead"), build.Queue("orders.dead", build.Argument("x-expires", int64(1500))),
			},
			traffic: func(w *world) {
				rejected("", "orders", "orders")(w)
				w.await("orders.dead is deleted", func() bool {
					t, known := w.topology()
					return known && len(t.Snapshot.Queues) == 1
				})
			},
			says: []string{"error dead-letter-unroutable orders"}, // what fails from now on is lost, too
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
			name: "failed streams that forget", from: "c42, c47",
			parts: []build.Part{
				work("a", "a.failed", build.Consumers(1)),
				build.Queue("a.failed", build.OfType(model.Stream), build.Argument("x-max-age", "1h")),
				work("b", "b.failed", build.Consumers(1)), build.Queue("b.failed", build.OfType(model.Stream)),
			},
			says:   []string{"warning failed-queue-forgets a.failed: max-age 1h"},
			silent: []string{"failed-queue-forgets b.failed"},
		},
		situation{
			name: "leases of buffers", from: "vyuldashev/laravel-queue-rabbitmq #606, #627, #633 (c24)",
			parts: []build.Part{
				build.Queue("q", build.OfType(model.Quorum), build.Consumers(1)),
				build.Queue("q.delay", build.OfType(model.Quorum), build.TTL(20_000), build.Argument("x-expires", int64(40_000)),
					build.DLX(""), build.DeadKey("q")),
				build.Queue("c", build.Consumers(1)),
				build.Queue("c.delay", build.TTL(20_000), build.Argument("x-expires", int64(40_000)), build.DLX(""),
					build.DeadKey("c")),
			},
			says: []string{
				"warning buffer-expires q.delay: later than 20s after it was declared", "info buffer-expires c.delay: declare",
			},
		},
		situation{
			name: "nothing renews the lease of a quorum buffer but a get", from: "c24",
			parts: []build.Part{build.Queue("w", build.Consumers(1))},
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
				w.await("the quorum buffer is gone", func() bool {
					t, known := w.topology()
					return known && len(t.Snapshot.Queues) < 3
				})
				classic := 0
				for _, line := range w.seen() {
					if strings.Contains(line, "classic") {
						classic++
					}
				}
				if classic != 30 || len(w.seen()) == 60 {
					w.Errorf("%d of 30 arrive through the classic buffer, %d through the quorum buffer", classic,
						len(w.seen())-classic)
				}
			},
			silent: []string{"dead-letter-unroutable"},
		},
	)
}
