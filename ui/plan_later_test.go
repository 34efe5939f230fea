package ui

import (
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/act"
)

// Tab offers the flow's buffer, from which the worker gets the messages later, and o spreads them over a time.
func TestReplayLaterGolden(t *testing.T) {
	manySizes(t, func(t *testing.T, width, height int) {
		o, b, _ := failedOptions(60)
		term := onQueue(t, o, failedQueue, width, height)
		term.await("60 messages")
		term.press("R")
		term.await("o spread over 1m")
		term.press("o")
		term.await("at most 1/s: 60 messages take 1m or more")
		term.press("o")
		term.await("at most 0.2/s: 60 messages take 5m or more")
		for _, shows := range []string{"origin: where each", "queue: ucenter@user by name", "later: 30s in the buffer"} {
			term.press(keyTab)
			term.await(shows)
		}
		term.await("ucenter@user gets them after 30s in the buffer", "enter replay")
		term.settle()
		term.golden()
		term.press(keyEnter)
		term.await("60 messages moved")
		plans := b.executed()
		assert.That(t, len(plans) == 1 && plans[0].Target.Fixed.RoutingKey == "ucenter@user@retry" && plans[0].Rate == 0.2,
			"ran %+v", plans)
	})
}

func TestSpreadGoesRound(t *testing.T) {
	d := act.PlanDialog{}
	for range act.Spreads {
		d.Over = (d.Over + 1) % len(act.Spreads)
	}
	assert.That(t, d.Over == 0 && act.Spreads[0] == 0 && act.Spreads[len(act.Spreads)-1] == plan.LongestSpread &&
		act.Spreads[1] >= time.Second, "%d of %v", d.Over, act.Spreads)
}
