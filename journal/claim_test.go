package journal_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
)

// undoOf is the record of an undo.
func undoOf(id int64) plan.Record {
	r := record(plan.Undo)
	r.Undoes = id
	return r
}

// restored are intentions of an undo to bring the entries at these positions back.
func restored(positions ...int) []plan.Entry {
	entries := dropped(positions...)
	for i := range entries {
		e := &entries[i]
		e.Message, e.Undoes, e.Sent = nil, e.Position, &plan.Sent{Fingerprint: message.Fingerprint{byte(e.Position)}}
	}
	return entries
}

// ended is a journal with a drop of six messages in it that has ended, and its path.
func ended(t *testing.T) (path string, id int64) {
	t.Helper()
	path = at(t)
	j := open(t, journal.Options{Path: path})
	id = begin(t, j, record(plan.Drop))
	check(
		t,
		j.Write(id, dropped(1, 2, 3, 4, 5, 6), settled(plan.Dropped, 1, 2, 3, 4, 5, 6)),
		j.Finish(id, nil, plan.Account{Planned: 6, Dropped: 6}),
	)
	return path, id
}

// wantClaimed wants a claim to be refused because of another undo.
func wantClaimed(t *testing.T, err error, by int64, state plan.ClaimState) {
	t.Helper()
	var claimed *plan.ClaimedError
	assert.That(t, errors.As(err, &claimed) && claimed.By == by && claimed.State == state,
		"%v instead of %d by %d", err, state, by)
}

// What one undo has is given to no other, until it has ended; what it left uncertain only to who has
// looked for it.
func TestWhatOneUndoHasIsGivenToNoOther(t *testing.T) {
	path, id := ended(t)
	first, second := open(t, journal.Options{Path: path}), open(t, journal.Options{Path: path})
	claim := func(j *journal.Journal, known []int64, positions ...int) (int64, []int, error) {
		return j.Claim(t.Context(), undoOf(id), plan.Claim{Positions: positions, Known: known})
	}
	one, granted, err := claim(first, nil, 1, 2, 3, 4)
	check(t, err)
	assert.NoDiff(t, cmp.Diff([]int{1, 2, 3, 4}, granted))
	_, _, err = claim(second, nil, 1, 2, 3)
	wantClaimed(t, err, one, plan.ClaimRunning)
	records, _ := second.Records(t.Context(), 0)
	assert.That(t, len(records) == 2, "a claim that got nothing has begun: %+v", records)
	two, granted, err := claim(second, nil, 4, 5)
	if check(t, err); !cmp.Equal(granted, []int{5}) {
		t.Errorf("granted %v", granted)
	}
	check(t, second.Finish(two, nil, plan.Account{}))

	// The first ends in the middle: 1 came back, 2 was refused, 3 is uncertain, 4 was not begun.
	check(
		t,
		first.Write(one, restored(1, 2, 3), append(settled(plan.Moved, 1), settled(plan.Refused, 2)...)),
		first.Close(),
	)
	got := read(t, second, id)
	assert.That(t, got[0].Undone && len(got[1].Undoing) == 0 && len(got[2].Undoing) == 1 &&
		got[2].Undoing[0] == (plan.Attempt{By: one, Sent: message.Fingerprint{3}}) && got[3].Claimed <= 0, "%+v", got)
	_, _, err = claim(second, nil, 3)
	wantClaimed(t, err, one, plan.ClaimUncertain)
	_, _, err = claim(second, nil, 1)
	wantClaimed(t, err, one, plan.ClaimDone)
	if _, granted, err = claim(second, []int64{one}, 1, 2, 3, 4, 5, 6); err != nil ||
		!cmp.Equal(granted, []int{2, 3, 4, 5, 6}) {
		t.Errorf("%v %v", granted, err)
	}
}

// TestClaimsAtOnce: of many claims of the same, each position goes to one.
func TestClaimsAtOnce(t *testing.T) {
	path, id := ended(t)
	var all sync.WaitGroup
	var mu sync.Mutex
	given := map[int]int{}
	for range 8 {
		j := open(t, journal.Options{Path: path})
		all.Go(func() {
			_, granted, err := j.Claim(t.Context(), undoOf(id), plan.Claim{Positions: []int{1, 2, 3, 4, 5, 6}})
			var claimed *plan.ClaimedError
			assert.That(t, err == nil || errors.As(err, &claimed), "%v", err)
			mu.Lock()
			defer mu.Unlock()
			for _, p := range granted {
				given[p]++
			}
		})
	}
	all.Wait()
	assert.NoDiff(t, cmp.Diff(map[int]int{1: 1, 2: 1, 3: 1, 4: 1, 5: 1, 6: 1}, given))
}
