package journal_test

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
)

var looked = build.Ref("orders.failed")

func newLooks(t *testing.T, dir string) *journal.PeekLedger {
	t.Helper()
	l := journal.NewPeekLedger(filepath.Join(dir, "journal.db"))
	t.Cleanup(func() { l.Close() })
	return l
}

// wantHighest wants a count for the queue in a cluster, as another program reads it.
func wantHighest(t *testing.T, dir string, want int64) {
	t.Helper()
	all, err := newLooks(t, dir).Looked(t.Context(), "shop")
	must.Do(t, err)
	assert.Equal(t, all[looked].Highest, want, "%v %v, want %d", err, all, want)
}

// beginLook counts a look, unless more than most were counted, and returns the count before.
func beginLook(ctx context.Context, l *journal.PeekLedger, most int64) (before int64, begun bool, err error) {
	err = l.Change(ctx, "shop", looked, func(of *model.Looked) {
		before = of.Highest
		if begun = before <= most; begun {
			of.Highest, of.Limit = before+1, 20
		}
	})

	return before, begun && err == nil, err
}

// endLook records how a look ended, and returns the count after that.
func endLook(t *testing.T, l *journal.PeekLedger, end peek.LookEnd) (highest int64) {
	t.Helper()
	must.Do(t, l.Change(t.Context(), "shop", looked, func(of *model.Looked) {
		of.Highest, of.Ended = end.After(of.Highest), end.Then(of.Ended)
		highest = of.Highest
	}))

	return highest
}

func forget(t *testing.T, l *journal.PeekLedger) {
	t.Helper()
	must.Do(t, l.Change(t.Context(), "shop", looked, func(of *model.Looked) { *of = model.Looked{} }))
}

// A look counts from its beginning, so that one which ends with its program counts, too; its result then corrects that.
func TestLooks(t *testing.T) {
	dir := t.TempDir()
	l := newLooks(t, dir)
	begin := func(most, before int64, begun bool) {
		t.Helper()
		got, ok, err := beginLook(t.Context(), l, most)
		must.Do(t, err)
		assert.Equal(t, got, before, "%d %v %v, want %d %v", got, ok, err, before, begun)
		assert.Equal(t, ok, begun)
	}

	end := func(e peek.LookEnd, want int64) {
		t.Helper()
		assert.Equal(t, endLook(t, l, e), want, "%+v", e)
		wantHighest(t, dir, want)
	}

	assert.Equal(t, len(must.Get(l.Looked(t.Context(), "shop"))(t)), 0, "remembered")
	_, err := os.Stat(filepath.Join(dir, "looks.db"))
	assert.That(t, os.IsNotExist(err), "reading made the file")
	begin(17, 0, true)
	wantHighest(t, dir, 1) // killed here, it counts
	begin(17, 1, true)
	end(peek.LookEnd{Highest: 9}, 9) // some had been delivered more often
	begin(17, 9, true)
	end(peek.LookEnd{}, 9) // none was returned
	begin(17, 9, true)
	end(peek.LookEnd{Highest: 3, Complete: true}, 3) // all of it was seen
	begin(17, 3, true)
	end(peek.LookEnd{Highest: 18}, 18)
	begin(17, 18, false)
	wantHighest(t, dir, 18)
	assert.Equal(t, len(must.Get(l.Looked(t.Context(), "another"))(t)), 0, "remembered of another")
	forget(t, l)
	wantHighest(t, dir, 0)
	info, err := os.Stat(filepath.Join(dir, "looks.db"))
	must.Do(t, err)
	assert.Equal(t, info.Mode().Perm(), 0o600, "%v %v", info, err)
}

// TestLooksOfManyPrograms lets eight programs look at one queue at once: each look counts, and no more begin than may.
func TestLooksOfManyPrograms(t *testing.T) {
	const programs, looks, most = 8, 50, 299
	dir := t.TempDir()
	var all sync.WaitGroup
	begun := make(chan bool, programs*looks)
	for range programs {
		l := newLooks(t, dir)
		all.Go(func() {
			for range looks {
				_, ok, err := beginLook(t.Context(), l, most)
				assert.Succeeds(t, err)
				begun <- ok
			}
		})
	}

	all.Wait()
	close(begun)
	n := 0
	for ok := range begun {
		if ok {
			n++
		}
	}

	assert.Equal(t, n, most+1, "began")
	wantHighest(t, dir, most+1)
}

