package ui

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/target"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// withJournal gives the program a real journal, in which n messages of ucenter@user@failed were dropped.
func withJournal(t *testing.T, o *Options, n int) *journal.Journal {
	t.Helper()
	c := o.Broker.(*recordedBroker).clock
	j := journal.New(journal.Options{Path: filepath.Join(t.TempDir(), "journal.db"), Now: c.now})
	t.Cleanup(func() { j.Close() })
	o.Journal = j
	id := writeDrop(t, j, n, n)
	must.Do(t, j.Finish(id, nil, plan.Account{Planned: n, Dropped: n}))

	return j
}

// journaled returns options of failed messages, with such a journal.
func journaled(t *testing.T, messages, dropped int) Options {
	t.Helper()
	o := failed(messages)
	withJournal(t, &o, dropped)
	return o
}

// writeDrop records an unfinished drop of n messages, the first dropped of which have an outcome.
func writeDrop(t *testing.T, j *journal.Journal, n, dropped int) int64 {
	t.Helper()
	id := must.Get(j.Begin(t.Context(), plan.Record{
		Operation: plan.Drop, From: ref(failedQueue), User: "guest",
		Broker: "mq1:5672", Planned: n,
	}))(t)
	var entries []plan.Entry

	var settled []plan.Settled
	for i := range n {
		m := failedMessage(i)
		m.Position, m.BodyBytes, m.Fingerprint = i+1, len(m.Body), message.FingerprintOf(&m)
		entries = append(entries, plan.NewEntry(&m, nil, false))
		settled = append(settled, plan.Settled{Position: i + 1, Outcome: plan.Dropped})
	}

	must.Do(t, j.Write(id, entries, settled[:dropped]))
	return id
}

// withUnfinishedDrop gives the program a journal with a drop of one message whose outcome is unknown because its
// program died.
func withUnfinishedDrop(t *testing.T, o *Options) int64 {
	t.Helper()
	j := withJournal(t, o, 1)
	id := writeDrop(t, j, 1, 0)
	must.Do(t, j.Close()) // like the end of its program
	return id
}

// The journal shows one broker at a time.
func TestJournalIsOfOneBroker(t *testing.T) {
	o := failed(5)
	j := withJournal(t, &o, 3)
	id := must.Get(j.Begin(t.Context(), plan.Record{
		Operation: plan.Move, From: ref(failedQueue), To: "queue:elsewhere", User: "guest",
		Broker: "other:5672",
	}))(t)

	must.Do(t, j.Finish(id, nil, plan.Account{Planned: 1, Moved: 1}))
	term := o.open(t).press("5").await("3 dropped", "1 record of other brokers: b shows all")
	term.lacks("elsewhere", "another broker's record")

	long := must.Get(j.Begin(t.Context(), plan.Record{
		Operation: plan.Replay, From: ref(failedQueue), To: "queue:worker", User: "guest", Broker: "mq1:5672",
	}))(t)
	must.Do(t, j.Finish(long, nil, plan.Account{Planned: 9, Moved: 3, Refused: 2, Returned: 1, Unknown: 3}))
	term.resize(80, 24).await("3 moved, 2 refused, 1 returned, 3 unknown  ucenter@").resize(120, 36)
	term.press("b").await("guest@other:5672", "elsewhere", "b this broker").press("b").awaitGone("elsewhere")
}

// Enter on a message of a record shows what the journal keeps of it, and says when it has no body.
func TestBodiesOfTheJournal(t *testing.T) {
	o := failed(5)
	j := withJournal(t, &o, 3)
	id := must.Get(j.Begin(t.Context(), plan.Record{
		Operation: plan.Replay, From: ref(failedQueue), User: "guest", Broker: "mq1:5672",
	}))(t)
	m := failedMessage(4)
	m.Position, m.BodyBytes, m.Fingerprint = 1, len(m.Body), message.FingerprintOf(&m)
	e := plan.NewEntry(&m, &message.Publishing{Properties: m.Properties, Body: m.Body}, false)
	must.Do(t, j.Write(id, []plan.Entry{e}, []plan.Settled{{Position: 1, Outcome: plan.Moved}}))
	must.Do(t, j.Finish(id, nil, plan.Account{Planned: 1, Moved: 1}))
	term := o.open(t, 80, 24).press("5").await("3 dropped", "1 moved")
	term.press(keyEnter).await("MESSAGE ID", "enter message")
	term.press(keyEnter).await("The journal has no body of it", `journal = "full"`).press(keyEsc).await("MESSAGE ID")
	term.press(keyEsc).await("3 dropped").press("j", keyEnter).await("0f3c9a01-user").press("j", keyEnter)
	term.await("dropped, by the drop 1 of", "message_id  0f3c9a01-user", "x-orig-routing-key  user.created")
	term.press("G").await(`"name": "guan yu"`, `"email": "user1@example.com"`)
	term.press("b").await(`{"id":121,"name":"guan yu"`).golden()
}

