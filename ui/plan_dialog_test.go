package ui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/resume"
	"github.com/dlxtop/dlxtop/model/target"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/shell"
)

func TestAccountGolden(t *testing.T) {
	atSizes(t, func(t *testing.T, width, height int) {
		o, b, _ := failedOptions(47)
		b.execute = ends(func(a *plan.Account) {
			a.Moved = 40
			a.Returned = 3
			a.Refused = 1
			a.Gone = 2
			a.Stopped = "the connection was lost"
			a.Elapsed = 1234 * time.Millisecond
			for i := range 4 {
				a.Problems = append(a.Problems, plan.Problem{
					MessageID: fmt.Sprintf("0f3c9a%02d-user", i),
					Outcome:   plan.Returned, Reason: "no queue is bound for this key",
				})
			}
		})

		term := o.onFailed(t, width, height).press("R").await("enter replay")
		term.press(keyEnter).await("What happened", "40 of 47 messages moved").golden()
	})
}

// An action that moved nothing does not offer an undo, which would undo an older one.
func TestNothingToUndo(t *testing.T) {
	o, b, _ := failedOptions(5)
	withJournal(t, &o, 1)
	b.execute = ends(func(a *plan.Account) { a.Gone, a.JournalID = 1, 2 })
	term := o.onFailed(t).press("d").await("enter drop 1 message ")
	term.press(keyEnter).await("0 of 1 message dropped", "journal   2")
	term.lacks("undoes it", "it offers an undo")
}

// The box that says "u undoes it" handles that key.
func TestUndoOfWhatHappened(t *testing.T) {
	o, b, _ := failedOptions(5)
	withJournal(t, &o, 3)
	b.execute = ends(func(a *plan.Account) { a.Dropped, a.JournalID = 1, 1 })
	term := o.onFailed(t).press("d").await("enter drop 1 message ")
	term.press(keyEnter).await("What happened", "u undoes it", "u undo  enter close")
	term.press("u").await("Undo 1: bring back 3 messages").press(keyEsc)
	term.awaitThat("the messages are seen again, without a box", func(screen string) bool {
		return strings.Contains(screen, "ucenter@user@failed") && !strings.Contains(screen, "What happened") &&
			!strings.Contains(screen, "Undo 1")
	})
}

// A run that a lost node ended says first what became of all messages, and the next step is one key.
func TestLostNodeIsSaidInNumbersAndResumedByAKey(t *testing.T) {
	o, b, _ := failedOptions(47)
	withJournal(t, &o, 3)
	b.execute = ends(func(a *plan.Account) {
		a.Unknown = 13
		a.Arrived = 12
		a.JournalID = 1
		a.Stopped = "the connection to the broker was lost"
	})

	term := o.onFailed(t).press("R").agree("replay", "What happened")
	term.await("12 arrived, 1 unknown, 34 untouched", "r resumes it", "r resume").press("r").await("Resume 1")
}

func TestReplayTargets(t *testing.T) {
	term := failed(5).onFailed(t).press("r").await("auto: the narrowest way", "through master, key ucenter@user")
	term.press(keyTab).await("origin: where each was first published")
	term.press(keyTab).await("queue: ucenter@user by name", "through (default), key ucenter@user")
	term.press(keyEnter).await("1 message moved to ucenter@user").press(keyEnter).await("4 messages", "1 taken out")
	term.ran(func(p plan.Run) bool { return p.Target.Mode == target.ToQueue })
}

func TestKeysNeverRunTwice(t *testing.T) {
	o, b, _ := failedOptions(5)
	step := make(chan struct{})
	b.execute = runs(step)
	term := o.onFailed(t).press("rrr").await("enter replay")
	term.press(keyEnter, keyEnter, keyEnter, "r", "d", keyEnter).await("Replaying 1 message")
	step <- struct{}{}
	term.await("1 message moved").press(keyEnter).await("4 messages")
	assert.Equal(t, len(b.executed()), 1, "plans ran")
}

func TestStopARun(t *testing.T) {
	for name, stop := range map[string]string{"esc": keyEsc, "ctrl-c": keyCtrlC} {
		t.Run(name, func(t *testing.T) {
			o, b, _ := failedOptions(47)
			step := make(chan struct{})
			b.execute = runs(step)
			term := o.onFailed(t).press("R").await("enter replay")
			term.press(keyEnter).await("Replaying 47 messages")
			for range 10 {
				step <- struct{}{}
			}
			term.await("10 of 47").press(stop)
			term.await("What happened", "10 of 47 messages moved", "37  still in the queue", "you stopped it")
			term.press(keyEnter).await("ctrl-r reads the queue again")
		})
	}
}

