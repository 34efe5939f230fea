package cli_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// put publishes one message with these headers through the default exchange.
func (v *vhost) put(queue string, headers amqp.Table) {
	v.t.Helper()
	v.publish("", queue, amqp.Publishing{Body: []byte("{}"), DeliveryMode: amqp.Persistent, Headers: headers})
}

func death(queue, reason, exchange, key string) amqp.Table {
	return amqp.Table{
		"queue": queue, "reason": reason, "exchange": exchange, "count": int64(1), "routing-keys": []any{key},
	}
}

// workers declares queues that applications consume without requeueing or failing anything.
func (v *vhost) workers(names ...string) {
	v.t.Helper()
	for _, name := range names {
		v.declare(name, nil)
		v.consume(name, func(d amqp.Delivery) { _ = d.Ack(false) })
	}
}

// A worker with a retry loop of three seconds itself publishes what failed too often into a parking queue. No structure
// ties the two; x-death names the queue that rejected the message.
func TestParkedByItsWorkerGoesBackToIt(t *testing.T) {
	t.Parallel()
	v := newVHost(t)
	v.declare("billing.invoice", amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "invoice.wait"})
	v.declare("invoice.wait", amqp.Table{
		"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "billing.invoice", "x-message-ttl": 50,
	})
	v.declare("billing.parking", nil)
	park := v.connected(t)

	v.consume("billing.invoice", func(d amqp.Delivery) {
		for _, e := range deathsOf(d.Headers) {
			if e["queue"] == "billing.invoice" && e["count"].(int64) >= 2 {
				_ = park.channel.Publish("", "billing.parking", false, false, amqp.Publishing{Headers: d.Headers, Body: d.Body})
				_ = d.Ack(false)
				return
			}
		}

		if d.Headers["x-death"] == nil && d.Headers["dlxtop-replay"] != nil {
			_ = d.Ack(false)
			return
		}

		_ = d.Reject(false)
	})

	v.put("billing.invoice", nil)
	v.holds("billing.parking", 1)
	dry := v.run("replay billing.parking --dry-run").ends(t, cli.ExitDone)
	plan := decode[accountContract](t, dry)
	must.Equal(t, plan.To, "queue:billing.invoice", "%s", dry.out)
	must.Contains(t, plan.Ways[0].Evidence, "x-death")
	v.run("replay billing.parking --yes").ends(t, cli.ExitDone).account(t, "1 1 0 0 0 0")
	must.Await(t, "the worker takes it", func() bool {
		return v.count("billing.invoice")+v.count("invoice.wait")+v.count("billing.parking") == 0
	})
}

func deathsOf(headers amqp.Table) (entries []amqp.Table) {
	list, _ := headers["x-death"].([]any)
	for _, e := range list {
		if entry, ok := e.(amqp.Table); ok {
			entries = append(entries, entry)
		}
	}

	return entries
}

// What a message says decides, in a fixed order; an uncertain target is refused with the possible queues.
func TestTargetsFromEvidence(t *testing.T) {
	t.Parallel()
	v := newVHost(t)
	v.workers("orders", "orders_topic", "billing.q", "messages", "stock")
	v.queues("orders_poison", "failed", "error.billing.q", "spring.parking", "old.parking", "mixed", "stock.parking")
	v.exchange("messages", "fanout")
	v.bind("messages", "", "messages")
	v.exchange("shop", "topic")
	v.bind("stock", "stock.#", "shop")

	must.Run(t, "testdata/targets.toml", func(t *testing.T, test targetTest) {
		headers := amqp.Table{}
		for name, value := range test.Headers {
			headers[name] = value
		}
		if d := test.Death; d != nil {
			headers["x-death"] = []any{death(d[0], d[1], d[2], d[3])}
		}

		v.put(test.From, headers)
		defer v.take(test.From)
		wrong := ""

		right := func() bool {
			wrong = test.differs(t, v.run("replay", test.From, "--dry-run"))
			return wrong == ""
		}

		defer func() { assert.Equal(t, wrong, "") }()
		must.Await(t, "what is certain is said, once the statistics know the consumers", right)
	})
}

