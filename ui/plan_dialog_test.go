package ui

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/target"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// lockedBuilder is a writer that a test may read while it is written to.
type lockedBuilder struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuilder) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuilder) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.b.String()
	l.b.Reset()
	return s
}

func TestReplayDialogGolden(t *testing.T) {
	atSizes(t, func(t *testing.T, width, height int) {
		o, _, _ := failedOptions(47)
		term := onQueue(t, o, failedQueue, width, height)
		term.await("47 messages")
		term.press("r")
		term.await("ucenter@user, 3 consumers")
		term.golden()
	})
}

func TestDropDialogGolden(t *testing.T) {
	atSizes(t, func(t *testing.T, width, height int) {
		o, _, _ := failedOptions(47)
		term := onQueue(t, o, failedQueue, width, height)
		term.await("47 messages")
		term.press("*", "d")
		term.await("drop 47 messages for good")
		term.golden()
	})
}

func TestAccountGolden(t *testing.T) {
	atSizes(t, func(t *testing.T, width, height int) {
		o, b, _ := failedOptions(47)
		b.execute = func(_ context.Context, p plan.Run, progress func(plan.Account)) (plan.Account, error) {
			a := plan.Account{
				Operation: p.Operation, From: p.From, Planned: 47, Moved: 40, Returned: 3, Refused: 1, Gone: 2,
				Stopped: "the connection was lost", Elapsed: 1234 * time.Millisecond,
			}
			for i := range 4 {
				a.Problems = append(a.Problems, plan.Problem{
					MessageID: fmt.Sprintf("0f3c9a%02d-user", i),
					Outcome:   plan.Returned, Reason: "no queue is bound for this key",
				})
			}
			progress(a)
			return a, nil
		}
		term := onQueue(t, o, failedQueue, width, height)
		term.await("47 messages")
		term.press("R")
		term.await("enter replay")
		term.press(keyEnter)
		term.await("What happened", "40 of 47 messages moved")
		term.golden()
	})
}

func TestStripWords(t *testing.T) {
	for _, test := range []struct{ names, want string }{
		{"", ""},
		{
			"x-death x-first-death-exchange x-first-death-queue x-first-death-reason expiration",
			"x-death x-first-death-* expiration",
		},
		{"x-first-death-exchange x-first-death-queue x-first-death-reason x-last-death-exchange x-last-death-queue " +
			"x-last-death-reason", "x-first-death-* x-last-death-*"},
		// no more than what there is
		{"x-first-death-exchange x-first-death-queue", "x-first-death-exchange x-first-death-queue"},
	} {
		names := strings.Fields(test.names)
		got := strings.Join(act.StripWords(names), " ")
		assert.That(t, got == test.want && strings.Join(names, " ") == test.names, "%s: %q", test.names, got)
	}
}

// TestNothingToUndo: an action that moved nothing does not offer its undo, which would take back an older one.
func TestNothingToUndo(t *testing.T) {
	o, b, c := failedOptions(5)
	withJournal(t, &o, c, 1)
	b.execute = func(_ context.Context, p plan.Run, _ func(plan.Account)) (plan.Account, error) {
		return plan.Account{Operation: p.Operation, From: p.From, Planned: 1, Gone: 1, JournalID: 2}, nil
	}
	term := onQueue(t, o, failedQueue, 120, 36)
	term.await("5 messages")
	term.press("d")
	term.await("enter drop 1 message ")
	term.press(keyEnter)
	term.await("0 of 1 message dropped", "journal   2")
	if strings.Contains(term.screen(), "undoes it") {
		t.Errorf("it offers an undo:\n%s", term.screen())
	}
}

// TestUndoOfWhatHappened: the box that says "u undoes it" takes that key.
func TestUndoOfWhatHappened(t *testing.T) {
	o, b, c := failedOptions(5)
	withJournal(t, &o, c, 3)
	b.execute = func(_ context.Context, p plan.Run, _ func(plan.Account)) (plan.Account, error) {
		return plan.Account{Operation: p.Operation, From: p.From, Planned: 1, Dropped: 1, JournalID: 1}, nil
	}
	term := onQueue(t, o, failedQueue, 120, 36)
	term.await("5 messages")
	term.press("d")
	term.await("enter drop 1 message ")
	term.press(keyEnter)
	term.await("What happened", "u undoes it", "u undo  enter close")
	term.press("u")
	term.await("Undo 1: bring back 3 messages")
	term.press(keyEsc)
	term.awaitThat("the messages are seen again, without a box", func(screen string) bool {
		return strings.Contains(screen, "ucenter@user@failed") && !strings.Contains(screen, "What happened") &&
			!strings.Contains(screen, "Undo 1")
	})
}