func TestQuitWhileARunIsStopping(t *testing.T) {
	o, b, _ := failedOptions(3)
	ended := make(chan struct{})
	b.execute = func(ctx context.Context, p plan.Run, _ plan.Progress) (plan.Account, error) {
		defer close(ended)
		<-ctx.Done()
		time.Sleep(50 * time.Millisecond) // messages in flight are awaited
		return plan.Account{Operation: p.Operation, Planned: p.Planned}, ctx.Err()
	}

	term := o.onFailed(t, 80, 24).press("R").await("enter replay")
	term.press(keyEnter).await("Replaying 3 messages").press(keyCtrlC, keyCtrlC)
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
			term := o.onQueue(t, failedQueue).await(fmt.Sprintf("%d message", test.messages))
			term.press("D").await(fmt.Sprintf("Drop %d message", test.messages), "dropped messages are gone")
			if !test.typed {
				term.press(keyEnter).await("dropped", "What happened")
				return
			}

			term.await(fmt.Sprintf("of %s, type %d:", failedQueue, test.messages))
			term.press(keyEnter, "1", keyEnter).await("Nothing was changed: you typed 1, not ")
			must.That(t, len(b.executed()) == 0, "it ran without the number")
			term.press("\x7f", fmt.Sprint(test.messages)).await("enter drop")
			term.press(keyEnter).await("What happened", fmt.Sprintf("%d messages dropped", test.messages))
		})
	}
}

func TestReplayWithoutFlow(t *testing.T) {
	o, b, _ := showing(recording(queue("orphans", ready(1)), exchange("direct", "x"), bind("x", "k", "orphans")))
	b.put("orphans", message.Message{RoutingKey: "gone", Exchange: "nowhere", Body: []byte("x")})
	term := o.onQueue(t, "orphans", 80, 24).await("1 message")
	term.press("r").await("not possible: this queue belongs to no flow")
	term.press(keyTab).await("the exchange nowhere does not exist").press(keyEnter, keyEsc).awaitGone("not possible")
	term.wantFroms()
}

func TestOnlyWhatStayedStays(t *testing.T) {
	o, b, _ := failedOptions(3)
	b.execute = ends(func(a *plan.Account) {
		m := failedMessage(1)
		a.Moved = 2
		a.Add(plan.Returned, &message.Message{Fingerprint: message.FingerprintOf(&m)}, "no queue took it")
	})

	term := o.onFailed(t).press("R").await("enter replay")
	term.press(keyEnter).await("2 of 3 messages moved").press(keyEnter).await("1 message ", `{"id":121`)
	term.awaitGone(`{"id":120`)
}

func TestProgressFeedNeverBlocks(t *testing.T) {
	f := shell.NewProgressFeed[plan.Account]()
	for i := range 1000 {
		f.Put(plan.Account{Moved: i})
	}

	next := f.Next(func(a plan.Account) tea.Msg { return a.Moved })
	assert.Equal(t, next(), tea.Msg(999), "the screen got account")
	f.Close()
	f.Put(plan.Account{})
	f.Close()
	msg := next()
	assert.That(t, msg == nil, "a closed feed gave %v", msg)
}

func TestPlanFollowsTheBroker(t *testing.T) {
	o, b, c := failedOptions(5)
	o.Interval = 10 * time.Millisecond
	term := o.onFailed(t).press("r").await("reaches   ucenter@user, 3 consumers")
	changed := *busyBroker()
	bind("master", "ucenter@user", "user-monitor")(&changed)
	changed.TakenAt = c.now().Add(time.Second)
	o.Source.(*recorded).tell(&changed)
	term.await("this has changed while you looked at it", "through (default), key ucenter@user")
	term.press(keyEnter, keyTab) // keys are handled in order: when the target is another one, enter did nothing
	term.await("target    origin")
	must.That(t, len(b.executed()) == 0, "a plan ran before it could be read")
	term.press(keyTab) // one at a time: while a plan is being made, keys do nothing
	term.await("target    queue").press(keyTab).await("target    later")
	term.press(keyTab).await("Type a part of the queue's name").press(keyEsc).await("target    auto")
	c.advance(2 * time.Second)
	term.press(keyEnter).await("1 message moved")
}

