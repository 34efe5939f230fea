package journal_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/model/plan"
)

// What an undo or a resume begins with is not forgotten by that, however full the journal is, and what it went on with
// may be forgotten.
func TestFullJournalKeepsWhatIsUndone(t *testing.T) {
	t.Parallel()
	path := at(t)
	j := open(t, journal.Options{Path: path})
	fill := func(r plan.Record) int64 {
		id := begin(t, j, r)
		large := dropped(1)
		large[0].Message.Body = make([]byte, 300_000)
		large[0].Message.BodyBytes = 300_000
		check(t, j.Write(id, large, nil), j.Finish(id, nil, plan.Account{}))
		return id
	}
	first := fill(record(plan.Drop))
	r := record(plan.Drop)
	r.Resumes = first
	second := fill(r)
	check(t, j.Close())
	j = open(t, journal.Options{Path: path, Bytes: 1 << 10})
	r.Resumes = second
	third, err := j.Resume(t.Context(), r, nil)
	check(t, err, j.Finish(third, nil, plan.Account{}))
	undo, granted, err := j.Claim(t.Context(), undoOf(second), plan.Claim{Positions: []int{1}})
	check(t, err)
	assert.That(t, cmp.Equal(granted, []int{1}), "claimed %v", granted)
	other := begin(t, j, record(plan.Drop)) // of another program, while the undo runs
	check(t, j.Finish(other, nil, plan.Account{}))
	assert.Succeeds(t, j.Entries(t.Context(), second, func(e *plan.Entry) error {
		assert.That(t, e.Message != nil && len(e.Message.Body) == 300_000, "it keeps %+v", e)
		return nil
	}))
	check(t, j.Finish(undo, nil, plan.Account{}))
}