func TestReplayTargets(t *testing.T) {
	o, b, _ := failedOptions(5)
	term := onQueue(t, o, failedQueue, 120, 36)
	term.await("5 messages")
	term.press("r")
	term.await("auto: the narrowest way", "through master, key ucenter@user")
	term.press(keyTab)
	term.await("origin: where each was first published")
	term.press(keyTab)
	term.await("queue: ucenter@user by name", "through (default), key ucenter@user")
	term.press(keyEnter)
	term.await("1 message moved to ucenter@user")
	term.press(keyEnter)
	term.await("4 messages", "1 taken out")
	plans := b.executed()
	assert.That(t, len(plans) == 1 && plans[0].Target.Mode == target.ToQueue, "executed %+v", plans)
}

func TestKeysNeverRunTwice(t *testing.T) {
	o, b, _ := failedOptions(5)
	step := make(chan struct{})
	b.execute = runs(step)
	term := onQueue(t, o, failedQueue, 120, 36)
	term.await("5 messages")
	term.press("rrr")
	term.await("enter replay")
	term.press(keyEnter, keyEnter, keyEnter, "r", "d", keyEnter)
	term.await("Replaying 1 message")
	step <- struct{}{}
	term.await("1 message moved")
	term.press(keyEnter)
	term.await("4 messages")
	assert.Equal(t, len(b.executed()), 1, "plans ran")
}

func TestStopARun(t *testing.T) {
	for name, stop := range map[string]string{"esc": keyEsc, "ctrl-c": keyCtrlC} {
		t.Run(name, func(t *testing.T) {
			o, b, _ := failedOptions(47)
			step := make(chan struct{})
			b.execute = runs(step)
			term := onQueue(t, o, failedQueue, 120, 36)
			term.await("47 messages")
			term.press("R")
			term.await("enter replay")
			term.press(keyEnter)
			term.await("Replaying 47 messages")
			for range 10 {
				step <- struct{}{}
			}
			term.await("10 of 47")
			term.press(stop)
			term.await("What happened", "10 of 47 messages moved", "37  still in the queue", "you stopped it")
			term.press(keyEnter)
			term.await("ctrl-r reads the queue again")
		})
	}
}

func TestQuitWhileARunIsStopping(t *testing.T) {
	o, b, _ := failedOptions(3)
	ended := make(chan struct{})
	b.execute = func(ctx context.Context, p plan.Run, _ func(plan.Account)) (plan.Account, error) {
		defer close(ended)
		<-ctx.Done()
		time.Sleep(50 * time.Millisecond) // what is in flight is waited for
		return plan.Account{Operation: p.Operation, Planned: p.Planned}, ctx.Err()
	}
	term := onQueue(t, o, failedQueue, 80, 24)
	term.await("3 messages")
	term.press("R")
	term.await("enter replay")
	term.press(keyEnter)
	term.await("Replaying 3 messages")
	term.press(keyCtrlC, keyCtrlC)
	term.awaitEnd()
	select {
	case <-ended:
	default:
		t.Error("the program ended before what it ran")
	}
}

func TestNameIsTyped(t *testing.T) {
	for name, test := range map[string]struct {
		messages   int
		production bool
		typed      bool
	}{
		"many":            {101, false, true},
		"a hundred":       {100, false, false},
		"production":      {2, true, true},
		"production, one": {1, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			o, b, _ := failedOptions(test.messages)
			o.Production = test.production
			term := onQueue(t, o, failedQueue, 120, 36)
			term.await(fmt.Sprintf("%d message", test.messages))
			term.press("D")
			term.await(fmt.Sprintf("Drop %d message", test.messages), "dropped messages are gone")
			if !test.typed {
				term.press(keyEnter)
				term.await("dropped", "What happened")
				return
			}
			term.await(fmt.Sprintf("of %s, type %d:", failedQueue, test.messages))
			term.press(keyEnter, "1", keyEnter)
			term.await("Nothing was changed: you typed 1, not ")
			must.That(t, len(b.executed()) == 0, "it ran without the number")
			term.press("\x7f", fmt.Sprint(test.messages))
			term.await("enter drop")
			term.press(keyEnter)
			term.await("What happened", fmt.Sprintf("%d messages dropped", test.messages))
		})
	}
}