// A plan is made again after each toggle, and keys pressed meanwhile count.
func TestKeysWhileItPlans(t *testing.T) {
	o := failed(1)
	list := message.MessageList{failedMessage(0)}
	rows := must.Get(shell.MessageRows(list, ref(failedQueue), false, func(int, *message.Message) {}))(t)
	e := newApp(t.Context(), o).Env
	topology := model.NewTopology(o.Source.(*recorded).snapshot)
	var d act.PlanDialog
	make := d.Begin(e, plan.Replay, act.Subject{
		Topology: topology, Queue: ref(failedQueue), Rows: rows, Words: "all",
	})

	planned := func() {
		t.Helper()
		if again := d.Update(make()); again != nil { // for keys typed earlier
			d.Update(again())
		}
		must.That(t, d.State == shell.DialogAsking, "%v: %v", d.State, d.Plan.Refusal)
	}

	press := func(keys ...tea.KeyMsg) {
		for _, k := range keys {
			make = d.Update(k)
		}
	}

	canary := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("c")}
	first := make
	press(canary, tea.KeyMsg{Type: tea.KeyEnter})
	make = first
	planned()
	assert.That(t, d.Plan.Canary != nil, "a key typed while the first plan was made is lost")
	press(canary)
	planned()
	press(canary, canary, canary)
	planned()
	assert.That(t, d.Plan.Canary != nil, "three presses of the canary's key made none")
	press(tea.KeyMsg{Type: tea.KeyTab}, canary)
	planned()
	assert.Equal(t, d.Mode, 1, "target %d, canary %v", d.Mode, d.Plan.Canary)
	assert.That(t, d.Plan.Canary == nil, "target %d, canary %v", d.Mode, d.Plan.Canary)
}

// Tab offers the flow's buffer, from which the worker gets the messages later, and o spreads them over a time.
func TestReplayLaterGolden(t *testing.T) {
	at(t, allSizes, func(t *testing.T, width, height int) {
		term := failed(60).onFailed(t, width, height).press("R").await("o spread over 1m")
		term.press("o").await("at most 1/s: 60 messages take 1m or more")
		term.press("o").await("at most 0.2/s: 60 messages take 5m or more")
		for _, shows := range []string{"origin: where each", "queue: ucenter@user by name", "later: 30s in the buffer"} {
			term.press(keyTab).await(shows)
		}
		term.await("ucenter@user gets them after 30s in the buffer", "enter replay").settle().golden()
		term.press(keyEnter).await("60 messages moved")
		term.ran(func(p plan.Run) bool { return p.Target.Fixed.RoutingKey == "ucenter@user@retry" && p.Rate == 0.2 })
	})
}

func TestSpreads(t *testing.T) {
	assert.Equal(t, act.Spreads[0], 0)
	assert.That(t, act.Spreads[1] >= time.Second, "%v", act.Spreads)
}

// After the number, for one message and for a cause in several queues: every key is then a letter of the reason, the
// last one is proposed, and the records get it.
func TestReasonIsAskedInProduction(t *testing.T) {
	o, b, _, _ := manyFailed()
	o.Production = true
	withJournal(t, &o, 0)
	var mu sync.Mutex
	var reasons []string
	b.execute = func(ctx context.Context, p plan.Run, progress plan.Progress) (plan.Account, error) {
		mu.Lock()
		defer mu.Unlock()
		reasons = append(reasons, plan.ReasonOf(ctx))
		return plan.Account{Operation: p.Operation, From: p.From, Planned: p.Planned, Dropped: p.Planned}, nil
	}

	term := o.onSMTP(t, 80, 24).press("d").await("type 64:").press("64").await("enter drop 64 messages")
	term.press(keyEnter).await("Why? The journal keeps it with your name.", "enter drop 64 messages", "esc back")
	term.press(keyEnter, "o", "c", "x", keyEsc).await("type 64:", "> 64").press(keyEnter).await("Why?")
	term.press("INC-4711 jq").await("> INC-4711 jq").press(keyEnter).await("64 messages dropped", "esc close")
	term.press(keyEsc).await("CAUSE").press("f").await("FAILED QUEUE").press("j", keyEnter).await("41 messages")
	term.press("d").await("enter drop 1 message").press(keyEnter).await("Why?", "> INC-4711 jq")
	term.press("!", keyEnter).await("What happened")
	mu.Lock()
	defer mu.Unlock()
	assert.List(t, []string{"INC-4711 jq", "INC-4711 jq", "INC-4711 jq!"}, reasons, "the reasons")
}

