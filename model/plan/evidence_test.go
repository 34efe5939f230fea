package plan

import (
	"cmp"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
)

func diedIn(queue string, reason model.Reason, key ...string) message.Death {
	return message.Death{Queue: queue, Reason: reason, Count: 1, RoutingKeys: key}
}

// Messages of a failed queue that several workers share go to the queue that they name, or stay with a sentence that
// says what they name.
func TestWhereMessagesSayThatTheyFailed(t *testing.T) {
	shared := []build.Part{
		build.Text(`
			queue dead
			queue email consumers=1
			queue sms consumers=1
			queue mail.order.paid consumers=1
			queue audit-order.paid consumers=1
			exchange fanout order/paid
			bind order/paid email
			bind order/paid sms
			exchange topic failures
			bind failures # dead
			exchange topic events
			bind events # dead
			bind events sms sms
		`),
	}

	for name, c := range map[string]struct {
		headers  model.Table
		body     string
		deaths   []message.Death
		exchange string // the last one
		key      string // the last one; "": dead
		want     string // "to QUEUE", or words of the refusal
	}{
		"a header":   {headers: model.Table{"x-original-queue": "email"}, want: "to email"},
		"camel case": {headers: model.Table{"sourceQueue": "sms"}, want: "to sms"},
		"a prefix":   {headers: model.Table{"beavers-dlq-origin-queue": "sms"}, want: "to sms"},
		"a body":     {body: `{"dead_letter":{"error":"m","original_queue":"sms"}}`, want: "to sms"},
		"a channel and a group": {
			headers: model.Table{"x-original-channel": "order.paid", "x-original-group": "mail"},
			want:    "to mail.order.paid",
		},

		"another separator": {
			headers: model.Table{"x-original-channel": "order.paid", "x-original-group": "audit"},
			want:    "to audit-order.paid",
		},
		"a topic that is one": {headers: model.Table{"x-original-topic": "email"}, want: "to email"},
		"and x-death": {
			headers: model.Table{"x-original-queue": "email"}, deaths: []message.Death{diedIn("email", model.Rejected)},
			want: "to email",
		},
		"another than x-death": {
			headers: model.Table{"x-original-queue": "email"}, deaths: []message.Death{diedIn("sms", model.Rejected)},
			want: "the evidence for the worker disagrees: email (by x-original-queue), or sms (x-death",
		},
		"one that is gone": {
			headers: model.Table{"x-original-queue": "fax"},
			want:    "the worker is not here: fax, which is gone (by x-original-queue)",
		},

		"gone, beside x-death": {
			headers: model.Table{"x-original-queue": "arn:aws:sqs"}, deaths: []message.Death{diedIn("sms", model.Rejected)},
			want: "to sms",
		},
		"of another vhost": {
			headers: model.Table{"x-original-queue": "email", "x-original-vhost": "eu"},
			want:    "email of the vhost eu (by x-original-queue)",
		},
		"a table": {
			headers: model.Table{"x-original-queue": model.Table{}},
			want:    "this queue belongs to no flow, and x-original-queue names no queue: it is a table",
		},
		"10,000 characters": {
			headers: model.Table{"x-original-queue": strings.Repeat("q", 10_000)},
			want:    "x-original-queue names no queue: it has 10,000 bytes, and a name at most 255",
		},

		"only a key": {
			headers: model.Table{"x-original-routing-key": "user.new"},
			want:    "the message names no queue (x-original-routing-key: user.new)",
		},
		"nothing": {headers: model.Table{"tenant": "acme"}, want: "has no trace of its worker"},

		"its own key (Peanar)": {
			exchange: "failures", key: "email", body: `{"id":"7","name":"send-mail","error":"full"}`, want: "to email",
		},
		"its own key, under which the worker had it": {exchange: "events", key: "sms", want: "has no trace"},
		"its own key, and x-death": {
			exchange: "failures", key: "email", deaths: []message.Death{diedIn("sms", model.Rejected)}, want: "to sms",
		},

		"the name of an exchange (node-ts)": {
			body: `{"$name":"order/paid","order":2}`,
			want: "no flow; it could be email (body.$name names the exchange order/paid, which reaches 2 queues), or sms (",
		},
		"the name of a queue": {
			headers: model.Table{"failed-at": "sms"},
			want:    "no flow; it could be sms (named in failed-at): name a target, for example queue:sms",
		},
		"itself":             {headers: model.Table{"x-original-queue": "dead"}, want: "belongs to no flow"},
		"control characters": {headers: model.Table{"x-original-queue": "a\x1b[31m"}, want: `a\x1b[31m, which is gone`},
		"a framework's, and its": {
			headers: model.Table{"x-original-queue": "sms", "NServiceBus.FailedQ": "email"},
			want:    "disagrees: email (NServiceBus wrote it), or sms (by x-original-queue)",
		},
	} {
		m := message.Message{
			Exchange: c.exchange, RoutingKey: cmp.Or(c.key, "dead"), Headers: c.headers, Body: []byte(c.body), Deaths: c.deaths,
		}
		p := newRun(build.TopologyOf("4.0.5", shared...), replayOf("dead", "auto", m))
		assert.Contains(t, outcomeOf(p), c.want, "%s", name)
	}
}

// outcomeOf is "to QUEUE", or why the plan is refused.
func outcomeOf(p *Run) string {
	if p.Refusal.Refused() {
		return p.Refusal.Words()
	}
	var to []string
	for _, r := range p.Recipients {
		to = append(to, r.Queue.Name)
	}

	return "to " + strings.Join(to, " ")
}

