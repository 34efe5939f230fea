package ui

import (
	"context"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

// An action on a cause is on what was read: dialog and account say how many messages came later, and these stay.
func TestWhatComesLaterStays(t *testing.T) {
	for _, test := range []struct {
		name  string
		count func() model.QueueCounts // after it has run; nil: the queue cannot be counted
		done  func(*plan.Account)      // what became of 23 messages
		last  []string                 // what the account says
		not   string
	}{
		{
			"5 came, 3 of them before it ran",
			func() model.QueueCounts { return model.QueueCounts{Ready: model.Some[int64](29)} },
			func(a *plan.Account) { a.Dropped = 23 },
			[]string{"later", "5 came later and stay (after 03:04:05)"},
			"",
		},
		{
			"others took some of it",
			func() model.QueueCounts { return model.QueueCounts{Ready: model.Some[int64](2)} },
			func(a *plan.Account) { a.Dropped = 20; a.Gone = 3 },
			[]string{"gone"},
			"came later and stay (after",
		},
		{
			"what stayed is not counted twice",
			func() model.QueueCounts { return model.QueueCounts{Ready: model.Some[int64](31)} },
			func(a *plan.Account) { a.Dropped = 17; a.Refused = 6 },
			[]string{"1 came later and stays (after"},
			"",
		},
		{
			"the queue is gone", nil, func(a *plan.Account) { a.Dropped = 23 },
			[]string{"3 came later and stay (after"},
			"",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			o, b, _, _ := manyFailed()
			ran := false
			b.execute = func(_ context.Context, p plan.Run, _ func(plan.Account)) (plan.Account, error) {
				a := plan.Account{Operation: p.Operation, From: p.From, Planned: p.Planned}
				test.done(&a)
				b.mu.Lock()
				defer b.mu.Unlock()
				ran = true // Count has the lock
				return a, nil
			}
			b.count = func(refs []model.QueueRef) (map[model.QueueRef]model.QueueCounts, error) {
				if len(refs) != 1 || refs[0] != ref(failedQueue) || ran && test.count == nil {
					return nil, nil
				}
				counts := model.QueueCounts{Ready: model.Some[int64](50)}
				if ran {
					counts = test.count()
				}
				return map[model.QueueRef]model.QueueCounts{refs[0]: counts}, nil
			}
			term := onCauses(t, o, 120, 36)
			term.await("ValueError: the user has no valid e-mail address")
			term.press(keyDown, "d")
			term.await("Drop 23 messages", "all of the cause, as read at 03:04:05: 23 messages")
			term.await("23 messages; 3 came later and stay", "enter drop")
			term.press(keyEnter)
			term.await(append(test.last, "What happened")...)
			if test.not != "" {
				term.awaitGone(test.not)
			}
			plans := b.executed()
			assert.That(t, len(plans) == 1 && plans[0].Planned == 23, "it did %+v", plans)
			came := strings.Contains(term.screen(), "came later")
			term.press(keyEnter)
			if came {
				term.await("later and stay", "ctrl-r reads the queue again")
				term.awaitGone("none of this cause is left")
			}
		})
	}
}

// What is held after an action comes back first: only then is the count of the queue taken.
func TestArrivalsAreCountedWhenTheQueueIsWhole(t *testing.T) {
	o, b, _, _ := manyFailed()
	asked := 0
	b.count = func(refs []model.QueueRef) (map[model.QueueRef]model.QueueCounts, error) {
		asked++ // under the broker's lock
		ready, held := int64(24+2), false
		if asked < 3 {
			ready, held = 7, true
		}
		return map[model.QueueRef]model.QueueCounts{refs[0]: {Ready: model.Some(ready), Held: held}}, nil
	}
	term := onCauses(t, o, 120, 36)
	term.await("ValueError: the user has no valid e-mail address")
	term.press(keyDown, "d")
	term.await("Drop 23 messages", "enter drop")
	term.press(keyEnter)
	term.await("What happened", "2 came later and stay")
}