// One sentence says which file, and the consequence.
func TestLooksThatCannotBeKept(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"damaged": func(path string) error {
			return os.WriteFile(path, []byte(strings.Repeat("no database ", 500)), 0o600)
		},
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"a journal": func(path string) error {
			j := journal.New(journal.Options{Path: path})
			defer j.Close()
			return j.Check(t.Context())
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "looks.db")
			must.Do(t, spoil(path))
			_, begun, err := beginLook(t.Context(), newLooks(t, dir), 17)
			must.That(t, err != nil, "%v %v", err, begun)
			must.That(t, !begun, "%v %v", err, begun)
			said := err.Error()
			assert.That(t, strings.HasPrefix(said, path+" "), "%v %v", begun, err)
			assert.Contains(t, said, "move it away")
			assert.Lacks(t, said, "\n")
			assert.Same(t, 0, len(lookedIn(t, dir)))
		})
	}
}

func lookedIn(t *testing.T, dir string) model.LookedByQueue {
	t.Helper()
	all, err := newLooks(t, dir).Looked(t.Context(), "shop")
	assert.That(t, err != nil, "reading it worked")
	return all
}

// All programs know how the broker ended a look, also from a file of an earlier version, until the queue was read or is
// empty.
func TestLooksThatEnded(t *testing.T) {
	dir := t.TempDir()
	l := newLooks(t, dir)
	want := func(times, before int64) {
		t.Helper()
		var of model.Looked
		err := newLooks(t, dir).Change(t.Context(), "shop", looked, func(l *model.Looked) { of = *l })
		all, e := newLooks(t, dir).Looked(t.Context(), "shop")
		diff := cmp.Diff(of, all[looked])
		must.Do(t, err)
		must.Do(t, e)
		assert.NoDiff(t, diff, "%v %v %v", err, e, diff)
		assert.Equal(t, of.Ended.Times, times, "%+v, want %d times, %d before", of, times, before)
		assert.Equal(t, of.Ended.Before, before)
		assert.Equal(t, of.Ended.Any(), times > 0)
	}

	end := func(e peek.LookEnd) { endLook(t, l, e) }
	must.Do(t, l.Change(t.Context(), "shop", looked, func(of *model.Looked) { of.Limit = 20 }))
	must.Do(t, l.Close()) // and now it is a file of an earlier version
	db := must.Get(sql.Open("sqlite", filepath.Join(dir, "looks.db")))(t)
	must.Get(db.Exec(`DROP TABLE ended; PRAGMA user_version = 1`))(t)
	must.Do(t, db.Close())
	l = newLooks(t, dir)
	want(0, 0)
	ended := peek.LookEnd{Uncounted: true, Ended: model.Ended{By: model.EndedByBroker, Before: 6}}
	end(ended)
	want(1, 6)
	end(peek.LookEnd{Uncounted: true, Moved: 4})

	want(1, 2)
	end(ended)
	want(2, 6)
	wantHighest(t, dir, 2) // each was a return
	end(peek.LookEnd{Uncounted: true, Complete: true})
	want(0, 0)
	end(ended)
	forget(t, l)
	want(0, 0)
	ended.Ended.By = model.EndedByCut
	end(ended)
	want(1, 6)
	end(peek.LookEnd{Uncounted: true}) // the connection was the cause
	want(0, 0)
}

func undoOf(id int64) plan.Record {
	r := record(plan.Undo)
	r.Undoes = id
	return r
}

// restored returns an undo's intentions to bring back the entries at these positions.
func restored(positions ...int) []plan.Entry {
	entries := dropped(positions...)
	for e := range model.Each(entries) {
		e.Message, e.Undoes, e.Sent = nil, e.Position, &plan.Sent{Fingerprint: message.Fingerprint{byte(e.Position)}}
	}

	return entries
}

// ended returns a journal with an ended drop of six messages, and its path.
func ended(t *testing.T) (path string, id int64) {
	t.Helper()
	path = at(t)
	j := open(t, journal.Options{Path: path})
	id = begin(t, j, record(plan.Drop))
	check(t, j.Write(id, dropped(1, 2, 3, 4, 5, 6), settled(plan.Dropped, 1, 2, 3, 4, 5, 6)),
		j.Finish(id, nil, plan.Account{Planned: 6, Dropped: 6}))
	return path, id
}

// wantClaimed wants a claim to be refused because of another undo.
func wantClaimed(t *testing.T, err error, by int64, state plan.ClaimState) {
	t.Helper()
	var claimed *plan.ClaimedError
	must.That(t, errors.As(err, &claimed), "%v instead of %s by %d", err, state, by)
	assert.Equal(t, claimed.By, by)
	assert.Equal(t, claimed.State, state)
}

