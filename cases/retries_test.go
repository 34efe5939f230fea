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
	services := `
		exchange fanout A
		queue svc.B consumers=1
		bind A svc.B
		queue svc.C consumers=1
		bind A svc.C
		queue svc.D
		bind A svc.D
		queue svc.D.failed
	`

	playScripts(t, "testdata/buffers.toml",
		situation{
			Name: "a retry comes back through the exchange of all", From: "pardahlman/RawRabbit #314 (c20)",
			Parts: "queue svc.D.retry ttl=200 dlx=A" + services,
			traffic: func(w *world) {
				w.work("svc.D", counts("tries", "svc.D.retry", "svc.D.failed"))
				w.publish("A", "", "x1")
				w.awaitSeen("svc.B", "x1", 2) // it had succeeded
				w.depth("svc.D.failed", 1)
			},
			Says:    []string{"warning retry-reaches-others svc.D.retry: retries of svc.D go to svc.B, svc.C, too"},
			Silent:  []string{"republished-deaths-uncounted"},
			Replays: []replay{{Queue: "svc.D.failed", To: "queue:svc.D", Reach: "svc.D", Got: []string{"svc.D x1"}}},
		},
		situation{
			Name: "through two buffers", From: "c20",
			Parts: `
				queue svc.D.retry.long ttl=200 dlx= key=svc.D.retry.short
				queue svc.D.retry.short ttl=100 dlx=A
			` + services,
			traffic: func(w *world) {
				w.work("svc.D", counts("tries", "svc.D.retry.long", "svc.D.failed"))
				w.publish("A", "", "x1")

				w.awaitSeen("svc.B", "x1", 2)
			},
			Says: []string{
				"warning retry-reaches-others svc.D.retry.long: svc.B, svc.C", "warning retry-reaches-others svc.D.retry.short",
			},
		},
		situation{
			Name: "a worker of which nothing shows how it counts", From: "c20",
			When:  "not CountsRepublishedDeaths",
			Parts: "queue svc.D.retry ttl=200 dlx= key=svc.D" + services,
			traffic: func(w *world) {
				w.work("svc.D", republishes("", "svc.D.retry", nil))
				w.publish("A", "", "x1")

				w.awaitSeen("svc.D", "x1", 3)
			},
			Says: []string{"warning republished-deaths-uncounted svc.D.retry: retries of svc.D may never end"},
		},
		situation{
			Name: "a retry queue that is declared just before each reject", From: "jtassin/peanar, as its worker does it",
			Parts: `
				exchange direct retry
				exchange direct requeue
				queue mail dlx=retry
				bind requeue mail mail
			`,
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
			Says: []string{"warning dead-letter-unroutable mail: 1 dead letter came back to mail"},
		},
	)
}

// Messages that come back to where they have been.
func TestLoops(t *testing.T) {
	playScripts(t, "testdata/loops.toml",
		situation{
			Name: "messages that expire while their worker is away", From: "rabbitmq-server #2287 (c23)",
			Parts: `
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
			`,

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
			Says: []string{
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
			Name: "an hour before what is due", From: "taskiq-python/taskiq-aio-pika #25 (c14)",
			Parts: `
				queue tasks consumers=1
				queue tasks.delay dlx= key=tasks
			`,
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
			Name: "reminders that wait for months", From: "rabbitmq-delayed-message-exchange #23, rabbitmq-server #4836 (d06)",
			Parts: `
				queue reminders.wait ttl=7776000000 dlx= key=reminders
				queue reminders dlx= key=reminders.failed
				queue reminders.failed
			`,
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
		Name: "counters", From: "laravel-queue-rabbitmq 57, 305 (c27), and workers like it",
		Parts: `
			queue jobs dlx= key=jobs.failed consumers=1
			queue jobs.retry.1 ttl=50 dlx= key=jobs
			queue jobs.retry.2 ttl=100 dlx= key=jobs
			queue jobs.retry.3 ttl=200 dlx= key=jobs
			queue jobs.failed
		`,

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
