package cases

import (
	"maps"
	"strconv"
	"sync/atomic"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/model/build"
)

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
}

func integer(name string) func(amqp.Table) int {
	return func(h amqp.Table) int { n, _ := h[name].(int64); return int(n) }
}

func set(name string) func(amqp.Table, int) {
	return func(h amqp.Table, n int) { h[name] = int64(n) }
}

// A replayed message begins at its first try, whichever way its worker counts.
func TestCounters(t *testing.T) {
	var broken atomic.Bool
	var processed atomic.Int64
	broken.Store(true)
	worker := func(channel *amqp.Channel, d amqp.Delivery) error {
		c := counters[d.MessageId]
		n := c.read(d.Headers)
		switch {
		case n >= 3:
			return d.Reject(false)
		case !broken.Load():
			processed.Add(1)
			return d.Ack(false)
		}
		headers := maps.Clone(d.Headers)
		c.write(headers, n+1)
		return republishes("", "jobs", headers)(channel, d)
	}
	play(t, situation{
		name: "counters", from: "laravel-queue-rabbitmq 57, 305 (c27), and workers like it",
		parts: []build.Part{
			build.Queue("jobs", build.DLX(""), build.DeadKey("jobs.failed"), build.Consumers(1)), build.Queue("jobs.failed"),
		},
		traffic: func(w *world) {
			w.work("jobs", worker)
			for id := range counters {
				w.publish("", "jobs", id, func(p *amqp.Publishing) { p.Headers = amqp.Table{"tenant": "acme"} })
			}
			w.depth("jobs.failed", len(counters))
		},
		check: func(w *world) {
			broken.Store(false)
			if status, out, errs := w.dlxtop("replay", "jobs.failed", "--yes"); status != 0 {
				w.Fatal(out, errs)
			}
			w.await("each is processed", func() bool { return processed.Load() >= int64(len(counters)) })
			w.depth("jobs.failed", 0)
			if n := processed.Load(); n != int64(len(counters)) {
				w.Errorf("%d were processed", n)
			}
		},
	})
}
