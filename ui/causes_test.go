package ui

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/find"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/preferences"
	"github.com/dlxtop/dlxtop/ui/causes"
	"github.com/dlxtop/dlxtop/ui/messages"
)

const smtpCause = "TimeoutError: smtp gateway did not answer in #"

// failedFor returns a message that failed for a reason.
func failedFor(i int, reason string) message.Message {
	m := failedMessage(i)
	m.Headers["x-error"] = reason
	return m
}

// manyFailed returns a broker with failed queues that are read automatically, and one where a look has a cost.
func manyFailed() (Options, *recordedBroker, *recorded, *clock) {
	c := newClock()
	b := failing(c, 47)
	for i := range 40 {
		b.put("mail.failed", failedFor(i, "TimeoutError: smtp gateway did not answer in "+fmt.Sprint(i)+" s"))
	}

	b.put("mail.failed", message.Message{Headers: model.Table{"x-death": []any{
		model.Table{"queue": "mail", "reason": "rejected", "count": int64(2), "time": c.now().Add(-50 * time.Hour)},
	}}})
	b.put("lots.failed", failedFor(1, "KeyError: lot"), failedFor(2, "KeyError: lot"))
	s := later(busyBroker(), 0, map[string]int64{failedQueue: 47})
	queue("mail", consumers(1))(s)
	queue("mail.failed", ready(41))(s)
	queue("lots.failed", ready(2))(s)

	queueIn(s, "lots.failed").Type = model.Quorum
	for _, name := range []string{"mail.failed", "lots.failed"} {
		queueIn(s, name).Consumers = build.Some(0)
	}

	source := &recorded{snapshot: countedAt(c, s)}
	return Options{Source: source, Broker: b, Title: "prod", Now: c.now, Interval: time.Hour}, b, source, c
}

// failedQueues returns options of manyFailed.
func failedQueues() Options {
	o, _, _, _ := manyFailed()
	return o
}

func (o Options) onCauses(t *testing.T, size ...int) *terminal {
	t.Helper()
	return o.open(t, size...).await("ucenter@user ").press("3").await("CAUSE", "TimeoutError: smtp gateway did")
}

// looksAt returns how often a queue was looked at.
func (b *recordedBroker) looksAt(queue string) (n int) {
	b.change(func() {
		for _, p := range b.peeks {
			if p.Queue == ref(queue) {
				n++
			}
		}
	})

	return n
}

// What a user states as parked is counted apart, and is none of the failed messages.
func TestFailedCountsParkedApart(t *testing.T) {
	o, _, source, _ := manyFailed()
	source.snapshot.Stated = model.NewStatedRoles([]model.StatedRole{{Pattern: "lots.failed", Role: model.ParkedRole}})
	o.onCauses(t).await("4 failed queues   88 messages   88 read   2 parked", "88 failed   2 parked")
}

// A cost is asked about, and paid once.
func TestCostlyQueuesAreReadWhenAsked(t *testing.T) {
	term := failedQueues().onCauses(t).await("88 of 90 read", "not read: 2 of lots.failed: a look has a cost")
	must.Equal(t, term.broker.looksAt("lots.failed"), 0, "it was looked at")
	term.press("i").await("Read 1 failed queue", "lots.failed, 2 messages", "delivery limit")
	term.press(keyEsc).awaitGone("Read 1 failed queue").press("i").await("Read 1 failed queue")
	term.broker.change(func() { // while it is read, there is nothing left to ask about
		term.press(keyEnter).awaitGone("Read 1 failed queue").press("i").settle()
		term.lacks("Read 1 failed queue", "what is agreed to is asked for again")
	})

	term.await("   90 read", "KeyError").press(keyCtrlR).settle().await("   90 read")
	assert.Equal(t, term.broker.looksAt("lots.failed"), 1, "it was looked at")
}

// A cause in one queue opens its messages, and actions apply to them alone.
func TestCauseOpensItsMessages(t *testing.T) {
	term := failedQueues().onCauses(t).await("ValueError: the user has no valid e-mail address").press(keyDown, keyEnter)
	term.await("cause: ValueError: the user has no valid e-mail address", "47 messages", "showing 23")
	term.lacks("TimeoutError", "messages of another cause are shown")
	term.press("/", "user3@", keyEnter).await("showing 1 ").press(keyEsc).await("showing 23 ")
	term.press("q").await("CAUSE")
	term.press("d").await("Drop 23 messages", "all of the cause, as read at 03:04:05", "enter drop")
	term.press(keyEnter).await("What happened")
	term.ran(func(p plan.Run) bool { return p.Planned == 23 && p.From == ref(failedQueue) })
}

