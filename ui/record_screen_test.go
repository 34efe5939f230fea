package ui

import (
	"errors"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// TestRecordThatCannotBeReadToItsEnd: what was read is shown, with why it is not all; a reading that ends earlier than
// the last one takes nothing away.
func TestRecordThatCannotBeReadToItsEnd(t *testing.T) {
	o, _, _ := failedOptions(0)
	var r shell.Screen = act.NewRecordScreen(newApp(t.Context(), o).env, plan.Record{ID: 7, Operation: plan.Replay})
	answer := func(rows []act.EntryRow, err error) string {
		r, _ = r.Update(shell.TopologyMsg{})
		r, _ = r.Update(act.EntriesMsg{Request: r.(act.RecordScreen).Request, Rows: rows, More: false, Err: err})
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

// TestSlowReadingsOfTheJournalAreShown: a poll that comes while the journal is read starts no other reading, which
// would make the first one late.
func TestSlowReadingsOfTheJournalAreShown(t *testing.T) {
	o, _, c := failedOptions(0)
	withJournal(t, &o, c, 0)
	e := newApp(t.Context(), o).env
	record, list := act.NewRecordScreen(e, plan.Record{ID: 1}), act.NewJournalScreen(e)
	record, _ = record.Update(shell.TopologyMsg{})
	list, _ = list.Update(shell.TopologyMsg{})
	ofRecord, ofList := record.(act.RecordScreen).Request, list.(act.JournalScreen).Request
	for range 2 {
		record, _ = record.Update(shell.TopologyMsg{})
		list, _ = list.Update(shell.TopologyMsg{})
	}
	record, _ = record.Update(act.EntriesMsg{Request: ofRecord, Rows: []act.EntryRow{{Position: 1, Id: "m-1"}}})
	list, _ = list.Update(act.RecordsMsg{Request: ofList, Records: []plan.Record{{ID: 4711}}})
	assert.Contains(t, record.View(80, 19), "m-1", "the messages are not shown")
	assert.Contains(t, list.View(80, 19), "4711", "the records are not shown")
	if _, next := record.Update(shell.TopologyMsg{}); next == nil {
		t.Error("the messages are not read again")
	}
	if _, next := list.Update(shell.TopologyMsg{}); next == nil {
		t.Error("the records are not read again")
	}
}
