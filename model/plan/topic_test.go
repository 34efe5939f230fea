package plan

import (
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/target"
)

// What Watermill writes down is a topic: the worker's queue where there is one of that name, else an exchange, or
// nothing that outweighs what x-death or the flow knows.
func TestTopicOfWatermill(t *testing.T) {
	poisoned := func(deaths ...message.Death) message.Message {
		return message.Message{
			Headers: model.Table{"topic_poisoned": "orders", "reason_poisoned": "503"}, Deaths: deaths,
			Exchange: "poison",
		}
	}
	flow := []build.Part{
		build.Queue("orders_shop", build.Consumers(1), build.DLX(""), build.DeadKey("poison")), build.Queue("poison"),
	}
	fanout := []build.Part{build.Exchange("fanout", "orders"), build.Bind("orders", "", "orders_shop")}
	for _, test := range []struct {
		name  string
		parts []build.Part
		m     message.Message
		to    string // the queue; "" is refused
		tells string
	}{
		{
			"a queue of that name",
			[]build.Part{build.Queue("orders", build.Consumers(1)), build.Queue("poison")},
			poisoned(), "orders", "",
		},
		{
			"an exchange of that name",
			append(fanout, build.Queue("orders_shop", build.Consumers(1)), build.Queue("poison")), poisoned(),
			"orders_shop", "",
		},
		{
			"the flow", flow, poisoned(), "orders_shop",
			"orders, a topic whose queue is gone (Watermill wrote it): the flow decides",
		},
		{
			"x-death",
			[]build.Part{build.Queue("orders_shop", build.Consumers(1)), build.Queue("poison")},
			poisoned(message.Death{Queue: "orders_shop", Reason: model.Rejected, Count: 1}), "orders_shop", "",
		},
		{
			"nothing else",
			[]build.Part{build.Queue("poison")},
			poisoned(), "",
			"the worker is not here: orders, a topic whose queue is gone (Watermill wrote it)",
		},
		{
			"a name alone does not outweigh it",
			[]build.Part{build.Queue("mail", build.Consumers(1)), build.Queue("mail.poison"), build.Queue("poison")},
			poisoned(), "", "orders, a topic whose queue is gone",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			from := build.Ref("poison")
			if strings.HasPrefix(test.name, "a name") {
				from = build.Ref("mail.poison")
			}
			plan := newRun(build.TopologyOf("3.10.8", test.parts...), ActionWant{
				Operation: Replay, From: from, Sample: message.MessageList{test.m}, Planned: 1, Mode: target.ToAuto,
			})
			told := plan.Refusal.Words()
			for _, w := range plan.Warnings {
				told += w.Words()
			}
			if plan.Refusal.Refused() != (test.to == "") || !strings.Contains(told, test.tells) {
				t.Fatalf("refusal %t: %s", plan.Refusal.Refused(), told)
			}
			assert.That(t, test.to == "" || len(plan.Recipients) == 1 && plan.Recipients[0].Queue.Name == test.to,
				"goes to %+v", plan.Recipients)
		})
	}
}
