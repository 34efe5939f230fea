package cases

import (
	"testing"

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
