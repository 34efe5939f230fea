package preferences_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/preferences"
)

func newIndex(t *testing.T) preferences.CauseIndex {
	return preferences.CauseIndex{Dir: filepath.Join(t.TempDir(), "dlxtop", preferences.CauseIndexDir)}
}

func (x indexed) check(name, want string) {
	x.t.Helper()
	text, err := x.Load(name)
	must.Do(x.t, err)
	assert.Equal(x.t, string(text), want, "%s has %d bytes, want %d: %v", name, len(text), len(want), err)
}

type indexed struct {
	preferences.CauseIndex
	t *testing.T
}

// checkMode checks who may read and write a file or directory.
func checkMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	info := must.Get(os.Stat(path))(t)
	assert.That(t, runtime.GOOS == "windows" || info.Mode().Perm() == want, "the mode of %s is %v", path, info.Mode())
}

func TestIndex(t *testing.T) {
	x := indexed{newIndex(t), t}
	x.check("one", "")
	for _, name := range []string{"one", "two", "one"} {
		must.Do(t, x.Save(name, []byte(name+" text")))
	}

	x.check("one", "one text")
	x.check("two", "two text")
	checkMode(t, x.Dir, 0o700)
	checkMode(t, filepath.Join(x.Dir, "one"), 0o600)
	for range 2 {
		must.Do(t, x.Save("one", nil))
		x.check("one", "")
	}

	must.Do(t, x.Save("two", make([]byte, 9<<20))) // more than one file may have
	x.check("two", "")
	files, err := os.ReadDir(x.Dir)
	must.Do(t, err)
	assert.Equal(t, len(files), 0, "there are %d files: %v", len(files), err)
}

// A directory that others could read is closed to them.
func TestIndexIsClosed(t *testing.T) {
	x := newIndex(t)
	must.Do(t, os.MkdirAll(x.Dir, 0o755))
	must.Do(t, x.Save("one", []byte("text")))
	checkMode(t, x.Dir, 0o700)
}

// The oldest files are removed when they are too large in total, and so are those of last month.
func TestIndexIsBounded(t *testing.T) {
	x := indexed{newIndex(t), t}
	text := bytes.Repeat([]byte("x"), 7<<20)
	now := time.Now()
	save := func(name string, text []byte, age time.Duration) {
		t.Helper()
		must.Do(t, x.Save(name, text))
		must.Do(t, os.Chtimes(filepath.Join(x.Dir, name), now, now.Add(-age)))
	}

	save("month", []byte("small"), 31*24*time.Hour)
	save("week", text, 7*24*time.Hour)
	x.check("month", "")

	for i := range 4 {
		save(fmt.Sprint("hours", i), text, time.Duration(10-i)*time.Hour)
	}

	x.check("week", "")
	x.check("hours0", string(text))
	save("hours0", text, time.Hour) // it is rewritten: its old text does not count
	save("small", []byte("small"), 0)
	x.check("hours1", string(text))
	unfinished := filepath.Join(x.Dir, "new-1.json")
	must.Do(t, os.WriteFile(unfinished, []byte("half"), 0o600))
	save("hours4", text, 0)
	x.check("hours1", "")
	x.check("hours2", string(text))
	_, err := os.Stat(unfinished)
	assert.That(t, err == nil, "what another one writes was removed: %v", err)
	must.Do(t, os.Chtimes(unfinished, now, now.Add(-2*time.Hour)))
	save("small", []byte("small"), 0)
	_, err = os.Stat(unfinished)
	assert.That(t, err != nil, "what was never finished is still there")
}

// If nothing can be written, or no directory is known, nothing is.
func TestIndexNowhere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(file, nil, 0o600))
	for _, x := range []preferences.CauseIndex{{}, {Dir: filepath.Join(file, preferences.CauseIndexDir)}} {
		assert.That(t, x.Save("one", []byte("text")) != nil, "%q was written", x.Dir)
		text, _ := x.Load("one")
		assert.That(t, text == nil, "%q has %q", x.Dir, text)
	}
}

