package journal_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
)

var looked = model.QueueRef{VHost: "/", Name: "orders.failed"}

func newLooks(t *testing.T, dir string) *journal.Looks {
	t.Helper()
	l := journal.NewLooks(filepath.Join(dir, "journal.db"))
	t.Cleanup(func() { l.Close() })
	return l
}

// wantHighest wants a count for the queue in a cluster, as another program reads it.
func wantHighest(t *testing.T, dir string, want int64) {
	t.Helper()
	all, err := newLooks(t, dir).Looked(t.Context(), "shop")
	assert.That(t, err == nil && all[looked].Highest == want, "%v %v, want %d", err, all, want)
}

// TestLooks: a look counts from its beginning on, so that one which ends with its program counts, too; what it found
// then corrects that.
func TestLooks(t *testing.T) {
	dir := t.TempDir()
	l := newLooks(t, dir)
	begin := func(most, before int64, begun bool) {
		t.Helper()
		got, ok, err := l.Begin(t.Context(), "shop", looked, 20, most)
		assert.That(t, err == nil && got == before && ok == begun, "%d %v %v, want %d %v", got, ok, err, before, begun)
	}
	end := func(e peek.LookEnd, want int64) {
		t.Helper()
		after, err := l.End("shop", looked, e)
		assert.That(t, err == nil && after == want, "%+v: %d %v, want %d", e, after, err, want)
		wantHighest(t, dir, want)
	}
	if all, err := l.Looked(t.Context(), "shop"); err != nil || len(all) > 0 {
		t.Error(all, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "looks.db")); !os.IsNotExist(err) {
		t.Error("reading made the file")
	}
	begin(17, 0, true)
	wantHighest(t, dir, 1) // killed here, it counts
	begin(17, 1, true)
	end(peek.LookEnd{Highest: 9}, 9) // some had been delivered more often
	begin(17, 9, true)
	end(peek.LookEnd{}, 9) // none went back
	begin(17, 9, true)
	end(peek.LookEnd{Highest: 3, Complete: true}, 3) // all of it was seen
	begin(17, 3, true)
	end(peek.LookEnd{Highest: 18}, 18)
	begin(17, 18, false)
	wantHighest(t, dir, 18)
	if all, err := l.Looked(t.Context(), "another"); err != nil || len(all) > 0 {
		t.Error(all, err)
	}
	assert.Succeeds(t, l.Forget(t.Context(), "shop", looked))
	wantHighest(t, dir, 0)
	info, err := os.Stat(filepath.Join(dir, "looks.db"))
	assert.That(t, err == nil && info.Mode().Perm() == 0o600, "%v %v", info, err)
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
				_, ok, err := l.Begin(t.Context(), "shop", looked, 20, most)
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

// TestLooksThatCannotBeKept: one sentence says which file, and what follows.
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
			_, begun, err := newLooks(t, dir).Begin(t.Context(), "shop", looked, 20, 17)
			must.That(t, err != nil && !begun, "%v %v", err, begun)
			said := err.Error()
			assert.That(t, strings.HasPrefix(said, path+" ") && strings.Contains(said, "move it away") &&
				!strings.Contains(said, "\n"), "%v %v", begun, err)
			assert.NoDiff(t, cmp.Diff(0, len(lookedIn(t, dir))))
		})
	}
}

func lookedIn(t *testing.T, dir string) map[model.QueueRef]model.Looked {
	t.Helper()
	all, err := newLooks(t, dir).Looked(t.Context(), "shop")
	assert.That(t, err != nil, "reading it worked")
	return all
}

// TestLooksThatEnded: how the broker ended a look is known to all programs, also in a file of an earlier version, until
// the queue was read or is empty.
func TestLooksThatEnded(t *testing.T) {
	dir := t.TempDir()
	l := newLooks(t, dir)
	want := func(times, before int64) {
		t.Helper()
		of, err := newLooks(t, dir).LookedAt(t.Context(), "shop", looked)
		all, e := newLooks(t, dir).Looked(t.Context(), "shop")
		diff := cmp.Diff(of, all[looked])
		assert.That(t, err == nil && e == nil && diff == "", "%v %v %v", err, e, diff)
		assert.That(t, of.Ended.Times == times && of.Ended.Before == before && of.Ended.Any() == (times > 0),
			"%+v, want %d times, %d before", of, times, before)
	}
	end := func(e peek.LookEnd) {
		t.Helper()
		if _, err := l.End("shop", looked, e); err != nil {
			t.Error(err)
		}
	}
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
	assert.Succeeds(t, l.Forget(t.Context(), "shop", looked))
	want(0, 0)
	ended.Ended.By = model.EndedByCut
	end(ended)
	want(1, 6)
	end(peek.LookEnd{Uncounted: true}) // it was the line
	want(0, 0)
}
