package plan

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
)

func diedIn(queue string, reason model.Reason, key ...string) message.Death {
	return message.Death{Queue: queue, Reason: reason, Count: 1, RoutingKeys: key}
}

// Messages of a failed queue that several workers share go to the queue that they name, or stay with a sentence that
// says what they name. What expired in a queue that is gone stays, as what was rejected there does, unless that was a
// buffer of one delay.
func TestWhereMessagesSayThatTheyFailed(t *testing.T) {
	shared := build.Text(`
		queue dead
		queue email consumers=1
		queue sms consumers=1
		queue mail.order.paid consumers=1
		queue audit-order.paid consumers=1
		exchange topic failures
		bind failures # dead
		exchange topic events
		bind events # dead
		bind events sms sms
	`)

	for _, c := range must.Cases[struct {
		Name, Queue, Message string
		Broker               build.Part
		Want                 string // "to QUEUE", or words of the refusal
		Failure, Counts      string // of what a program left: why it failed, what a replay resets or removes
	}](t, "testdata/evidence.toml") {
		m := must.Get(message.ParseMessage([]byte(c.Message)))(t)
		if c.Broker == nil {
			c.Broker = shared
		}

		p := newRun(build.TopologyOf("4.0.5", c.Broker), replayOf(cmp.Or(c.Queue, "dead"), "auto", m))
		assert.Contains(t, outcomeOf(p), c.Want, "%s", c.Name)
		if c.Queue == "" {
			continue
		}

		failure, _ := m.Failure()
		assert.Equal(t, failure.String(), c.Failure, "%s", c.Name)
		_, resets := m.Reset(message.ResetWish{})
		counts := ""
		for _, r := range resets {
			counts += fmt.Sprintln(r.Name, r.Was)
		}
		assert.Equal(t, counts, c.Counts, "%s", c.Name)
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
