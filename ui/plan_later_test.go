package ui

import (
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/model/plan"
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
		if len(plans) != 1 || plans[0].Target.Fixed.RoutingKey != "ucenter@user@retry" || plans[0].Rate != 0.2 {
			t.Errorf("ran %+v", plans)
		}
	})
}

func TestSpreadGoesRound(t *testing.T) {
	d := planDialog{}
	for range spreads {
		d.over = (d.over + 1) % len(spreads)
	}
	if d.over != 0 || spreads[0] != 0 || spreads[len(spreads)-1] != plan.LongestSpread || spreads[1] < time.Second {
		t.Errorf("%d of %v", d.over, spreads)
	}
}
