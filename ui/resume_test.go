package ui

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/target"
)

// withReplay gives the program a journal with a replay of five messages of ucenter@user@failed in it that ended in
// its middle: one had arrived, two are uncertain. It stands at the first of the options.
func withReplay(t *testing.T, o *Options, b *recordedBroker, c *clock) int64 {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal.db")
	j := journal.New(journal.Options{Path: path, Now: c.now})
	id, err := j.Begin(t.Context(), plan.Record{
		Operation: plan.Replay, From: ref(failedQueue), To: "queue:ucenter@user", User: "guest", Broker: "mq1:5672",
		Planned: 5,
		Intent: &plan.Intent{
			Source: ref(
				failedQueue,
			), Depth: 5, Mode: target.ToQueue, Fixed: model.Address{RoutingKey: "ucenter@user"}, Mark: true, MarkName: "MARK",
			Recipients: []plan.Recipient{{Queue: ref("ucenter@user"), Consumers: model.Some[int64](1)}},
		},
	})
	must.Do(t, err)
	var entries []plan.Entry
	for i, m := range b.messages[ref(failedQueue)][:3] {
		m.Position = i + 1
		p := message.Publishing{
			Address:    model.Address{RoutingKey: "ucenter@user"},
			Properties: m.Properties,
			Headers:    m.Headers,
			Body:       m.Body,
			Reaches:    []model.QueueRef{ref("ucenter@user")},
		}
		entries = append(entries, plan.NewEntry(&m, &p, false))
	}
	must.Do(t, j.Write(id, entries, []plan.Settled{{Position: 1, Outcome: plan.Moved}}))
	b.messages[ref(failedQueue)] = b.messages[ref(failedQueue)][1:]
	if err := j.Close(); err != nil { // as the end of its program would
		t.Fatal(err)
	}
	again := journal.New(journal.Options{Path: path, Now: c.now})
	t.Cleanup(func() { again.Close() })
	o.Journal = again
	return id
}

// TestResumeGolden: undecided messages are listed, and asked about.
func TestResumeGolden(t *testing.T) {
	atSizes(t, func(t *testing.T, width, height int) {
		o, b, c := failedOptions(5)
		withReplay(t, &o, b, c)
		term := newTerminal(t, o, width, height)
		term.await("ended during the replay 1", "r resumes it")
		term.press("5")
		term.await("r resume this")
		term.press("r")
		term.await("Resume 1: continue the replay", "2 messages: undecided")
		term.golden()
	})
}

func TestResume(t *testing.T) {
	o, b, c := failedOptions(5)
	withReplay(t, &o, b, c)
	term := newTerminal(t, o, 120, 36)
	term.await("ucenter@user")
	term.press("5")
	term.await("r resume this")
	term.press("r")
	term.await("stay as they are, and unknown", "2 messages at most")
	term.press(keyTab)
	term.await("published again: they may be there twice", "4 messages at most")
	term.press(keyTab)
	term.await("stay in their queue, and count as done", "2 messages at most")
	term.press(keyTab)
	term.await("stay as they are, and unknown")
	term.press(keyEnter)
	term.await("What happened", "undecided 2  they stay in their queue")
	plans := b.executed()
	assert.That(t, len(plans) == 1 && plans[0].Resuming != nil && plans[0].MarkName == "MARK" &&
		len(plans[0].Selection.Except) == 2 && plans[0].Resuming.Gone == 1, "%+v", plans)
	term.press(keyEnter)
	term.await("r resume this")
}

// TestResumeIsCheckedAgain: a plan that was agreed to is made again, from the topology of then.
func TestResumeIsCheckedAgain(t *testing.T) {
	o, b, c := failedOptions(5)
	withReplay(t, &o, b, c)
	o.Interval = time.Hour
	source := o.Source.(*recorded)
	term := newTerminal(t, o, 120, 36)
	term.await("ucenter@user")
	term.press("5")
	term.await("r resume this")
	term.press("r")
	term.await("2 messages at most")
	source.fail(errors.New("the API is away"))
	term.press(keyEnter)
	term.await("the topology could not be read again, and nothing was changed")
	without := *source.snapshot
	without.Queues = slices.DeleteFunc(slices.Clone(without.Queues), func(q model.Queue) bool {
		return q.QueueRef == ref(failedQueue)
	})
	source.tell(&without)
	term.press(keyEnter)
	term.await("there is no queue " + failedQueue + " here any more")
	term.press(keyEnter)
	term.settle()
	plans := b.executed()
	assert.That(t, len(plans) == 0, "executed %+v", plans)
}

func TestResumeReadOnly(t *testing.T) {
	o, b, c := failedOptions(5)
	withReplay(t, &o, b, c)
	o.ReadOnly = true
	term := newTerminal(t, o, 120, 36)
	term.await("ucenter@user")
	term.press("5")
	term.await("r resume this")
	term.press("r")
	term.await("read-only: nothing is changed here")
	term.press(keyEnter)
	term.settle()
	assert.That(t, len(b.executed()) == 0, "something was done")
}