// targetTest is what a replay of one message out of a queue must say about its target.
type targetTest struct {
	Name, From string
	Headers    map[string]string
	Death      []string // of x-death: queue, reason, exchange, key
	To         string   // "": refused
	Tells      []string // in the reason of the way, the warnings, or the refusal
}

func (test *targetTest) differs(t *testing.T, r result) string {
	plan := decode[accountContract](t, r)
	if refused := r.status != cli.ExitDone; refused != (test.To == "") {
		return fmt.Sprintf("exit status %d: %s%s", r.status, r.out, r.stderr)
	}
	if test.To != "" && plan.To != test.To {
		return fmt.Sprintf("goes to %s, want %s: %s", plan.To, test.To, r.out)
	}
	told := r.stderr + strings.Join(plan.Warnings, "\n")
	for _, w := range plan.Ways {
		told += w.Why + w.Evidence
	}

	for _, part := range test.Tells {
		if !strings.Contains(told, part) {
			return fmt.Sprintf("%q is not said: %s", part, told)
		}
	}

	return ""
}

// A queue of the same name in another vhost is never taken for the worker.
func TestWorkerOfAnotherVHost(t *testing.T) {
	t.Parallel()
	v := newVHost(t)
	other := newNamedVHost(t, "TestWorkerOfAnotherVHost-other")
	other.workers("mail")
	v.declare("parking", nil)
	v.put("parking", amqp.Table{"x-death": []any{death("mail", "rejected", "", "mail")}})
	v.run("replay parking --dry-run").ends(t, cli.ExitRefused, "mail, which is gone")
	v.workers("mail")
	r := v.run("replay parking --dry-run").ends(t, cli.ExitDone)
	plan := decode[accountContract](t, r)
	assert.That(t, strings.Join(plan.Recipients, " ") == "mail", "it reaches %v", plan.Recipients)

	// MassTransit records the vhost: the queue of the same name here is a different one.
	v.declare("mail_error", nil)
	v.put("mail_error", amqp.Table{"MT-Fault-InputAddress": "rabbitmq://localhost/" + other.name + "/mail"})
	v.run("replay mail_error --dry-run").ends(t, cli.ExitRefused, other.name)
}

// The undo of a replay that reached two queues does what was announced.
func TestUndoOfSeveralQueues(t *testing.T) {
	v := newVHost(t, "failed", "one", "two")
	v.exchange("news", "fanout")
	v.bind("one", "", "news")
	v.bind("two", "", "news")
	v.fill("failed", 2)
	r := v.run("replay failed --to exchange:news/ --yes").ends(t, cli.ExitDone, "no undo takes back",
		"cannot be undone")
	account := r.account(t, "2 2 0 0 0 0")
	assert.Lacks(t, r.stderr, "takes it back")
	v.run("journal undo", fmt.Sprint(account.JournalID), "--yes").ends(t, cli.ExitRefused, "nothing to undo")
}

// The statistics report a consumer seconds late. A missing one is counted before it is called an error.
func TestWorkerThatHasJustStarted(t *testing.T) {
	v := newVHost(t, "orders")
	v.declare("orders.delay", amqp.Table{
		"x-message-ttl": 60_000, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "orders",
	})
	v.fill("orders", 3)
	stuck := func() bool { return strings.Contains(v.run("findings").out, "orders has no consumers") }
	must.Await(t, "the statistics say that nothing consumes it", stuck)
	v.consume("orders", func(amqp.Delivery) {})

	for {
		began := time.Now()
		if !stuck() {
			break
		}
		if time.Since(began) < 3*time.Second { // otherwise it could not count in time, and the statistics stand
			t.Fatal("a worker consumes it, and it is said that nothing does")
		}
	}
}
