package ui

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
)

// withJournal gives the program a real journal, in which n messages of ucenter@user@failed were dropped.
func withJournal(t *testing.T, o *Options, c *clock, n int) *journal.Journal {
	t.Helper()
	j := journal.New(journal.Options{Path: filepath.Join(t.TempDir(), "journal.db"), Now: c.now})
	t.Cleanup(func() { j.Close() })
	o.Journal = j
	writeDrop(t, j, n, true)
	return j
}

// writeDrop writes a drop of n messages down; one that is not finished ends after the intentions.
func writeDrop(t *testing.T, j *journal.Journal, n int, finished bool) int64 {
	t.Helper()
	id, err := j.Begin(t.Context(), plan.Record{
		Operation: plan.Drop, From: ref(failedQueue), User: "guest",
		Broker: "mq1:5672", Planned: n,
	})
	must.Do(t, err)
	var entries []plan.Entry
	var settled []plan.Settled
	for i := range n {
		m := failedMessage(i)
		m.Position, m.BodyBytes, m.Fingerprint = i+1, len(m.Body), message.FingerprintOf(&m)
		entries = append(entries, plan.NewEntry(&m, nil, false))
		settled = append(settled, plan.Settled{Position: i + 1, Outcome: plan.Dropped})
	}
	if err = j.Write(id, entries, settled); err == nil && finished {
		err = j.Finish(id, nil, plan.Account{Planned: n, Dropped: n})
	}
	must.Do(t, err)
	return id
}

// withUnfinishedDrop gives the program a journal with a drop of one message in it whose outcome is unknown, as its
// program ended.
func withUnfinishedDrop(t *testing.T, o *Options, c *clock) int64 {
	t.Helper()
	j := withJournal(t, o, c, 1)
	id := must.Get(j.Begin(t.Context(), plan.Record{
		Operation: plan.Drop, From: ref(failedQueue), User: "guest", Broker: "mq1:5672", Planned: 1,
	}))(t)
	m := failedMessage(0)
	m.Position, m.BodyBytes, m.Fingerprint = 1, len(m.Body), message.FingerprintOf(&m)
	must.Do(t, j.Write(id, []plan.Entry{plan.NewEntry(&m, nil, false)}, nil))
	if err := j.Close(); err != nil { // as the end of its program would
		t.Fatal(err)
	}
	return id
}

func TestJournalGolden(t *testing.T) {
	atSizes(t, func(t *testing.T, width, height int) {
		o, _, c := failedOptions(5)
		withJournal(t, &o, c, 3)
		term := newTerminal(t, o, width, height)
		term.press("5")
		term.await("3 dropped", "guest@mq1:5672")
		term.golden()
	})
}

func TestRecordGolden(t *testing.T) {
	atSizes(t, func(t *testing.T, width, height int) {
		o, _, c := failedOptions(5)
		withJournal(t, &o, c, 3)
		term := newTerminal(t, o, width, height)
		term.press("5")
		term.await("3 dropped")
		term.press(keyEnter)
		term.await("MESSAGE ID", "OUTCOME")
		term.settle()
		term.golden()
	})
}

// TestBodiesOfTheJournal: enter on a message of a record shows what the journal keeps of it, and says where it has no
// body.
func TestBodiesOfTheJournal(t *testing.T) {
	o, _, c := failedOptions(5)
	j := withJournal(t, &o, c, 3)
	id := must.Get(j.Begin(t.Context(), plan.Record{Operation: plan.Replay, From: ref(failedQueue), User: "guest"}))(t)
	m := failedMessage(4)
	m.Position, m.BodyBytes, m.Fingerprint = 1, len(m.Body), message.FingerprintOf(&m)
	e := plan.NewEntry(&m, &message.Publishing{Properties: m.Properties, Body: m.Body}, false)
	must.Do(t, j.Write(id, []plan.Entry{e}, []plan.Settled{{Position: 1, Outcome: plan.Moved}}))
	must.Do(t, j.Finish(id, nil, plan.Account{Planned: 1, Moved: 1}))
	term := newTerminal(t, o, 80, 24)
	term.press("5")
	term.await("3 dropped", "1 moved")
	term.press(keyEnter)
	term.await("MESSAGE ID", "enter message")
	term.press(keyEnter)
	term.await("The journal has no body of it", `journal = "full"`)
	term.press(keyEsc)
	term.await("MESSAGE ID")
	term.press(keyEsc)
	term.await("3 dropped")
	term.press("j", keyEnter)
	term.await("0f3c9a01-user")
	term.press("j", keyEnter)
	term.await("dropped, by the drop 1 of", "message_id  0f3c9a01-user", "x-orig-routing-key  user.created")
	term.press("G")
	term.await(`"name": "guan yu"`, `"email": "user1@example.com"`)
	term.press("b")
	term.await(`{"id":121,"name":"guan yu"`)
	term.golden()
}

