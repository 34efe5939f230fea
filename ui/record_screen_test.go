package ui

import (
	"errors"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/model/plan"
)

// TestRecordThatCannotBeReadToItsEnd: what was read is shown, with why it is not all; a reading that ends earlier than
// the last one takes nothing away.
func TestRecordThatCannotBeReadToItsEnd(t *testing.T) {
	o, _, _ := failedOptions(0)
	var r screen = newRecordScreen(newApp(t.Context(), o).env, plan.Record{ID: 7, Operation: plan.Replay})
	answer := func(rows []entryRow, err error) string {
		r, _ = r.Update(topologyMsg{})
		r, _ = r.Update(entriesMsg{r.(recordScreen).request, rows, false, err})
		return ansi.Strip(r.View(80, 19))
	}
	rows := []entryRow{{position: 1, id: "m-1"}, {position: 2, id: "m-2"}}
	for _, step := range []struct {
		rows []entryRow
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
			if !strings.Contains(view, want) {
				t.Errorf("there is no %q:\n%s", want, view)
			}
		}
		if strings.Contains(view, step.not) {
			t.Errorf("there is %q:\n%s", step.not, view)
		}
	}
}

// TestSlowReadingsOfTheJournalAreShown: a poll that comes while the journal is read starts no other reading, which
// would make the first one late.
func TestSlowReadingsOfTheJournalAreShown(t *testing.T) {
	o, _, c := failedOptions(0)
	withJournal(t, &o, c, 0)
	e := newApp(t.Context(), o).env
	record, list := newRecordScreen(e, plan.Record{ID: 1}), newJournalScreen(e)
	record, _ = record.Update(topologyMsg{})
	list, _ = list.Update(topologyMsg{})
	ofRecord, ofList := record.(recordScreen).request, list.(journalScreen).request
	for range 2 {
		record, _ = record.Update(topologyMsg{})
		list, _ = list.Update(topologyMsg{})
	}
	record, _ = record.Update(entriesMsg{request: ofRecord, rows: []entryRow{{position: 1, id: "m-1"}}})
	list, _ = list.Update(recordsMsg{request: ofList, records: []plan.Record{{ID: 4711}}})
	if view := record.View(80, 19); !strings.Contains(view, "m-1") {
		t.Errorf("the messages are not shown:\n%s", view)
	}
	if view := list.View(80, 19); !strings.Contains(view, "4711") {
		t.Errorf("the records are not shown:\n%s", view)
	}
	if _, next := record.Update(topologyMsg{}); next == nil {
		t.Error("the messages are not read again")
	}
	if _, next := list.Update(topologyMsg{}); next == nil {
		t.Error("the records are not read again")
	}
}
