//go:build unix

package journal_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/model/plan"
)

// An undo publishes what is in the journal, so only this user may have written it.
func TestOthersMayHaveWrittenIt(t *testing.T) {
	for _, test := range []struct {
		name    string
		of      string // after the path
		mode    os.FileMode
		refused []string // nil: access is tightened
	}{
		{"all may write it", "", 0o666, []string{"can be written by other users (mode 0666)", "chmod 600"}},
		{"its group may write it", "", 0o620, []string{"mode 0620"}},
		{"all may write its WAL", "-wal", 0o666, []string{"journal.db-wal", "cannot be trusted"}},
		{"its group may write its index", "-shm", 0o660, []string{"journal.db-shm"}},
		{"all may read it", "", 0o644, nil},
		{"all may write its directory", "/..", 0o777, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := made(t)
			other := open(t, journal.Options{Path: path}) // keeps the files beside it
			check(t, other.Check(t.Context()), os.Chmod(filepath.Clean(path+test.of), test.mode))
			j := open(t, journal.Options{Path: path})
			err := j.Check(t.Context())
			if test.refused != nil {
				wantError(t, err, path, test.refused...)
				return
			}

			must.Do(t, err)
			for _, name := range []string{path, path + "-wal", path + "-shm", filepath.Dir(path)} {
				info := must.Get(os.Stat(name))(t)
				assert.That(t, info.Mode()&0o077 == 0, "%s has the mode %v", name, info.Mode())
			}
		})
	}
}

// Only root can give a file away, and root is refused others' files like everyone. Without root the test uses a file of
// the system.
func TestOfAnotherUser(t *testing.T) {
	path := made(t)
	refused := func(words ...string) {
		t.Helper()
		wantError(t, open(t, journal.Options{Path: path}).Check(t.Context()), path, words...)
	}

	if os.Geteuid() != 0 {
		check(t, os.Remove(path), os.Symlink("/etc/passwd", path))
		refused("belongs to another user", "XDG_STATE_HOME")
		return
	}

	check(t, os.Chown(path, 65534, 65534))
	refused("belongs to another user", "XDG_STATE_HOME")
	check(t, os.Chown(path, 0, 0), os.Chown(filepath.Dir(path), 65534, 65534))
	refused("its directory belongs to another user (uid 65534)")
}

// A new journal gets its name only when it is whole, and nothing else is left.
func TestMakesNoHalfJournal(t *testing.T) {
	path := at(t)
	j := open(t, journal.Options{Path: path})
	before := syscall.Umask(0)
	defer syscall.Umask(before)
	check(t, j.Check(t.Context()), j.Close())

	files := must.Get(os.ReadDir(filepath.Dir(path)))(t)
	for _, file := range files {
		info, err := file.Info()
		must.Do(t, err)
		assert.Equal(t, info.Mode().Perm(), 0o600, "%v %v", info, err)
		assert.That(t, strings.HasPrefix(file.Name(), journal.File), "%v %v", info, err)
	}
}

func TestJournalWithoutAPlaceIsRefused(t *testing.T) {
	j := open(t, journal.Options{})
	for _, err := range []error{
		j.Check(t.Context()), func() error { _, err := j.Records(t.Context(), 1); return err }(),
		func() error { _, err := j.Begin(t.Context(), record(plan.Drop)); return err }(),
	} {
		wantError(t, err, "XDG_STATE_HOME", "has no place", "HOME is not set")
	}
}