// Two write the same file at once: readers find one of their texts, whole.
func TestIndexOfTwo(t *testing.T) {
	x := newIndex(t)
	texts := [][]byte{bytes.Repeat([]byte("a"), 1<<16), bytes.Repeat([]byte("b"), 1<<15)}
	must.Do(t, x.Save("one", texts[0]))
	var all sync.WaitGroup
	for _, text := range texts {
		all.Go(func() {
			for range 50 {
				assert.Succeeds(t, x.Save("one", text))
				got, err := x.Load("one")
				assert.Succeeds(t, err)
				assert.That(t, bytes.Equal(got, texts[0]) || bytes.Equal(got, texts[1]), "it has %d bytes", len(got))
			}
		})
	}

	all.Wait()
}

func TestFile(t *testing.T) {
	f := preferences.File{Path: filepath.Join(t.TempDir(), "state", "dlxtop", preferences.ScreensName)}
	if text, err := f.Load(); text != nil || err != nil {
		t.Errorf("without a file it has %q: %v", text, err)
	}

	for _, want := range []string{`{"commands":["flows"]}`, "{}"} {
		must.Do(t, f.Save([]byte(want)))
		text, err := f.Load()
		must.That(t, err == nil, "it has %q, want %q: %v", text, want, err)
		assert.Equal(t, string(text), want)
	}

	checkMode(t, f.Path, 0o600)
	files, err := os.ReadDir(filepath.Dir(f.Path))
	must.Do(t, err)
	assert.Equal(t, len(files), 1, "there are %d files beside it: %v", len(files), err)
}

func TestFileThatIsNone(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large")
	must.Do(t, os.WriteFile(large, bytes.Repeat([]byte("x"), 9<<20), 0o600))
	for _, path := range []string{dir, large} {
		text, err := (preferences.File{Path: path}).Load()
		assert.That(t, err != nil, "%s has %d bytes", path, len(text))
	}

	for _, path := range []string{"", filepath.Join(large, "dlxtop", preferences.ScreensName), dir} {
		assert.That(t, (preferences.File{Path: path}).Save([]byte("{}")) != nil, "%q was written", path)
	}

	files, err := os.ReadDir(filepath.Dir(dir))
	must.Do(t, err)
	assert.Equal(t, len(files), 1, "%d files are left: %v", len(files), err)
}

// Two changes at the same time are both kept.
func TestChangesAtTheSameTimeAreAllKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dlxtop", preferences.CausesName)
	const each, writers = 25, 4
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for range each {
				_, err := preferences.File{Path: path}.Change(func(text []byte) ([]byte, error) {
					n, _ := strconv.Atoi(string(text))
					return []byte(strconv.Itoa(n + 1)), nil
				})
				assert.Succeeds(t, err)
			}
		})
	}

	all.Wait()
	text, err := (preferences.File{Path: path}).Load()
	must.Do(t, err)
	assert.Equal(t, string(text), strconv.Itoa(each*writers), "it has %q: %v", text, err)
}

// A damaged file is set aside, whole, and a new one is begun.
func TestChangeSetsAside(t *testing.T) {
	dir := t.TempDir()
	f := preferences.File{Path: filepath.Join(dir, preferences.CausesName)}
	must.Do(t, f.Save([]byte("damaged")))
	aside, err := f.Change(func(text []byte) ([]byte, error) {
		if len(text) > 0 {
			return nil, errors.New("it is damaged")
		}
		return []byte("begun"), nil
	})

	must.Do(t, err)
	must.That(t, aside != "", "it is at %q: %v", aside, err)

	for path, want := range map[string]string{f.Path: "begun", aside: "damaged"} {
		text, err := os.ReadFile(path)
		must.That(t, err == nil, "%s has %q: %v", path, text, err)
		assert.Equal(t, string(text), want, "%v", path)
	}

	_, err = (preferences.File{Path: dir}).Change(func([]byte) ([]byte, error) { return nil, nil })
	assert.That(t, err != nil, "a directory was changed")
}