// In the list of a cause's queues an action applies only to the queue at the cursor.
func TestOneQueueOfACause(t *testing.T) {
	term := failedQueues().onSMTP(t).press(keyEnter).await("messages of a cause")
	term.press("f").await("OF THE CAUSE", "mail.failed", failedQueue)
	term.press("m").await("Move 40 messages", "Type a part of the queue's name")
	term.press(keyEsc).await("41 messages", "showing 40").press("q").await("OF THE CAUSE")
	term.press(keyDown, "d").await("Drop 24 messages", failedQueue, "enter drop")
	term.press(keyEnter).await("What happened", "enter close").press(keyEnter).await("24 messages dropped")
	term.wantFroms(failedQueue + " 24")
	term.broker.leave("mail.failed", 0, 0)
	term.press("q").await("OF THE CAUSE").press(keyUp, "d").await("no message of this cause is in the queue any more")
}

// Causes are in the order that the column says, also those that come later; the cursor stays on its cause.
func TestCausesAreSortedByMessages(t *testing.T) {
	o, b, _, c := manyFailed()
	o.Interval = 10 * time.Millisecond
	term := o.onCauses(t).await("88 of 90 read")
	for i := range 200 {
		b.put("mail.failed", failedFor(1000+i, "KeyError: 'customer_id'"))
	}

	c.advance(causes.Pause + time.Second)
	term.recount(map[string]int64{"mail.failed": 241})
	term.await("KeyError: 'customer_id'", "288 of 290 read").awaitRow(smtpCause)
	want := []string{"KeyError: 'customer_id'", smtpCause, "ValueError", "no error: rejected in mail"}
	order := func() (rows []string) {
		for _, line := range strings.Split(term.screen(), "\n") {
			for _, text := range want {
				if strings.Contains(line, text) && !strings.Contains(line, "──") && !strings.Contains(line, "example ") {
					rows = append(rows, text)
				}
			}
		}
		return rows
	}

	term.await("▼MESSAGES")
	assert.List(t, order(), want, "they stand in the order")
	assert.Contains(t, term.cursorRow(), smtpCause, "the cursor")
}

// Messages that left a queue leave its causes; a deleted queue takes its messages with it.
func TestCausesForget(t *testing.T) {
	o, b, source, c := manyFailed()
	o.Interval = 10 * time.Millisecond
	term := o.onCauses(t).await("88 of 90 read", "ValueError")
	b.leave(failedQueue, 0, 0)
	c.advance(causes.Pause + time.Second)
	term.recount(map[string]int64{failedQueue: 0})
	term.await("41 of 43 read").awaitGone("ValueError")
	source.tell(countedAt(c, without(source.snapshot, "mail.failed")))
	term.await("0 of 2 read").awaitGone("smtp gateway")
}

// A message's text is only drawn, and has no other effect.
func TestHostileCauses(t *testing.T) {
	o, b, _, _ := manyFailed()
	b.put(failedQueue, failedFor(100, "Evil\x1b[2J\x1b]0;title\x07: \u202egnp "+strings.Repeat("x y ", 1<<18)))
	term := o.onCauses(t).await("89 of 91 read").press("G").settle()
	screen := term.screen()
	assert.That(t, !strings.ContainsAny(screen, "\x1b\x07\u202e"), "it drew over the screen:\n%q", screen)
	assert.Contains(t, screen, "q quit")
}

// Texts that all differ are grouped by what they share, and the screen says so.
func TestTooManyCauses(t *testing.T) {
	o, b, _, _ := manyFailed()
	for i := range 6000 {
		b.put("mail.failed", message.Message{Headers: model.Table{"x-error": "OddError: no way to " + letters(i)}})
	}

	o.recount(map[string]int64{"mail.failed": 6041})
	term := o.onCauses(t)
	term.await("1,047 of 6,090 read; M reads the rest", "≥ 1", "the first 1,000 messages were read")
	term.press("M").await("6,088 of 6,090 read")
	term.press("/", "OddError: no way to…", keyEnter).await("errors that begin alike", "6,000")
}

// letters returns a number as a word, so that it cannot be folded.
func letters(n int) string {
	var b strings.Builder
	for ; n > 0 || b.Len() == 0; n /= 10 {
		b.WriteByte("bcdfghjklm"[n%10])
	}
	return "z" + b.String() + "q"
}

