package cases

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// counts returns a worker that retries once through a buffer, and then gives up: it counts in its own header.
func counts(header, retry, failed string) action {
	return func(channel *amqp.Channel, d amqp.Delivery) error {
		to := retry
		if d.Headers[header] != nil {
			to = failed
		}
		return republishes("", to, amqp.Table{header: int32(1)})(channel, d)
	}
}

// Messages that wait for another try, and which queues then get them.
func TestRetries(t *testing.T) {
	services := []build.Part{
		build.Text(`
			exchange fanout A
			queue svc.B consumers=1
			bind A svc.B
			queue svc.C consumers=1
			bind A svc.C
			queue svc.D
			bind A svc.D
			queue svc.D.failed
		`),
	}

	topic := []build.Part{
		build.Text(`
			exchange topic events
			queue stock consumers=1
			bind events order.# stock
			exchange topic later
			queue mail dlx=later
			bind events order.paid mail
		`),
	}

	play(t,
		situation{
			name: "a retry comes back through the exchange of all", from: "pardahlman/RawRabbit #314 (c20)",
			parts: append([]build.Part{build.Text("queue svc.D.retry ttl=200 dlx=A")}, services...),
			traffic: func(w *world) {
				w.work("svc.D", counts("tries", "svc.D.retry", "svc.D.failed"))
				w.publish("A", "", "x1")
				w.awaitSeen("svc.B", "x1", 2) // it had succeeded
				w.depth("svc.D.failed", 1)
			},
			says:    []string{"warning retry-reaches-others svc.D.retry: retries of svc.D go to svc.B, svc.C, too"},
			silent:  []string{"republished-deaths-uncounted"},
			replays: []replay{{queue: "svc.D.failed", to: "queue:svc.D", reach: "svc.D", got: []string{"svc.D x1"}}},
		},
		situation{
			name: "a retry that keeps its key comes back to all that are bound by it", from: "symfony #36864, #37794 (c20)",
			parts: append([]build.Part{
				build.Text(`
					queue wait ttl=200 dlx=events
					bind later # wait
				`),
			}, topic...),
			traffic: func(w *world) {
				w.work("mail", rejects)
				w.publish("events", "order.paid", "o1")

				w.awaitSeen("stock", "o1", 2)
			},
			says:   []string{"warning retry-reaches-others wait: retries of mail go to stock, too"},
			silent: []string{"dead-letter-unroutable"},
		},
		situation{
			name: "through two buffers", from: "c20",
			parts: append([]build.Part{
				build.Text(`
					queue svc.D.retry.long ttl=200 dlx= key=svc.D.retry.short
					queue svc.D.retry.short ttl=100 dlx=A
				`),
			}, services...),
			traffic: func(w *world) {
				w.work("svc.D", counts("tries", "svc.D.retry.long", "svc.D.failed"))
				w.publish("A", "", "x1")

				w.awaitSeen("svc.B", "x1", 2)
			},
			says: []string{
				"warning retry-reaches-others svc.D.retry.long: svc.B, svc.C", "warning retry-reaches-others svc.D.retry.short",
			},
		},
		situation{
			name: "retries of each worker come back to it alone", from: "c20",
			parts: append([]build.Part{
				build.Text(`
					queue mail.wait ttl=200 dlx= key=mail
					bind later # mail.wait
					exchange fanout all
					bind all stock
					bind all mail
					queue nightly ttl=200 dlx=all
				`), // filled by publishers: a delay for all
			}, topic...),
			traffic: func(w *world) {
				w.publish("", "nightly", "n1")
				w.awaitSeen("stock", "n1", 1)
				w.work("mail", rejects)
				w.publish("events", "order.paid", "o1")

				w.awaitSeen("mail", "o1", 3)
			},
			silent: []string{"retry-reaches-others"},
		},
		situation{
			name: "a worker of which nothing shows how it counts", from: "c20",
			when: func(b model.Behaviour) bool { return !b.CountsRepublishedDeaths },
			parts: append([]build.Part{
				build.Text("queue svc.D.retry ttl=200 dlx= key=svc.D"),
			}, services...),
			traffic: func(w *world) {
				w.work("svc.D", republishes("", "svc.D.retry", nil))
				w.publish("A", "", "x1")

				w.awaitSeen("svc.D", "x1", 3)
			},
			says: []string{"warning republished-deaths-uncounted svc.D.retry: retries of svc.D may never end"},
		},
		situation{
			name: "a retry queue that is declared just before each reject", from: "jtassin/peanar, as its worker does it",
			parts: []build.Part{
				build.Text(`
					exchange direct retry
					exchange direct requeue
					queue mail dlx=retry
					bind requeue mail mail
				`),
			},
			traffic: func(w *world) {
				w.work("mail", func(channel *amqp.Channel, d amqp.Delivery) error {
					if d.Headers["x-death"] != nil {
						return acks(channel, d)
					}

					_, err := channel.QueueDeclare("mail.retry", true, false, false, false, amqp.Table{
						"x-message-ttl": 200, "x-expires": 400, "x-dead-letter-exchange": "requeue",
					})
					if err == nil {
						err = channel.QueueBind("mail.retry", "mail", "retry", false, nil)
					}
					if err != nil {
						return err
					}
					return rejects(channel, d)
				})

				w.publish("", "mail", "m1")
				w.awaitSeen("mail", "m1", 2)
			},
			says: []string{"warning dead-letter-unroutable mail: 1 dead letter came back to mail"},
		},
		situation{
			name: "the same before its first failure", from: "jtassin/peanar",
			parts: []build.Part{
				build.Text(`
					exchange direct mail.retry.ex
					exchange direct mail.retry-requeue
					queue mail dlx=mail.retry.ex consumers=1
					bind mail.retry-requeue mail mail
				`),
			},
			says: []string{"warning dead-letter-unroutable mail: the exchange mail.retry-requeue leads back to mail"},
		},
	)
}