func TestReadOnly(t *testing.T) {
	o, b, _ := failedOptions(5)
	o.ReadOnly = true
	term := onQueue(t, o, failedQueue, 80, 24)
	term.await("5 messages")
	for _, k := range []string{"r", "d", "R", "D"} {
		term.press(k)
		term.await("not possible: read-only:")
		screen := term.screen()
		assert.That(t, !strings.Contains(screen, "undoes it"), "an undo is promised of what is not possible:\n%s", screen)
		term.press(keyEnter, keyEsc)
		term.awaitGone("not possible")
	}
	assert.Equal(t, len(b.executed()), 0, "plans ran")
}

func TestReplayWithoutFlow(t *testing.T) {
	c := newClock()
	b := newRecordedBroker(c)
	b.put("orphans", message.Message{RoutingKey: "gone", Exchange: "nowhere", Body: []byte("x")})
	o := Options{Source: &recorded{snapshot: recording(queue("orphans", ready(1)), exchange("direct", "x"),
		bind("x", "k", "orphans"))}, Broker: b, Now: c.now}
	term := onQueue(t, o, "orphans", 80, 24)
	term.await("1 message")
	term.press("r")
	term.await("not possible: this queue belongs to no flow")
	term.press(keyTab)
	term.await("the exchange nowhere does not exist")
	term.press(keyEnter, keyEsc)
	term.awaitGone("not possible")
	assert.That(t, len(b.executed()) == 0, "a refused plan ran")
}

func TestOnlyWhatStayedStays(t *testing.T) {
	o, b, _ := failedOptions(3)
	b.execute = func(_ context.Context, p plan.Run, progress func(plan.Account)) (plan.Account, error) {
		m := failedMessage(1)
		a := plan.Account{Operation: p.Operation, From: p.From, Planned: 3, Moved: 2}
		a.Add(plan.Returned, &message.Message{Fingerprint: message.FingerprintOf(&m)}, "no queue took it")
		return a, nil
	}
	term := onQueue(t, o, failedQueue, 120, 36)
	term.await("3 messages")
	term.press("R")
	term.await("enter replay")
	term.press(keyEnter)
	term.await("2 of 3 messages moved")
	term.press(keyEnter)
	term.await("1 message ", `{"id":121`)
	term.awaitGone(`{"id":120`)
}

func TestProgressFeedNeverBlocks(t *testing.T) {
	f := shell.NewProgressFeed()
	for i := range 1000 {
		f.Put(plan.Account{Moved: i})
	}
	assert.Equal(t, f.Next(1)().(shell.ProgressMsg).Account.Moved, 999, "the screen got account")
	f.Close()
	f.Put(plan.Account{})
	f.Close()
	msg := f.Next(1)()
	assert.That(t, msg == nil, "a closed feed gave %v", msg)
}

func TestPlanFollowsTheBroker(t *testing.T) {
	o, b, c := failedOptions(5)
	o.Interval = 10 * time.Millisecond
	term := onQueue(t, o, failedQueue, 120, 36)
	term.await("5 messages")
	term.press("r")
	term.await("reaches   ucenter@user, 3 consumers")
	changed := *busyBroker()
	bind("master", "ucenter@user", "user-monitor")(&changed)
	changed.TakenAt = c.now().Add(time.Second)
	o.Source.(*recorded).tell(&changed)
	term.await("this has changed while you looked at it", "through (default), key ucenter@user")
	term.press(keyEnter, keyTab) // keys are handled in their order: when the target is another one, enter did nothing
	term.await("target    origin")
	must.That(t, len(b.executed()) == 0, "a plan ran that nobody can have read")
	term.press(keyTab) // one at a time: while a plan is being made, keys do nothing
	term.await("target    queue")
	term.press(keyTab)
	term.await("target    later")
	term.press(keyTab)
	term.await("Type a part of the queue's name")
	term.press(keyEsc)
	term.await("target    auto")
	c.advance(2 * time.Second)
	term.press(keyEnter)
	term.await("1 message moved")
}
