package journal_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/model/plan"
)

// wantError wants one sentence that names the file and what to do.
func wantError(t *testing.T, err error, path string, words ...string) {
	t.Helper()
	must.That(t, errors.Is(err, plan.ErrJournal), "%v", err)
	for _, want := range append(words, path) {
		assert.That(t, strings.Contains(err.Error(), want), "%q is not in: %v", want, err)
	}
	assert.That(t, !strings.Contains(err.Error(), "\n") && len(err.Error()) <= 400, "that is no sentence: %v", err)
}

// made is a journal with one record in it, closed.
func made(t *testing.T) string {
	t.Helper()
	path := at(t)
	j := journal.New(journal.Options{Path: path})
	id := begin(t, j, record(plan.Drop))
	check(t, j.Write(id, dropped(1, 2, 3), nil), j.Finish(id, nil, plan.Account{}), j.Close())
	return path
}

func TestUnusableFiles(t *testing.T) {
	for _, test := range []struct {
		name   string
		damage func(t *testing.T, path string)
		words  []string
	}{
		{"no database", func(t *testing.T, path string) {
			check(t, os.WriteFile(path, []byte(strings.Repeat("this is a shopping list\n", 100)), 0o600))
		}, []string{"damaged", "move it away"}},
		{"damaged in the middle", func(t *testing.T, path string) {
			content, err := os.ReadFile(path)
			check(t, err)
			for i := 4096 / 2; i < len(content); i++ {
				content[i] = 0xa5
			}
			check(t, os.WriteFile(path, content, 0o600))
		}, []string{"damaged", "move it away"}},
		{"newer", func(t *testing.T, path string) {
			j := journal.New(journal.Options{Path: path})
			check(t, j.Pragma(t.Context(), "user_version = 1000"), j.Close())
		}, []string{"newer version of dlxtop"}},
		{"of another program", func(t *testing.T, path string) {
			j := journal.New(journal.Options{Path: path})
			check(t, j.Pragma(t.Context(), "application_id = 7"), j.Close())
		}, []string{"not a journal of dlxtop", "move the file away"}},
		{"empty", func(t *testing.T, path string) {
			check(t, os.Truncate(path, 0))
		}, []string{"is empty (0 bytes)", "remove it"}},
		{"a directory", func(t *testing.T, path string) {
			check(t, os.Remove(path), os.Mkdir(path, 0o700))
		}, []string{"in its way"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := made(t)
			test.damage(t, path)
			j := open(t, journal.Options{Path: path})
			_, err := j.Begin(t.Context(), record(plan.Drop))
			wantError(t, err, path, test.words...)
			wantError(t, j.Check(t.Context()), path, test.words...)
		})
	}
}

func TestUnusableDirectory(t *testing.T) {
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "state"), nil, 0o600))
	path := filepath.Join(dir, "state", "dlxtop", "journal.db")
	wantError(t, open(t, journal.Options{Path: path}).Check(t.Context()), path, "in its way", "XDG_STATE_HOME")

	path = "/proc/dlxtop/journal.db" // read-only for root, too
	err := open(t, journal.Options{Path: path}).Check(t.Context())
	assert.That(t, errors.Is(err, plan.ErrJournal), "%v", err)
}

// What does not fit is not there at all, and what was there before is.
func TestWhatDoesNotFitLeavesTheRecordAsItWas(t *testing.T) {
	path := made(t)
	j := open(t, journal.Options{Path: path})
	id := begin(t, j, record(plan.Drop))
	check(t, j.Pragma(t.Context(), "max_page_count = 40"))
	large := dropped(1, 2)
	large[1].Message.Body = make([]byte, 500_000)
	wantError(t, j.Write(id, large, nil), path, "the disk is full", "make room")
	check(t, j.Pragma(t.Context(), "max_page_count = 1000000"), j.Write(id, dropped(7), nil))
	got := read(t, j, id)
	assert.That(t, len(got) == 1 && got[0].Position == 7, "%+v", got)
	assert.Equal(t, len(read(t, j, 1)), 3, "entries are left of what was there before")
}