// What expired in a queue that is gone stays, as what was rejected there does: the flow's worker never had it, unless
// the queue was a buffer of one delay.
func TestExpiredInAQueueThatIsGone(t *testing.T) {
	ledger := []build.Part{
		build.Text(`
			exchange fanout dlx
			queue failed
			bind dlx failed
			exchange topic ev
			queue ledger consumers=1 dlx=dlx
			bind ev invoice.* ledger
		`),
	}

	const gone = ", which is gone (x-death: the message left it last, "
	for name, c := range map[string]struct {
		deaths []message.Death
		want   string
	}{
		"a worker with a TTL": {
			[]message.Death{diedIn("reminders", model.Expired, "reminder.due")}, "reminders" + gone + "expired)",
		},
		"pushed out": {[]message.Death{diedIn("audit", model.MaxLen, "audit.a")}, "audit" + gone + "maxlen)"},
		"a reply of an RPC": {
			[]message.Death{diedIn("amq.gen-x7", model.Expired, "amq.gen-x7")}, "amq.gen-x7" + gone + "expired)",
		},
		"a reply, named after its worker": {
			[]message.Death{diedIn("ledger.reply", model.Expired, "ledger.reply")}, "ledger.reply" + gone + "expired)",
		},
		"by the delivery limit": {
			[]message.Death{diedIn("jobs", model.DeliveryLimit, "jobs")}, "jobs" + gone + "delivery_limit)",
		},

		"a buffer of one delay":     {[]message.Death{diedIn("ledger.5000", model.Expired, "ledger.5000")}, "to ledger"},
		"a buffer by its name":      {[]message.Death{diedIn("ledger.retry", model.Expired, "ledger.retry")}, "to ledger"},
		"a delay of another's name": {[]message.Death{diedIn("delay.5s", model.Expired, "delay.5s")}, "to ledger"},
		"rejected, then waited": {
			[]message.Death{diedIn("tmp-9f", model.Expired, "tmp-9f"), diedIn("ledger", model.Rejected, "invoice.new")},
			"to ledger",
		},
		"expired at the worker itself": {[]message.Death{diedIn("ledger", model.Expired, "invoice.new")}, "to ledger"},
		"the worker's key leads on": {
			[]message.Death{{Queue: "old", Reason: model.Expired, Exchange: "ev", RoutingKeys: []string{"invoice.new"}}},
			"old" + gone + "expired)",
		},
	} {
		m := message.Message{Exchange: "dlx", RoutingKey: "k", Deaths: c.deaths}
		p := newRun(build.TopologyOf("4.0.5", ledger...), replayOf("failed", "auto", m))
		assert.Contains(t, outcomeOf(p), c.want, "%s", name)
	}
}

// x-death has no vhost: what a shovel or a federation brought is not for a queue of the same name here, unless that
// dead-letters to where the messages are.
func TestFailedInAnotherVHost(t *testing.T) {
	shovelled := func(change ...string) []any {
		entry := model.Table{
			"shovel-name": "collect", "src-uri": "amqp:///team", "src-queue": "orders.failed", "dest-uri": "amqp:///%2f",
			"dest-queue": "all.failed",
		}
		for i := 0; i+1 < len(change); i += 2 {
			entry[change[i]] = change[i+1]
		}
		return []any{entry}
	}

	received := []any{model.Table{"uri": "amqp://eu.example/shop", "exchange": "dlx"}}
	namesake := build.Queue("orders", build.Consumers(1))
	local := build.Queue("orders", build.Consumers(1), build.DLX("", "all.failed"))
	rejected := []message.Death{diedIn("orders", model.Rejected, "order.paid")}

	const brought = "the shovel collect brought the message from team/orders.failed"
	for name, c := range map[string]struct {
		worker  build.Part
		header  string
		entries any
		deaths  []message.Death
		want    string
	}{
		"a shovel": {
			build.Queue("other"), "x-shovelled", shovelled(), rejected,
			"orders of the vhost team (x-death: it rejected the message last; " + brought,
		},
		"a queue of the same name":   {namesake, "x-shovelled", shovelled(), rejected, brought},
		"that dead-letters here":     {local, "x-shovelled", shovelled(), rejected, brought},
		"to the worker, by a shovel": {local, "x-shovelled", shovelled("dest-queue", "orders"), rejected, "to orders"},
		"by an exchange": {
			local, "x-shovelled", shovelled("dest-queue", "", "dest-exchange", "", "dest-exchange-key", "all.failed"),
			rejected, brought,
		},
		"what expired there": {
			local, "x-shovelled", shovelled(), []message.Death{diedIn("orders", model.Expired)}, brought,
		},

		"without deaths": {
			local, "x-shovelled", shovelled(), nil, "orders.failed of the vhost team (" + brought,
		},
		"within the vhost": {local, "x-shovelled", shovelled("src-uri", "amqp:///%2f"), rejected, "to orders"},
		"from another broker": {
			namesake, "x-shovelled", shovelled("src-uri", "amqp://eu.example/team"), rejected,
			"orders of the vhost team of eu.example",
		},
		"a federation": {
			namesake, "x-received-from", received, rejected,
			"orders of the vhost shop of eu.example (x-death: it rejected the message last; federation brought the " +
				"message from dlx of the vhost shop",
		},
		"federated, failed here":   {local, "x-received-from", received, rejected, "to orders"},
		"a header of another type": {local, "x-shovelled", "yes", rejected, "to orders"},
		"entries of another type":  {local, "x-shovelled", []any{"a", int32(3), model.Table{}}, rejected, "to orders"},
	} {
		m := message.Message{
			RoutingKey: "all.failed", Headers: model.Table{c.header: c.entries}, Deaths: c.deaths,
		}
		p := newRun(build.TopologyOf("4.0.5", build.Queue("all.failed"), c.worker), replayOf("all.failed", "auto", m))
		assert.Contains(t, outcomeOf(p), c.want, "%s", name)
	}
}
