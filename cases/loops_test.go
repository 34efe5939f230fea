package cases

import (
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// Messages that come back to where they have been.
func TestLoops(t *testing.T) {
	play(t,
		situation{
			name: "a worker that gives back what it gets", from: "a BaseQueueService (c09)",
			parts: []build.Part{
				build.Exchange("direct", "dead-letters"), build.Queue("emails", build.DLX("dead-letters"), build.TTL(3_600_000)),
			},
			traffic: func(w *world) {
				w.work("emails", slowly(requeues))
				w.publish("", "emails", "e1")
				w.awaitSeen("emails", "e1", 20)
			},
			says:   []string{"error dead-letter-unroutable emails", "error requeue-loop emails"},
			silent: []string{"dead-letters-return"},
		},
		situation{
			name: "queues that dead-letter into themselves", from: "vyuldashev/laravel-queue-rabbitmq #301 (c10)",
			parts: []build.Part{
				build.Queue("tasks", build.DLX(""), build.TTL(200)),
				build.Queue("jobs", build.DLX(""), build.DeadKey("jobs"), build.OfType(model.Quorum)),
			},
			traffic: func(w *world) {
				w.publish("", "tasks", "t1")
				w.depth("tasks", 0) // dropped at its first expiry
				w.work("jobs", slowly(rejects))
				w.publish("", "jobs", "j1")
				w.awaitSeen("jobs", "j1", 20) // and so on
			},
			says: []string{
				"error dead-letters-return tasks: delete the queue and declare it", "error dead-letters-return jobs",
			},
			silent: []string{"requeue-loop", "cycle-cut", "rejected-loop"},
		},
		situation{
			name: "an exchange leads back, through another one, by policy", from: "c10",
			parts: []build.Part{
				build.Exchange("direct", "dlx", "alternate-exchange", "spare"), build.Exchange("fanout", "spare"),
				build.Exchange("topic", "in"), build.BindExchange("spare", "", "in"),
				build.Queue("w", build.Argument("x-max-length", int64(2))), build.Bind("in", "#", "w"),
				build.UserPolicy("dead", "^w$", 1, model.Table{"dead-letter-exchange": "dlx"}),
			},
			traffic: func(w *world) {
				for _, id := range []string{"1", "2", "3", "4"} {
					w.publish("in", "k", id)
				}
				w.depth("w", 2)
				w.work("w", slowly(rejects))
				w.awaitSeen("w", "4", 5)
			},
			says: []string{"error dead-letters-return w: in the policy dead"},
		},
		situation{
			name: "some keys lead back, a copy goes to the failed queue", from: "c10",
			parts: []build.Part{
				build.Exchange("direct", "in"), build.Queue("w", build.DLX("in")), build.Queue("failed"),
				build.Bind("in", "new", "w"), build.Bind("in", "old", "w"), build.Bind("in", "new", "failed"),
				build.Exchange("fanout", "all"), build.Queue("v", build.DLX("all"), build.TTL(100)), build.Queue("v.failed"),
				build.Bind("all", "", "v"), build.Bind("all", "", "v.failed"),
			},
			traffic: func(w *world) {
				w.publish("", "v", "v1")
				w.depth("v.failed", 1) // what expires is not lost
				w.work("w", slowly(rejects))
				w.publish("in", "new", "n")
				w.awaitSeen("w", "n", 5)
			},
			says: []string{
				"error dead-letters-return w: failed gets a copy each time",
				"error dead-letters-return v: v.failed gets a copy",
			},
		},
		situation{
			name: "a policy for all queues leads the failed queue back to itself", from: "c10, c28",
			parts: []build.Part{
				build.Exchange("fanout", "dlx"), build.Queue("w"), build.Queue("dead"), build.Bind("dlx", "", "dead"),
				build.UserPolicy("all", ".*", 0, model.Table{"dead-letter-exchange": "dlx"}),
			},
			traffic: func(w *world) {
				w.work("w", rejects)
				w.publish("", "w", "m")
				w.depth("dead", 1) // and stays
			},
			says: []string{"info dead-letters-return dead"},
		},
		situation{
			name: "two workers pass on what both reject", from: "c10",
			parts: []build.Part{
				build.Queue("a", build.DLX(""), build.DeadKey("b")), build.Queue("b", build.DLX(""), build.DeadKey("a")),
			},
			traffic: func(w *world) {
				w.work("a", slowly(rejects))
				w.work("b", slowly(rejects))
				w.publish("", "a", "m")
				w.awaitSeen("a", "m", 5)
			},
			says: []string{"warning dead-letters-return a: a, b"},
		},
		situation{
			name: "messages that expire while their worker is away", from: "rabbitmq-server #2287 (c23)",
			parts: []build.Part{
				build.Exchange("direct", "in"), build.Exchange("direct", "again"),
				build.Queue("w", build.DLX("again"), build.DeadKey("retry")), build.Bind("in", "w", "w"),
				build.Queue("retry", build.DLX("in"), build.DeadKey("w"), build.TTL(600_000)),
				build.Bind("again", "retry", "retry"),
				build.Queue("v", build.DLX("again"), build.DeadKey("v"), build.TTL(60_000)), build.Bind("in", "v", "v"),
				build.Queue("v.retry", build.DLX("in"), build.DeadKey("v"), build.TTL(60_000)),
				build.Bind("again", "v", "v.retry"), build.Queue("u", build.DLX("again"), build.DeadKey("u")),
				build.Queue("u.retry", build.DLX("in"), build.DeadKey("u"), build.TTL(600_000)),
				build.Bind("again", "u", "u.retry"), build.Bind("in", "u", "u"),
			},
			traffic: func(w *world) {
				for _, id := range []string{"1", "2", "3"} {
					w.publish("in", "w", id, func(p *amqp.Publishing) { p.Expiration = "50" })
				}
				w.depth("retry", 3)
				w.work("v", acks)
				w.work("u", rejects)
				w.publish("in", "u", "u1")
				w.depth("u.retry", 1)
			},
			says: []string{
				"warning cycle-cut retry: 3 messages in retry will be dropped on expiry if they expired in w",
				"warning cycle-cut v: longer than",
			},
			check: func(w *world) {
				for queue, says := range map[string]bool{"retry": true, "u.retry": false} {
					status, out, errs := w.dlxtop("peek", queue)
					if dropped := "will be dropped on expiry"; status != 0 || strings.Contains(errs, dropped) != says {
						w.Errorf("peek %s: %s%s", queue, out, errs)
					}
				}
			},
		},
		situation{
			name: "an hour before what is due", from: "taskiq-python/taskiq-aio-pika #25 (c14)",
			parts: []build.Part{
				build.Queue("tasks", build.Consumers(1)), build.Queue("tasks.delay", build.DLX(""), build.DeadKey("tasks")),
			},
			traffic: func(w *world) {
				w.publish("", "tasks.delay", "report", func(p *amqp.Publishing) { p.Expiration = "3600000" })
				w.publish("", "tasks.delay", "mail", func(p *amqp.Publishing) { p.Expiration = "600000" })
			},
			check: func(w *world) {
				w.await("what was not looked at is said", func() bool {
					_, _, errs := w.dlxtop("findings")
					return strings.Contains(errs, "not looked at")
				})
				for _, args := range [][]string{{"findings", "--read"}, {"peek", "tasks.delay"}} {
					_, out, errs := w.dlxtop(args...)
					if said := out + errs; !strings.Contains(said, "blocks 1 message") || strings.Contains(said, "not looked at") {
						w.Errorf("%v: %s", args, said)
					}
				}
			},
		},
		situation{
			name: "a retry buffer leads back: no queue does by itself", from: "c10",
			parts: []build.Part{
				build.Queue("w", build.DLX(""), build.DeadKey("w.wait")),
				build.Queue("w.wait", build.TTL(50), build.DLX(""), build.DeadKey("w")),
			},
			traffic: func(w *world) {
				w.work("w", rejects)
				w.publish("", "w", "m")
				w.awaitSeen("w", "m", 5)
			},
			says:   []string{"info rejected-loop w"},
			silent: []string{"dead-letters-return"},
		},
	)
}