func TestReadOnly(t *testing.T) {
	o := failed(5)
	o.ReadOnly = true
	term := o.onFailed(t, 80, 24)
	for _, k := range []string{"r", "d", "R", "D", "m" + keyEnter} {
		term.press(k).await("not possible: read-only:")
		term.lacks("undoes it", "an undo is promised of what is not possible")
		term.press(keyEnter, keyEsc).awaitGone("not possible")
	}

	term.wantFroms()
}

// If a question has more lines than 80 x 24 has room for, what has changed, the choice, the field and the keys stay,
// and a mark says that lines are missing.
func TestDialogsFitTheSmallestTerminal(t *testing.T) {
	const width, height = 80, 19 // of the screen, without what is above and below it
	e := newApp(t.Context(), failed(47)).Env
	e.Production = true
	warnings := slices.Repeat([]plan.Warning{{Says: strings.Repeat("a.long.name.of.a.queue.", 4) + ": brought back"}}, 8)
	changed := []plan.Change{{Says: "it would act on 47 messages instead of 46"}}

	p := act.PlanDialog{}
	p.Dialog, p.Operation = shell.NewDialog(e, shell.DialogAsking), plan.Replay
	p.Queue = ref(failedQueue)
	p.Rows = make([]*shell.MessageRow, 47)
	p.Modes = make([]act.ReplayTarget, 2)
	risks := plan.Risks{Warnings: warnings}
	p.Plan = plan.Plan{Operation: plan.Replay, From: ref(failedQueue), Risks: risks, Strips: []string{"x-death"}}
	p.ChangedAt, p.Changes = e.Now(), changed

	u := act.NewUndoScreen(e, 1).(*act.FollowUpScreen)
	u.State, u.ChangedAt, u.Changes = shell.DialogAsking, e.Now(), changed

	undo := plan.UndoPlan{Record: plan.Record{ID: 1, Operation: plan.Replay}, Back: ref(failedQueue), Risks: risks}
	for i := range 8 {
		undo.Takes = append(undo.Takes, plan.Take{
			Plan: plan.Plan{From: ref(fmt.Sprint("taken.from.", i)), Planned: 3}, Undoing: &plan.Undoing{},
		})
	}

	u.Is = act.Undoing{{Id: 1, Undo: undo}}

	r := act.NewResumeScreen(e, 1).(*act.FollowUpScreen)
	r.State = shell.DialogAsking
	var rest resume.Run
	rest.Record = plan.Record{ID: 1, Operation: plan.Replay, From: ref(failedQueue), Planned: 500}
	rest.Rest.Planned = 500
	rest.Rest.Warnings = warnings
	for i := range 4 {
		why := strings.Repeat("nobody can say it ", 9)
		rest.Undecided = append(rest.Undecided, resume.Undecided{Position: i, Why: why})
	}

	r.Is = act.Resuming{Id: 1, Rest: rest}

	for name, test := range map[string]struct {
		view string
		want []string
	}{
		"a replay": {p.View(width, height), []string{
			"this has changed while you looked at it", "changed   ", "to replay 47 messages of", "> ", "tab", "esc back",
		}},
		"an undo": {u.View(width, height), []string{
			"this has changed while you looked at it", "changed   ", "to bring 24 messages back to", "> ", "esc back",
		}},
		"a resume": {r.View(width, height), []string{
			"undecided 0", "these     stay as they are", "type 500:", "> ", "tab other choice", "esc back",
		}},
	} {
		lines := strings.Split(ansi.Strip(test.view), "\n")
		assert.That(t, len(lines) <= height, "%s has %d lines", name, len(lines))
		for _, want := range append(test.want, "…", "╰") {
			assert.Contains(t, ansi.Strip(test.view), want, "%s has no", name)
		}
	}
}

// On a small terminal every line of a plan can be read; the keys stay.
func TestPlanScrolls(t *testing.T) {
	o, _, _ := failedOptions(47)
	term := o.onFailed(t).press("R").await("enter replay").resize(60, 16)
	term.await("… ↓ j shows every line", "enter replay").press(keyDown).await("lines 1–", "from  ", "enter replay")
	term.press("G").awaitGone("from  ").await("enter replay").press("g").await("shows every line")
}