// What one undo has claimed is not granted to another until it has ended; what it left uncertain only to one that has
// looked for it.
func TestWhatOneUndoHasIsGivenToNoOther(t *testing.T) {
	path, id := ended(t)
	first := open(t, journal.Options{Path: path})
	second := open(t, journal.Options{Path: path})
	claim := func(j *journal.Journal, known []int64, positions ...int) (int64, []int, error) {
		return j.Claim(t.Context(), undoOf(id), plan.Claim{Positions: positions, Known: known})
	}
	one, granted, err := claim(first, nil, 1, 2, 3, 4)
	check(t, err)
	assert.Same(t, []int{1, 2, 3, 4}, granted)
	_, _, err = claim(second, nil, 1, 2, 3)
	wantClaimed(t, err, one, plan.ClaimRunning)
	records, _ := second.Records(t.Context(), 0)
	assert.That(t, len(records) == 2, "a claim that got nothing has begun: %+v", records)
	two, granted, err := claim(second, nil, 4, 5)
	check(t, err)
	assert.List(t, granted, []int{5}, "granted")
	check(t, second.Finish(two, nil, plan.Account{}))

	// The first ends in the middle: 1 came back, 2 was refused, 3 is uncertain, 4 was not begun.
	check(t, first.Write(one, restored(1, 2, 3), append(settled(plan.Moved, 1), settled(plan.Refused, 2)...)),
		first.Close())
	got := read(t, second, id)
	assert.That(t, got[0].Undone, "%+v", got)
	assert.Equal(t, len(got[1].Undoing), 0)
	must.Equal(t, len(got[2].Undoing), 1)
	assert.Equal(t, got[2].Undoing[0], plan.Attempt{By: one, Sent: message.Fingerprint{3}})
	assert.That(t, got[3].Claimed <= 0, "%+v", got)
	_, _, err = claim(second, nil, 3)
	wantClaimed(t, err, one, plan.ClaimUncertain)
	_, _, err = claim(second, nil, 1)
	wantClaimed(t, err, one, plan.ClaimDone)
	_, granted, err = claim(second, []int64{one}, 1, 2, 3, 4, 5, 6)
	must.Do(t, err)
	assert.Same(t, []int{2, 3, 4, 5, 6}, granted)
}

// Of many claims of the same positions, each position goes to one.
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
	assert.Same(t, map[int]int{1: 1, 2: 1, 3: 1, 4: 1, 5: 1, 6: 1}, given)
}

// Any bodies and headers survive byte for byte, also headers with the names of what is written beside a body.
func TestWholeMessages(t *testing.T) {
	bodies := []string{
		"", `{"a":"\"b\"\\ \/"}`, `"body":"","body_encoding":"utf-8","body_bytes":0`, "é 世 🎉 \u2028\u202e\u200b",
		"\x00\x1b\x7f\t\r\n", "\xff\xfe", "<&>", strings.Repeat(`x"`, 40_000),
	}

	odd := model.Table{
		"body": "", "body_bytes": int64(0), "body_encoding": "utf-8",
		"nested": model.Table{"body": "", "body_bytes": int64(0), "body_encoding": "utf-8"},
		"text":   `"body":"","body_encoding":"utf-8","body_bytes":`,
	}

	var entries []plan.Entry
	for i, body := range bodies {
		m := &message.Message{Position: i + 1, RoutingKey: "k", Headers: odd, Body: []byte(body), BodyBytes: len(body)}
		m.Fingerprint = message.FingerprintOf(m)
		entries = append(entries, plan.NewEntry(m, nil, true))
	}

	j := open(t, journal.Options{Path: at(t)})
	id := begin(t, j, record(plan.Drop))
	check(t, j.Write(id, entries, nil))
	got := read(t, j, id)
	must.Equal(t, len(got), len(bodies), "entries")
	for i, e := range got {
		assert.Equal(t, string(e.Message.Body), bodies[i], "%q became %q", bodies[i], e.Message.Body)
		assert.Equal(t, message.FingerprintOf(e.Message), entries[i].Fingerprint, "%v", bodies[i])
		assert.Same(t, odd, e.Message.Headers, "headers of %q", bodies[i])
	}
}

// Each entry is found by its position, in any order, and for a damaged or missing one the error names the record.
func TestFindAgreesWithEntries(t *testing.T) {
	j := open(t, journal.Options{Path: at(t)})
	id := begin(t, j, record(plan.Drop))
	for first := 1; first < 1000; first += 10 {
		check(t, j.Write(id, dropped(first, first+1, first+7), nil))
	}

	check(t, j.Damage(t.Context(), 511))
	find, err := j.Find(t.Context(), id)
	check(t, err)
	var all []plan.Entry
	check(t, j.Entries(t.Context(), id, func(e *plan.Entry) error {
		all = append(all, *e)
		return nil
	}))

	rand.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })

	damaged := 0
	for _, want := range all {
		got, err := find(want.Position)
		switch {
		case want.Damaged != "":
			damaged++
			assert.That(t, err != nil, "a damaged entry is found: %+v", got)
		case err != nil || !reflect.DeepEqual(got, want):
			t.Fatalf("%+v %v, and Entries has %+v", got, err, want)
		}
	}

	_, err = find(5)
	assert.Fails(t, err, "journal show 1")
	assert.Equal(t, len(all), 300, "%d entries, %d damaged", len(all), damaged)
	assert.Equal(t, damaged, 1)
}