// A queue that changes all the time is not read all the time, and at most one look is in flight.
func TestCausesBudget(t *testing.T) {
	o, _, _, c := manyFailed()
	r := causes.NewReading(newApp(t.Context(), o).Env)
	now := c.now()
	free := peek.Plan{Method: peek.Consume, Free: true}
	for i := range 40 {
		at := ref(fmt.Sprint("q", i))
		q := &causes.Queue{Ref: at, Limit: causes.Page, Plan: free, Ready: build.Some(900)}
		r.Order, r.Queues[at] = append(r.Order, q), q
	}

	depth := int64(900)
	look := func() bool {
		if r.Next(now) == nil {
			return false
		}
		must.That(t, r.Next(now) == nil, "two looks are in flight")
		return r.Answered(causes.ReadMsg{Request: r.Request, At: now, Looked: true, Read: depth, Depth: model.Some(depth)})
	}

	round := func() (n int) {
		for look() {
			n++
		}
		return n
	}

	assert.Equal(t, round(), 40, "the first round")

	now, depth = now.Add(causes.Pause), 899
	for _, q := range r.Queues {
		q.Ready, q.CountedAt = model.Some(depth), now
	}

	assert.Equal(t, round(), causes.LooksAMinute/899, "queues were read again in a minute")
	now = now.Add(time.Minute)
	assert.Equal(t, round(), 40-causes.LooksAMinute/899, "queues were read in the next minute")
}

// F shows the causes of one flow, and only reads its queues; also on its picture, where f still opens the messages.
func TestCausesOfAFlow(t *testing.T) {
	o, b, _, _ := manyFailed()
	term := o.open(t).await("ucenter@user ").press("/ucenter@user", keyEnter).awaitRow("@user ")
	term.press("F").await("causes of ucenter@user", "1 failed queue ", "47 messages", "   47 read", smtpCause)
	term.command("columns", "▸ columns").press(keyEnter).await("▸ [x] MESSAGES").press(" ").awaitGone("▼MESSAGES")
	term.press(keyEsc).awaitGone("[ ] MESSAGES").press(keyEnter).await("showing 24", "cause: "+smtpCause)
	term = o.onFlow(t, "ucenter@user").await("MOVED  ", "F causes of failures")
	term.press("F").awaitGone("MOVED  ") // the flow has the same list below its picture
	term.await("1 failed queue ", "47 messages", "   47 read", smtpCause)
	assert.Equal(t, b.looksAt("mail.failed"), 0, "it looked")
	term.press("q").await("MOVED  ", "F causes of failures").press("f").await("Story")
}

// E on a cause changes all its messages, and no others.
func TestMendACause(t *testing.T) {
	term := failedQueues().onCauses(t).await("ValueError: the user has no valid e-mail address")
	term.press(keyDown, "E").await("Edit 23 messages with jq", "all of the cause, as read at 03:04:05")
	term.press(".body.name = 5", keyEnter).await("23 of 23 messages are changed")
	term.press(keyEnter).await("Replay 23 messages", "enter replay").press(keyEnter).await("What happened")
	term.ran(func(p plan.Run) bool { return p.Planned == 23 && p.Mend != nil })
}

// The messages of a cause in several queues are one list; each opens in its queue, and actions go through those.
func TestMessagesOfACauseInSeveralQueues(t *testing.T) {
	term := failedQueues().onCauses(t).awaitRow(smtpCause)
	term.press(keyEnter).await("messages of a cause   64 found", "complete", "cause: "+smtpCause, "MESSAGE ID")
	term.press(keyEnter).await("showing 40 ", "mail.failed").press("q").await("64 found")
	term.press("G", keyEnter).await("showing 24 ", failedQueue).awaitRow(" 47 ")
	term.press("q").await("64 found").press("f").await("OF THE CAUSE").press("q").await("64 found")
	term.press("G", "d") // as everywhere, the message under the cursor
	term.await("Drop 1 message", "the message under the cursor: #47")
	term.press(keyEsc, "q").await("64 found", "R replay all 64")
	term.press("D").await("drop 64 messages of 2 queues", "mail.failed", failedQueue).press(keyEsc).await("64 found")
	term.press("o").await("marked as resolved")
	term.broker.change(func() { term.broker.messages = map[model.QueueRef][]message.Message{} })
	term.press(keyCtrlR).await("0 found", "none of this cause is left")
	unread := messages.FindScreen{Only: messages.OfCause{Group: &cause.Group{}}}
	unread.Ended = true
	unread.Latest.Topology = &model.Topology{}
	unread.Missed = make([]find.Reason, 1)
	assert.Equal(t, unread.Emptiness(), "none of this cause in what was read", "where a queue was not read it")
}