// Messages that come back to where they have been.
func TestLoops(t *testing.T) {
	play(t,
		situation{
			name: "a worker that gives back what it gets", from: "a BaseQueueService (c09)",
			parts: []build.Part{
				build.Text(`
					exchange direct dead-letters
					queue emails dlx=dead-letters ttl=3600000
				`),
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
				build.Text(`
					queue tasks dlx= ttl=200
					quorum jobs dlx= key=jobs
				`),
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
				build.Text(`
					exchange direct dlx alternate-exchange=spare
					exchange fanout spare
					exchange topic in
					bind-exchange spare in
					queue w x-max-length=2
					bind in # w
					policy dead ^w$ 1 dead-letter-exchange=dlx
				`),
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
				build.Text(`
					exchange direct in
					queue w dlx=in
					queue failed
					bind in new w
					bind in old w
					bind in new failed
					exchange fanout all
					queue v dlx=all ttl=100
					queue v.failed
					bind all v
					bind all v.failed
				`),
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
			name: "a policy for all queues leads the failed queue back to itself", from: "c10, c28, docs/dlx",
			parts: []build.Part{
				build.Text(`
					exchange fanout dlx
					queue w
					queue dead
					bind dlx dead
					queue w_error
					stream log
					policy all .* 0 dead-letter-exchange=dlx
				`),
			},
			traffic: func(w *world) {
				w.work("w", rejects)
				w.publish("", "w", "m")

				w.depth("dead", 1)            // and stays
				w.publish("", "w_error", "e") // by the application itself
			},
			says:    []string{"info dead-letters-return dead"},
			silent:  []string{"policy-skipped"}, // the stream loses nothing
			replays: []replay{{queue: "w_error", reach: "w", got: []string{"w e"}}},
		},
		situation{
			name: "two workers pass on what both reject", from: "c10",
			parts: []build.Part{
				build.Text(`
					queue a dlx= key=b
					queue b dlx= key=a
				`),
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
				build.Text(`
					exchange direct in
					exchange direct again
					queue w dlx=again key=retry
					bind in w w
					queue retry dlx=in key=w ttl=600000
					bind again retry retry
					queue v dlx=again key=v ttl=60000
					bind in v v
					queue v.retry dlx=in key=v ttl=60000
					bind again v v.retry
					queue u dlx=again key=u
					queue u.retry dlx=in key=u ttl=600000
					bind again u u.retry
					bind in u u
				`),
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
					errs := w.runs(0, "peek", queue)
					assert.Equal(w, strings.Contains(errs, "will be dropped on expiry"), says, "peek %s says %s", queue, errs)
				}
			},
		},
		situation{
			name: "an hour before what is due", from: "taskiq-python/taskiq-aio-pika #25 (c14)",
			parts: []build.Part{
				build.Text(`
					queue tasks consumers=1
					queue tasks.delay dlx= key=tasks
				`),
			},
			traffic: func(w *world) {
				w.publish("", "tasks.delay", "report", func(p *amqp.Publishing) { p.Expiration = "3600000" })

				w.publish("", "tasks.delay", "mail", func(p *amqp.Publishing) { p.Expiration = "600000" })
			},
			check: func(w *world) {
				must.Await(w, "what was not looked at is said", func() bool {
					_, _, errs := w.dlxtop("findings")
					return strings.Contains(errs, "not looked at")
				})

				for _, args := range [][]string{{"findings", "--read"}, {"peek", "tasks.delay"}} {
					_, out, errs := w.dlxtop(args...)
					said := out + errs
					assert.Contains(w, said, "blocks 1 message", "%v", args)
					assert.Lacks(w, said, "not looked at", "%v", args)
				}
			},
		},
		situation{
			name: "reminders that wait for months", from: "rabbitmq-delayed-message-exchange #23, rabbitmq-server #4836 (d06)",
			parts: []build.Part{
				build.Text(`
					queue reminders.wait ttl=7776000000 dlx= key=reminders
					queue reminders dlx= key=reminders.failed
					queue reminders.failed
				`),
			},
			traffic: func(w *world) {
				w.publish("", "reminders.wait", "of 60 days", func(p *amqp.Publishing) {
					p.Expiration, p.Timestamp = "5184000000", time.Now()
				})

				w.work("reminders", rejects)
				w.publish("", "reminders", "failed")
				w.depth("reminders.failed", 1)
			},
			check: func(w *world) {
				for format, words := range map[string]string{"table": "90d", "json": `"ttl_ms": 7776000000`} {
					_, out, errs := w.dlxtop("flows", "-o", format)
					assert.Contains(w, out, words, "%s", errs)
				}

				errs := w.runs(1, "replay", "reminders.failed", "--edit", `.properties.expiration = "9999999999999"`, "--yes")
				assert.Contains(w, errs, "expiration")
				w.depth("reminders.failed", 1)
			},
		},
		situation{
			name: "a retry buffer leads back: no queue does by itself", from: "c10",
			parts: []build.Part{
				build.Text(`
					queue w dlx= key=w.wait
					queue w.wait ttl=50 dlx= key=w
				`),
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

// counters are how workers count tries in a message, and give it up at once when it comes with three: read and write.
var counters = map[string]struct {
	read  func(amqp.Table) int
	write func(amqp.Table, int)
}{
	"a nested table": {
		func(h amqp.Table) int {
			t, _ := h["laravel"].(amqp.Table)
			n, _ := t["attempts"].(int32)
			return int(n)
		},
		func(h amqp.Table, n int) { h["laravel"] = amqp.Table{"attempts": int32(n)} },
	},
	"a text": {
		func(h amqp.Table) int { s, _ := h["x-retry-count"].(string); n, _ := strconv.Atoi(s); return n },
		func(h amqp.Table, n int) { h["x-retry-count"] = strconv.Itoa(n) },
	},
	"camel case":     {integer("retryCount"), set("retryCount")},
	"an underscore":  {integer("_retryCount"), set("_retryCount")},
	"tries":          {integer("tries"), set("tries")},
	"a vague name":   {integer("attempt"), set("attempt")},
	"of no business": {integer("X-Attempt-Number"), set("X-Attempt-Number")},
	"of no list":     {integer("x-acme-worker-retry-no"), set("x-acme-worker-retry-no")}, // found by its pattern
	"maybe business": {integer("acme-attempts"), set("acme-attempts")},                   // its plan offers a program
	"a list": {
		func(h amqp.Table) int { l, _ := h["x-failures"].([]any); return len(l) },
		func(h amqp.Table, n int) {
			h["x-failures"] = slices.Repeat([]any{amqp.Table{"error": "ECONNREFUSED"}}, n)
		},
	},
	"by queue": {
		func(h amqp.Table) int { t, _ := h["x-tries"].(amqp.Table); return integer("jobs")(t) },
		func(h amqp.Table, n int) { h["x-tries"] = amqp.Table{"jobs": int64(n), "mail": int64(1)} },
	},
}

func integer(name string) func(amqp.Table) int {
	return func(h amqp.Table) int { n, _ := h[name].(int64); return int(n) }
}

func set(name string) func(amqp.Table, int) {
	return func(h amqp.Table, n int) { h[name] = int64(n) }
}

// A replayed message begins at its first try, however its worker counts: it walks the whole ladder of buffers again.
func TestCounters(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	worker := func(channel *amqp.Channel, d amqp.Delivery) error {
		c := counters[d.MessageId]
		n := c.read(d.Headers)
		switch {
		case n >= 3:
			return d.Reject(false)
		case !broken.Load():
			return d.Ack(false)
		}

		headers := maps.Clone(d.Headers)
		c.write(headers, n+1)
		return republishes("", fmt.Sprintf("jobs.retry.%d", n+1), headers)(channel, d)
	}

	var walks []string // of all messages, from the first try to the last
	for id := range counters {
		walks = append(walks, slices.Repeat([]string{"jobs " + id}, 4)...)
	}
	slices.Sort(walks)

	play(t, situation{
		name: "counters", from: "laravel-queue-rabbitmq 57, 305 (c27), and workers like it",
		parts: []build.Part{
			build.Text(`
				queue jobs dlx= key=jobs.failed consumers=1
				queue jobs.retry.1 ttl=50 dlx= key=jobs
				queue jobs.retry.2 ttl=100 dlx= key=jobs
				queue jobs.retry.3 ttl=200 dlx= key=jobs
				queue jobs.failed
			`),
		},

		traffic: func(w *world) {
			w.work("jobs", worker)
			for id := range counters {
				w.publish("", "jobs", id, func(p *amqp.Publishing) { p.Headers = amqp.Table{"tenant": "acme"} })
			}
			w.depth("jobs.failed", len(counters))
		},
		check: func(w *world) {
			var plan struct{ Resets []struct{ Edit string } }
			w.answers(&plan, "replay", "jobs.failed", "--dry-run")
			replay := []string{"replay", "jobs.failed", "--yes"}
			for _, r := range plan.Resets {
				if r.Edit != "" {
					replay = append(replay, "--edit", r.Edit)
				}
			}

			w.runs(0, replay...)
			must.Await(w, "each fails again", func() bool { return len(w.seen()) >= 2*len(walks) })
			w.depth("jobs.failed", len(counters))
			assert.List(w, slices.Sorted(slices.Values(w.seen()[len(walks):])), walks, "the second walks")

			broken.Store(false)
			w.runs(0, replay...)
			must.Await(w, "each is processed", func() bool { return len(w.seen()) >= 2*len(walks)+len(counters) })
			w.depth("jobs.failed", 0)
			assert.Equal(w, len(w.seen()), 2*len(walks)+len(counters), "tries")
		},
	})
}