func TestUndoFromAnyScreen(t *testing.T) {
	for _, steps := range [][]string{ // keys, and what is then awaited
		{"u", ""},
		{"3", "", "u", ""},
		{"5", "3 dropped", "u", ""},
		{"5", "3 dropped", keyEnter, "MESSAGE ID", "u", ""},
		{"?", "", "u", ""},
		{":undo", "", keyEnter, ""},
	} {
		t.Run(fmt.Sprint(steps), func(t *testing.T) {
			term := journaled(t, 5, 3).open(t).await("ucenter@user").play(steps...)
			term.await("Undo 1: bring back 3 messages", "enter bring back").press(keyEnter)
			term.await("3 of 3 messages brought back to ucenter@user@failed").press(keyEnter).awaitGone("What happened")
		})
	}
}

func TestUndoIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		change func(o *Options, j *journal.Journal)
		words  string
	}{
		"read-only":  {func(o *Options, _ *journal.Journal) { o.ReadOnly = true }, "read-only: nothing is changed here"},
		"no journal": {func(o *Options, _ *journal.Journal) { o.Journal = nil }, "started with --no-journal"},
		"nothing": {func(o *Options, _ *journal.Journal) {
			o.Journal = journal.New(journal.Options{Path: "/nowhere/there"})
		}, "no action on this broker"},
	} {
		t.Run(name, func(t *testing.T) {
			o := failed(5)
			test.change(&o, withJournal(t, &o, 3))
			o.open(t).await("ucenter@user").press("u").await(test.words).press(keyEnter).settle()
		})
	}
}

// If the number is asked for in a drop, so it is in its undo.
func TestManyAreTyped(t *testing.T) {
	term := journaled(t, 5, 150).open(t).await("ucenter@user")
	term.press("u").await("To bring 150 messages back to " + failedQueue + ", type 150:").press(keyEnter)
	term.press("150").await("enter bring back").press(keyEnter).await("150 of 150 messages brought back")
}

func TestUnfinishedIsShown(t *testing.T) {
	o := failed(5)
	j := withJournal(t, &o, 1)
	id := writeDrop(t, j, 4, 4)
	must.Do(t, j.Close()) // like the end of its program
	term := o.open(t)
	term.await(fmt.Sprintf("ended during the drop %d of ucenter@user@failed", id), "5 shows what is certain")
	term.press("5").await("4 dropped; unfinish", "none is lost: r looks for them").wantFroms()
}

func TestDialogsSayThatThereIsAnUndo(t *testing.T) {
	term := journaled(t, 5, 1).onFailed(t).press("d")
	term.await("journal   yes, u undoes it", "enter drop 1 message ").press(keyEsc, "r")
	term.await("enter replay", "journal   yes, u undoes it").press(keyEnter).await("What happened")
	term.ran(func(p plan.Run) bool { return p.Mark })
}

func TestReplayedIsShown(t *testing.T) {
	m := failedMessage(1)
	m.Headers[message.ReplayHeader] = model.Table{"count": int64(2), "time": newClock().now().Add(-time.Minute)}
	holding(m).onFailed(t).await("replayed 2 times; ValueError").press(keyEnter).await("replayed 2 times", "Story")
}