// failedAt returns a message whose last failure was at this time.
func failedAt(i int, reason string, at time.Time) message.Message {
	m := failedFor(i, reason)
	m.Headers["x-death"].([]any)[0].(model.Table)["time"] = at
	return m
}

// onMarked returns the screen of causes with states in a file.
func onMarked(t *testing.T, path string, size ...int) *terminal {
	t.Helper()
	o := failedQueues()
	o.Interval = 10 * time.Millisecond
	o.Marks = preferences.File{Path: path}
	return o.onCauses(t, size...).await("88 of 90 read")
}

// A resolved cause that fails again is shown as back, also by a later session.
func TestResolvedCauseComesBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), preferences.CausesName)
	term := onMarked(t, path)
	term.awaitRow("new")
	term.press("o").await("marked as resolved").awaitRow("resolved")
	term.press("o").awaitThat("it is not", func(string) bool { return strings.Contains(term.cursorRow(), "seen") })
	term.press("o").awaitRow("resolved")

	c := term.clock
	c.advance(time.Minute)
	term.broker.put("mail.failed", failedAt(500, "TimeoutError: smtp gateway did not answer in 500 s", c.now()))
	term.recount(map[string]int64{"mail.failed": 42})
	term.awaitRow("! back 03:05")
	term.await("back: it came again after it was resolved")

	again := onMarked(t, path)
	again.awaitThat("what is back is first", func(string) bool {
		return strings.Contains(again.cursorRow(), "! back") && strings.Contains(again.cursorRow(), "smtp gateway")
	})
	again.press("O").awaitRow("ignored")
}

// A note stays with its cause.
func TestNoteOfACause(t *testing.T) {
	path := filepath.Join(t.TempDir(), preferences.CausesName)
	term := onMarked(t, path, 80, 24).press("W")
	term.await("one line, kept beside the journal")
	term.press("gateway down, ticket 12", keyEnter).await("note      gateway down, ticket 12")
	onMarked(t, path).await("note      gateway down, ticket 12")
}

// An action that empties a cause offers to mark it as resolved, unless it is: the key would undo that.
func TestEmptiedCauseIsResolved(t *testing.T) {
	for _, resolved := range []bool{false, true} {
		term := onMarked(t, filepath.Join(t.TempDir(), preferences.CausesName))
		if term.press(keyDown); resolved {
			term.press("o").await("marked as resolved")
		}
		term.press("d").await("Drop 23 messages", "enter drop").press(keyEnter).await("What happened", "23")
		if term.press(keyEnter).await("none of this cause is left here"); resolved {
			term.lacks("marks it as resolved", "it is offered again")
			continue
		}

		term.await("left here: o marks it as resolved").press("o").await("marked as resolved")
	}
}

// With a damaged file states begin again, and the file is not lost.
func TestDamagedMarks(t *testing.T) {
	f := preferences.File{Path: filepath.Join(t.TempDir(), preferences.CausesName)}
	must.Do(t, f.Save([]byte("{damaged")))
	o := failedQueues()
	o.Marks = f
	term := o.onCauses(t).await("the states of causes cannot be used")
	term.press("o").await("states of causes were damaged: they begin again", "causes.json.damaged")
	term.awaitRow("resolved")
	text, err := (preferences.File{Path: f.Path + ".damaged"}).Load()
	must.Do(t, err)
	assert.Equal(t, string(text), "{damaged", "what was set aside has %q: %v", text, err)
}

// When a broker fails while it is read, what was read stays, with the reason, and reading continues by itself.
func TestReadingCausesGoesOn(t *testing.T) {
	o, b, _, c := manyFailed()
	o.Interval = 10 * time.Millisecond
	term := o.onCauses(t).await("88 of 90 read")
	b.fail(errors.New("access to queue 'mail.failed' refused"))
	c.advance(causes.Pause + time.Second)
	term.recount(map[string]int64{"mail.failed": 40})
	term.await("not read again: mail.failed: access to queue 'mail.failed' refused", "88 of 90 read", smtpCause)
	b.fail(nil)
	b.leave("mail.failed", 0, 40)
	c.advance(causes.Retry + time.Second)
	term.press("j").await("87 of 89 read").awaitGone("refused")
}
