package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/target"
)

const manyKeys = 20_000

// manyOf are failed messages of orders, each with its own routing key, that came through an exchange.
func manyOf(exchange string, n int) message.MessageList {
	list := make(message.MessageList, n)
	for i := range list {
		list[i] = message.Message{
			Exchange: "dead", RoutingKey: "orders.failed",
			Deaths: []message.Death{{
				Queue: "orders", Reason: model.Rejected, Count: 1, Exchange: exchange,
				RoutingKeys: []string{fmt.Sprintf("order.%d", i)},
			}},
		}
	}
	return list
}

func manyPlan(sample message.MessageList, more ...build.Part) *Run {
	t := build.TopologyOf("3.10.8", append([]build.Part{
		build.Exchange("topic", "events"), build.Queue("orders", build.Consumers(1), build.DLX(""),
			build.DeadKey("orders.failed")), build.Bind("events", "order.#", "orders"), build.Queue("orders.failed"),
	}, more...)...)
	return newRun(t, ActionWant{
		Operation: Replay, From: build.Ref("orders.failed"), Sample: sample, Planned: len(sample), Mode: target.ToAuto,
	})
}

// audited are parts in which no exchange leads to orders alone.
var audited = []build.Part{build.Queue("audit"), build.Bind("events", "order.#", "audit")}

const unheard = "; orders is bound for other keys only: an application that chooses by the key may acknowledge them " +
	"unseen"

// Messages that all have different keys: one warning covers all, and making and comparing the plan takes time linear in
// their number (no clock: quadratic time would take many minutes).
func TestAsManyKeysAsMessages(t *testing.T) {
	plan := manyPlan(manyOf("gone", manyKeys), audited...)
	var words []string
	for _, w := range plan.Warnings {
		words = append(words, w.Words())
	}
	const want = "the worker sees other routing keys than 20,000 messages had, such as orders instead of order.0" + unheard
	assert.That(t, len(words) == 1 && words[0] == want, "%d warnings, the first %q, not %q", len(words),
		strings.Join(words[:min(len(words), 1)], ""), want)
	ways := manyPlan(manyOf("events", manyKeys))
	assert.That(t, len(ways.Ways) == manyKeys && ways.Ways[7].Messages == 1, "%d ways", len(ways.Ways))
	was, other := ways.Promise(), manyPlan(manyOf("events", manyKeys-1)).Promise()
	changes := was.Changes(&was)
	assert.That(t, changes == nil, "%d changes", len(changes))
	changes = was.Changes(&other)
	assert.That(t, len(changes) == 1 && strings.HasPrefix(changes[0].Says, "no message goes "), "changes %+v", changes)
}

// A single key is named in the warning.
func TestOneOtherKey(t *testing.T) {
	sample := manyOf("gone", 1)
	plan := manyPlan(append(sample, sample...), audited...)
	const want = "the worker sees the routing key orders instead of order.0" + unheard
	assert.That(t, len(plan.Warnings) == 1 && plan.Warnings[0].Words() == want, "warnings %+v", plan.Warnings)
}

// What outvotes a name is reported once, however many keys say so.
func TestOneClueOfManyKeys(t *testing.T) {
	sample := manyOf("events", 50)
	for i := range sample {
		sample[i].Headers = model.Table{"x-original-routingKey": fmt.Sprintf("order.%d", i), "x-original-exchange": "events"}
		sample[i].Deaths = nil
	}
	topology := build.TopologyOf("3.10.8", build.Exchange("topic", "events"), build.Queue("mail", build.Consumers(1)),
		build.Queue("mail.failed"), build.Queue("orders", build.Consumers(1)), build.Bind("events", "order.#", "orders"))
	plan := newRun(topology, ActionWant{
		Operation: Replay, From: build.Ref("mail.failed"), Sample: sample, Planned: len(sample), Mode: target.ToAuto,
	})
	var outvoted []string
	for _, w := range plan.Warnings {
		if strings.HasSuffix(w.Words(), "weighs more") {
			outvoted = append(outvoted, w.Words())
		}
	}
	const want = "mail (by name): orders (its origin, exchange events, key order.0) weighs more"
	assert.That(t, len(outvoted) == 1 && outvoted[0] == want, "%d times %q, not %q once", len(outvoted),
		strings.Join(outvoted[:min(len(outvoted), 1)], ""), want)
	const line = "orders (its origin, exchange events, key order.0) (50 messages, by 50 routing keys)"
	lines := plan.Evidence()
	assert.That(t, len(lines) == 1 && lines[0] == line, "%d lines, %q, not %q", len(lines), lines, line)
}

// A worker that no longer exists here, but does in another vhost: the warning names the first of them.
func TestWorkerOfAnotherVHost(t *testing.T) {
	s := build.Broker("3.10.8", build.Queue("mail.failed"))
	s.VHosts = []string{"/", "a", "b"}
	for _, vhost := range s.VHosts[1:] {
		s.Queues = append(s.Queues, model.Queue{QueueRef: model.QueueRef{VHost: vhost, Name: "orders"}})
	}
	plan := newRun(model.NewTopology(s), ActionWant{
		Operation: Replay, From: build.Ref("mail.failed"), Sample: manyOf("", 1), Planned: 1, Mode: target.ToAuto,
	})
	const want = "orders, which is gone; the vhost a has one of that name"
	assert.Contains(t, plan.Refusal.Words(), want, "refusal")
}

func BenchmarkPlanOfManyKeys(b *testing.B) {
	sample := manyOf("gone", 10_000)
	b.ResetTimer()
	for range b.N {
		manyPlan(sample)
	}
}