// What was read is shown, with why it is incomplete; a reading that ends earlier than the previous one removes nothing.
func TestRecordThatCannotBeReadToItsEnd(t *testing.T) {
	e := newApp(t.Context(), failed(0)).Env
	r := act.NewRecordScreen(e, plan.Record{ID: 7, Operation: plan.Replay})
	answer := func(rows []act.EntryRow, err error) string {
		r.Update(shell.TopologyMsg{})
		r.Update(shell.EndedMsg[act.Entries]{
			Request: r.(*act.RecordScreen).Request, Result: act.Entries{Rows: rows}, Err: err,
		})
		return ansi.Strip(r.View(80, 19))
	}

	rows := []act.EntryRow{{Position: 1, Id: "m-1"}, {Position: 2, Id: "m-2"}}
	for _, step := range []struct {
		rows []act.EntryRow
		err  error
		want []string
		not  string
	}{
		{rows[:1], errors.New("database disk image is malformed"), []string{"m-1", "malformed"}, "m-2"},
		{rows, nil, []string{"m-1", "m-2"}, "malformed"},
		{rows[:1], errors.New("database disk image is malformed"), []string{"m-1", "m-2", "malformed"}, "reading"},
	} {
		view := answer(step.rows, step.err)
		for _, want := range step.want {
			assert.Contains(t, view, want, "there is no")
		}
		assert.That(t, !strings.Contains(view, step.not), "there is %q:\n%s", step.not, view)
	}
}

// A poll while the journal is read starts no other reading, which would make the first one outdated.
func TestSlowReadingsOfTheJournalAreShown(t *testing.T) {
	e := newApp(t.Context(), journaled(t, 0, 0)).Env
	record := act.NewRecordScreen(e, plan.Record{ID: 1})
	list := act.NewJournalScreen(e)
	record.Update(shell.TopologyMsg{})
	list.Update(shell.TopologyMsg{})
	ofRecord := record.(*act.RecordScreen).Request
	ofList := list.(*act.JournalScreen).Request

	for range 2 {
		record.Update(shell.TopologyMsg{})
		list.Update(shell.TopologyMsg{})
	}

	record.Update(shell.EndedMsg[act.Entries]{
		Request: ofRecord, Result: act.Entries{Rows: []act.EntryRow{{Position: 1, Id: "m-1"}}},
	})
	list.Update(shell.EndedMsg[[]plan.Record]{
		Request: ofList, Result: []plan.Record{{ID: 4711, Broker: "mq1:5672"}},
	})
	assert.Contains(t, record.View(80, 19), "m-1", "the messages are not shown")
	assert.Contains(t, list.View(80, 19), "4711", "the records are not shown")
	next := record.Update(shell.TopologyMsg{})
	assert.That(t, next != nil, "the messages are not read again")
	next = list.Update(shell.TopologyMsg{})
	assert.That(t, next != nil, "the records are not read again")
}

// Messages with unknown outcomes may be in their queue already. When looking fails the screen says why, like the
// command, and only insisting continues.
func TestUndoSaysWhyALookFailed(t *testing.T) {
	o, b, _ := failedOptions(0)
	id := withUnfinishedDrop(t, &o)
	b.unreadable = errors.New("the node shut the channel down")
	term := o.open(t).await("ucenter@user").press("5").await("unfinish").press("u")
	term.await("look whether messages are there already: the node shut the",
		"i insists: messages that are already there are then there twice")
	term.press("i").await(fmt.Sprintf("Undo %d: bring back 1 message", id), "enter bring back")
}

// Leaving an undo after agreeing, while its plan is made again, does not start it.
func TestUndoLeftWhileItIsChecked(t *testing.T) {
	u := act.NewUndoScreen(newApp(t.Context(), failed(0)).Env, 0).(*act.FollowUpScreen)
	u.State, u.Request = shell.DialogChecking, u.Env.NewRequest()
	answer := shell.PlannedMsg[act.FollowUp]{Plan: act.Undoing{{}}}
	answer.Request = u.Request
	u.Update(tea.KeyMsg{Type: tea.KeyEsc})
	cmd := u.Update(answer)
	assert.That(t, u.State != shell.DialogRunning, "it runs")
	assert.That(t, cmd == nil, "it has a command")
}

