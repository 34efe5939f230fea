package ui

import (
	"context"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/depth"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

func TestCanaryDialogGolden(t *testing.T) {
	atSizes(t, func(t *testing.T, width, height int) {
		o, _, _ := failedOptions(47)
		term := onQueue(t, o, failedQueue, width, height)
		term.await("47 messages")
		term.press("R")
		term.await("c canary")
		term.press("c")
		term.await("1 message first", "no canary")
		term.golden()
	})
}

// watched plays a canary of 47 that waits until it is told to go on, and of which some come back.
func watched(ctx context.Context, p plan.Run, progress func(plan.Account)) (plan.Account, error) {
	a := plan.Account{Operation: p.Operation, From: p.From, Planned: p.Planned, Moved: 1}
	a.Canary = plan.CanaryState{
		Phase: plan.CanaryWaits, Sent: 1, Idle: []model.QueueRef{ref("ucenter@user")},
		Until: newClock().now().Add(50 * time.Second),
	}
	progress(a)
	select {
	case <-p.GoOn:
	case <-ctx.Done():
		a.Stopped, a.Canary = "on request", plan.CanaryState{Phase: plan.CanaryCut, Sent: 1}
		return a, nil
	}
	a.Moved, a.CameBack, a.Stopped = 11, 3, "3 of 11 came back"
	a.Canary = plan.CanaryState{Phase: plan.CanaryFailed, Sent: 11, Back: 3}
	return a, nil
}

func TestCanaryIsToldAndHurried(t *testing.T) {
	o, b, c := failedOptions(47)
	b.execute = watched
	term := onQueue(t, o, failedQueue, 120, 36)
	term.await("47 messages")
	term.press("R")
	term.await("c canary")
	term.press("c")
	term.await("no canary", "canary    1 message first; when it is taken", "come back within 1m39s", "w wait 10s")
	term.press("w")
	term.await("come back within 10s", "a canary of 10s does not see that", "w wait 1m")
	term.press(keyEnter)
	term.await("Replaying 47 messages", "1 of 47",
		"canary    1 sent, waiting until it is taken: no consumers on ucenter@user", "50s left",
		"enter do not wait longer", "esc stop")
	term.press(keyEnter, keyEnter) // a key that is held down
	term.settle()
	term.await("canary    1 sent, waiting until it is taken")
	c.advance(10 * time.Second)
	term.await("40s left")
	term.press(keyEnter)
	term.await("What happened", "11 of 47 messages moved", "stopped   3 of 11 came back", "untouched 36")
	plans := b.executed()
	assert.That(t, len(plans) == 1 && plans[0].Canary.Wait == 10*time.Second, "executed %+v", plans)
	term.press(keyEnter)
	term.await("reads the queue again")

	term.press("R")
	term.await("c canary")
	term.press("c")
	term.await("no canary", "enter replay")
	term.press(keyEnter)
	term.await("enter do not wait longer")
	term.press(keyEsc)
	term.await("1 of 47 messages moved", "stopped before the outcome was known", "stopped   on request")
}

// TestCanaryKey: a drop has none, and a number that is typed takes no letters.
func TestCanaryKey(t *testing.T) {
	o, b, _ := failedOptions(47)
	o.Production = true
	term := onQueue(t, o, failedQueue, 120, 36)
	term.await("47 messages")
	term.press("*", "d")
	term.await("type 47:")
	term.press("47")
	term.await("enter drop")
	if strings.Contains(term.screen(), "canary") {
		t.Errorf("a drop offers a canary:\n%s", term.screen())
	}
	term.press(keyEsc)
	term.awaitGone("type 47:")
	term.press("r")
	term.await("type 47:", "c canary")
	term.press("4", "c", "7")
	term.await("no canary", "> 47", "enter replay")
	term.press("c")
	term.awaitGone("1 message first")
	term.press("c", "c", "c") // quickly: each counts
	term.settle()             // the first of them looks like the last one
	term.await("1 message first", "no canary")
	term.press(keyEnter)
	term.await("What happened")
	plans := b.executed()
	assert.That(t, len(plans) == 1 && plans[0].Canary != nil, "executed %+v", plans)
}

// TestCanaryOnARealBroker: in production, above 100 messages, a number is typed and all options are reachable; the
// failures of a worker come back, and the dialog says so.
func TestCanaryOnARealBroker(t *testing.T) {
	o, node, channel := real(t)
	declare(t, channel, "ui.canary.failed", nil)
	declare(t, channel, "ui.canary", amqp.Table{
		"x-dead-letter-exchange":    "",
		"x-dead-letter-routing-key": "ui.canary.failed",
	})
	var messages []amqp.Publishing
	for range 120 {
		messages = append(messages, amqp.Publishing{Body: []byte("fails"), DeliveryMode: 2})
	}
	publish(t, channel, "ui.canary.failed", messages...)
	conn := must.Get(amqp.Dial(node.AMQP()))(t)
	defer conn.Close()
	worker := must.Get(conn.Channel())(t)
	deliveries := must.Get(worker.Consume("ui.canary", "", false, false, false, false, nil))(t)
	over := make(chan struct{})
	go func() {
		defer close(over)
		for d := range deliveries {
			_ = d.Reject(false)
		}
	}()
	o.Production = true
	term := onQueue(t, o, "ui.canary.failed", 80, 24)
	term.await("120 messages")
	term.press("R")
	term.await("Production: to replay 120 messages of ui.canary.failed to", "ui.canary, type 120:", "c canary")
	term.press("c", "o", "1", "2", "1")
	term.await("no canary", "spread over 5m")
	term.press(keyEnter)
	term.await("Nothing was changed: you typed 121, not 120.")
	term.press("\x7f", "0")
	term.agree("replay", "What happened")
	term.await("1 of 120 messages moved", "1 of 1 came back", "untouched 119")
	assert.Equal(t, depth.Of(t, channel, "ui.canary.failed"), 120, "messages are there")
	conn.Close()
	<-over
}
