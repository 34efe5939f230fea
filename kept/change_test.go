package kept_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/kept"
)

// Two that change the file at the same time both change it.
func TestChangesAtTheSameTimeAreAllKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dlxtop", kept.CausesName)
	const each, writers = 25, 4
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for range each {
				_, err := kept.File{Path: path}.Change(func(text []byte) ([]byte, error) {
					n, _ := strconv.Atoi(string(text))
					return []byte(strconv.Itoa(n + 1)), nil
				})
				assert.Succeeds(t, err)
			}
		})
	}
	all.Wait()
	if text, err := (kept.File{Path: path}).Load(); string(text) != strconv.Itoa(each*writers) || err != nil {
		t.Errorf("it has %q: %v", text, err)
	}
}

// A damaged file is set aside, whole, and another one is begun.
func TestChangeSetsAside(t *testing.T) {
	dir := t.TempDir()
	f := kept.File{Path: filepath.Join(dir, kept.CausesName)}
	must.Do(t, f.Save([]byte("damaged")))
	aside, err := f.Change(func(text []byte) ([]byte, error) {
		if len(text) > 0 {
			return nil, errors.New("it is damaged")
		}
		return []byte("begun"), nil
	})
	must.That(t, err == nil && aside != "", "it is at %q: %v", aside, err)
	for path, want := range map[string]string{f.Path: "begun", aside: "damaged"} {
		if text, err := os.ReadFile(path); string(text) != want || err != nil {
			t.Errorf("%s has %q: %v", path, text, err)
		}
	}
	if _, err := (kept.File{Path: dir}).Change(func([]byte) ([]byte, error) { return nil, nil }); err == nil {
		t.Error("a directory was changed")
	}
}