// interrupted returns options of failed messages, with a journal of an interrupted replay of five: one had arrived, two
// are uncertain.
func interrupted(t *testing.T) Options {
	t.Helper()
	o, b, _ := failedOptions(5)
	kept := journal.Options{Path: filepath.Join(t.TempDir(), "journal.db"), Now: b.clock.now}
	j := journal.New(kept)
	id := must.Get(j.Begin(t.Context(), plan.Record{
		Operation: plan.Replay, From: ref(failedQueue), To: "queue:ucenter@user", User: "guest", Broker: "mq1:5672",
		Planned: 5,
		Intent: &plan.Intent{
			Source: ref(failedQueue), Depth: 5, Mode: target.ToQueue,
			Fixed: model.Address{RoutingKey: "ucenter@user"}, Options: plan.Options{Mark: true, MarkName: "MARK"},
			Recipients: []plan.Recipient{{Queue: ref("ucenter@user"), Consumers: build.Some(1)}},
		},
	}))(t)

	var entries []plan.Entry
	for i, m := range b.messages[ref(failedQueue)][:3] {
		m.Position = i + 1
		p := message.Publishing{
			Address: model.Address{RoutingKey: "ucenter@user"}, Reaches: []model.QueueRef{ref("ucenter@user")},
			Properties: m.Properties, Headers: m.Headers, Body: m.Body,
		}
		entries = append(entries, plan.NewEntry(&m, &p, false))
	}

	must.Do(t, j.Write(id, entries, []plan.Settled{{Position: 1, Outcome: plan.Moved}}))
	b.messages[ref(failedQueue)] = b.messages[ref(failedQueue)][1:]
	must.Do(t, j.Close()) // like the end of its program
	again := journal.New(kept)
	t.Cleanup(func() { again.Close() })
	o.Journal = again
	return o
}

func TestResume(t *testing.T) {
	term := interrupted(t).open(t).await("ucenter@user").press("5").await("r resume this")
	term.press("r").await("stay as they are, and unknown", "2 messages at most")
	term.press(keyTab).await("published again: they may be there twice", "4 messages at most")
	term.press(keyTab).await("stay in their queue, and count as done", "2 messages at most")
	term.press(keyTab).await("stay as they are, and unknown")
	term.press(keyEnter).await("What happened", "undecided 2  they stay in their queue")
	term.ran(func(p plan.Run) bool {
		return p.Resuming != nil && p.MarkName == "MARK" && len(p.Selection.Except) == 2 && p.Resuming.Gone == 1
	})
	term.press(keyEnter).await("r resume this")
}

// An agreed plan is made again, from the then current topology.
func TestResumeIsCheckedAgain(t *testing.T) {
	o := interrupted(t)
	o.Interval = time.Hour
	term := o.open(t).await("ucenter@user").press("5").await("r resume this")
	term.press("r").await("2 messages at most")
	term.source.fail(errors.New("the API is away"))
	term.press(keyEnter).await("the topology could not be read again, and nothing was changed")
	there := term.source.snapshot
	term.source.tell(without(there, failedQueue))
	term.press(keyEnter).await("there is no queue " + failedQueue + " here any more").press(keyEnter).settle()
	term.wantFroms().source.tell(there)
	term.press(keyCtrlR).await("enter go on")
}

func TestResumeReadOnly(t *testing.T) {
	o := interrupted(t)
	o.ReadOnly = true
	term := o.open(t).await("ucenter@user").press("5").await("r resume this")
	term.press("r").await("read-only: nothing is changed here").press(keyEnter).settle().wantFroms()
}

// A journal that cannot be read may know of copies that were sent: there is no plan, and enter does nothing.
func TestNoPlanWithoutTheJournalsAnswer(t *testing.T) {
	o, b, _ := failedOptions(2)
	path := filepath.Join(t.TempDir(), "journal.db")
	must.Do(t, os.WriteFile(path, bytes.Repeat([]byte("no database "), 500), 0o600))
	o.Journal = journal.New(journal.Options{Path: path})
	b.execute = ends(func(*plan.Account) { t.Error("it ran") })

	term := o.onFailed(t)
	term.press("r").await("Replay 1 message", "not possible").awaitGone("enter replay")
	term.press(keyEnter, keyEsc).awaitGone("Replay 1 message")
}
