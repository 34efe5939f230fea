package cases

import (
	"cmp"
	"encoding/json"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker/wire"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/story"
)

// What applications write into messages about their worker, their tries and their key.
func TestWhatMessagesSay(t *testing.T) {
	playScripts(t, "testdata/what_messages_say.toml",
		situation{
			Name: "a worker that keeps a list of its failures", From: "@cloudamqp/amqp-client",
			Parts: `
				queue jobs
				queue jobs.poison
			`,
			traffic: func(w *world) {
				w.work("jobs", listsFailures)
				w.publish("", "jobs", "j1")
				w.awaitSeen("jobs", "j1", 3)
				w.depth("jobs.poison", 1)
			},
			check: func(w *world) {
				w.runs(0, "replay", "jobs.poison", "--yes")

				w.awaitSeen("jobs", "j1", 6) // all three tries again
				w.depth("jobs.poison", 1)
				assert.List(w, w.seen(), []string{"jobs j1", "jobs j1", "jobs j1", "jobs j1", "jobs j1", "jobs j1"}, "tries")
			},
		},
		situation{
			Name: "a worker that makes the key of its failures", From: "a kind that was found by the rule",
			Parts: `
				exchange topic bus
				queue orders
				bind bus order.created orders
				queue audit consumers=1
				bind bus order.# audit
				exchange direct errors
				queue orders.failed
				bind errors error.order.created orders.failed
			`,

			traffic: func(w *world) {
				w.work("orders", func(channel *amqp.Channel, d amqp.Delivery) error {
					return republishes("errors", "error."+d.RoutingKey, nil)(channel, d)
				})
				w.publish("bus", "order.created", "o1")

				w.depth("orders.failed", 1)
			},
			Replays: []replay{{
				Queue: "orders.failed", Reach: "refused",
				Warns: "its application publishes its failures to the exchange errors, and no queue is bound for the key " +
					"error.orders",
			}},
		},
	)
}

// listsFailures fails three times, with a list of the failures in a header, and then gives up.
func listsFailures(channel *amqp.Channel, d amqp.Delivery) error {
	failures, _ := d.Headers["failures"].([]any)
	failures = append(failures, amqp.Table{"at": time.Now(), "error": "ECONNREFUSED: connect 10.0.0.7:25"})
	to := "jobs"
	if len(failures) == 3 {
		to = "jobs.poison"
	}
	return republishes("", to, amqp.Table{"failures": failures})(channel, d)
}

// Peek, causes, the story and the plan read the same error, origin, counter and time in a message.
func TestEvidenceIsReadTheSame(t *testing.T) {
	t.Parallel()
	type expected struct {
		Name, Exchange, Key, Queue, Message string

		Broker          string
		Failure, Worker string
		Counts          int64
		Last            time.Time
	}

	must.Run(t, "testdata/evidence.toml", func(t *testing.T, c expected) {
		t.Parallel()
		w := newWorld(t)
		w.declare(c.Broker)
		m := must.Get(message.ParseMessage([]byte(c.Message)))(t)
		w.publish(c.Exchange, cmp.Or(c.Key, c.Queue), "m1", func(p *amqp.Publishing) {
			p.Headers, p.Body = wire.Table(m.Headers), m.Body
		})
		w.depth(c.Queue, 1)

		var peeked struct{ Messages []json.RawMessage }
		w.answers(&peeked, "peek", c.Queue)
		must.Equal(t, len(peeked.Messages), 1)
		seen := must.Get(message.ParseMessage(peeked.Messages[0]))(t)
		failure, _ := seen.Failure()
		assert.Equal(t, failure.String(), c.Failure, "peek")

		var read struct {
			Causes []struct {
				Cause   string
				Workers []string
				Last    time.Time
			}
		}
		w.answers(&read, "causes")
		must.Equal(t, len(read.Causes), 1)
		assert.Contains(t, read.Causes[0].Cause, c.Failure)
		assert.Equal(t, strings.Join(read.Causes[0].Workers, " "), c.Worker, "causes")
		assert.That(t, read.Causes[0].Last.Equal(c.Last), "causes: last %v", read.Causes[0].Last)

		var topology *model.Topology
		must.Await(t, "statistics", func() (known bool) {
			topology, known = w.topology()
			return known
		})
		in := model.QueueRef{VHost: w.vhost, Name: c.Queue}
		for _, e := range story.Of(&seen, in) {
			if e.Kind == story.Failed {
				assert.Equal(t, e.Detail, c.Failure, "story")
				assert.That(t, e.Time.Equal(c.Last), "story: failed at %v", e.Time)
			}
		}

		if c.Counts > 0 {
			assert.Equal(t, story.TriesOf(topology, &seen, in, time.Now()).Least, c.Counts, "story")
		}

		var plan struct {
			Recipients []string
			Resets     []struct{ Was int64 }
		}
		w.answers(&plan, "replay", c.Queue, "--dry-run")
		assert.Equal(t, strings.Join(plan.Recipients, " "), c.Worker, "plan")
		var most int64
		for _, r := range plan.Resets {
			most = max(most, r.Was)
		}
		assert.Equal(t, most, c.Counts, "plan")
	})
}

// answers reads the JSON of a command.
func (w *world) answers(into any, args ...string) {
	w.Helper()
	status, out, errs := w.dlxtop(append(args, "-o", "json")...)
	must.That(w, status == 0, "%v: exit status %d: %s", args, status, errs)
	must.Do(w, json.Unmarshal([]byte(out), into))
}