func TestUndoGolden(t *testing.T) {
	atSizes(t, func(t *testing.T, width, height int) {
		o, _, c := failedOptions(5)
		withJournal(t, &o, c, 3)
		term := newTerminal(t, o, width, height)
		term.await("ucenter@user")
		term.press("u")
		term.await("Undo 1: bring back 3 messages", "byte for byte")
		term.golden()
	})
}

func TestUndoFromAnyScreen(t *testing.T) {
	for _, keys := range [][]string{
		{"u"},
		{"3", "u"},
		{"5", "u"},
		{"5", keyEnter, "u"},
		{"?", "u"},
		{":", "undo", keyEnter},
	} {
		t.Run(fmt.Sprint(keys), func(t *testing.T) {
			o, _, c := failedOptions(5)
			withJournal(t, &o, c, 3)
			term := newTerminal(t, o, 120, 36)
			term.await("ucenter@user")
			for _, k := range keys {
				term.press(k)
				switch k {
				case "5":
					term.await("3 dropped")
				case keyEnter:
					term.settle()
				}
			}
			term.await("Undo 1: bring back 3 messages", "enter bring back")
			term.press(keyEnter)
			term.await("3 of 3 messages brought back to ucenter@user@failed")
			term.press(keyEnter)
			term.awaitThat("the box is closed", func(screen string) bool { return !strings.Contains(screen, "What happened") })
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
			o, _, c := failedOptions(5)
			test.change(&o, withJournal(t, &o, c, 3))
			term := newTerminal(t, o, 120, 36)
			term.await("ucenter@user")
			term.press("u")
			term.await(test.words)
			term.press(keyEnter)
			term.settle()
		})
	}
}

// TestManyAreTyped: what asks for the number when it is dropped does so when it comes back.
func TestManyAreTyped(t *testing.T) {
	o, _, c := failedOptions(5)
	withJournal(t, &o, c, 150)
	term := newTerminal(t, o, 120, 36)
	term.await("ucenter@user")
	term.press("u")
	term.await("To bring 150 messages back to " + failedQueue + ", type 150:")
	term.press(keyEnter)
	term.press("150")
	term.await("enter bring back")
	term.press(keyEnter)
	term.await("150 of 150 messages brought back")
}

func TestUnfinishedIsTold(t *testing.T) {
	o, b, c := failedOptions(5)
	j := withJournal(t, &o, c, 1)
	id := writeDrop(t, j, 4, false)
	if err := j.Close(); err != nil { // as the end of its program would
		t.Fatal(err)
	}
	term := newTerminal(t, o, 120, 36)
	term.await(fmt.Sprintf("ended during the drop %d of ucenter@user@failed", id), "5 shows what is certain")
	term.press("5")
	term.await("4 dropped; unfinish", "none is lost: r looks for them")
	assert.That(t, len(b.executed()) == 0, "something was done")
}

func TestDialogsSayThatThereIsAnUndo(t *testing.T) {
	o, b, c := failedOptions(5)
	withJournal(t, &o, c, 1)
	term := onQueue(t, o, failedQueue, 120, 36)
	term.await("5 messages")
	term.press("d")
	term.await("journal   yes, u undoes it", "enter drop 1 message ")
	term.press(keyEsc)
	term.press("r")
	term.await("enter replay", "journal   yes, u undoes it")
	term.press(keyEnter)
	term.await("What happened")
	plans := b.executed()
	assert.That(t, len(plans) == 1 && plans[0].Mark, "%+v", plans)
}

func TestReplayedIsTold(t *testing.T) {
	o, b, c := failedOptions(0)
	m := failedMessage(1)
	m.Headers[message.ReplayHeader] = model.Table{"count": int64(2), "time": c.now().Add(-time.Minute)}
	b.put(failedQueue, m)
	term := onQueue(t, o, failedQueue, 120, 36)
	term.await("replayed 2 times; ValueError")
	term.press(keyEnter)
	term.await("replayed 2 times", "Story")
}
