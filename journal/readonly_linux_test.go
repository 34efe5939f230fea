package journal_test

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/model/plan"
)

// If the journal's directory, or its file, is read-only, nothing is done.
func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "no", "such", "journal.db")
	check(t, os.Chmod(dir, 0o555))
	asNobody(t)
	j := open(t, journal.Options{Path: path})
	_, err := j.Begin(t.Context(), record(plan.Drop))
	wantError(t, err, path, "cannot be written", "XDG_STATE_HOME")
	wantError(t, j.Check(t.Context()), path, "cannot be written", "XDG_STATE_HOME")
}

func TestReadOnlyFile(t *testing.T) {
	path := made(t)
	check(t, os.Chmod(path, 0o444), os.Chmod(filepath.Dir(path), 0o555), os.Chmod(filepath.Dir(filepath.Dir(path)), 0o755))
	t.Cleanup(func() { _ = os.Chmod(filepath.Dir(path), 0o755) }) // so that it can be removed
	asNobody(t)
	_, err := open(t, journal.Options{Path: path}).Begin(t.Context(), record(plan.Drop))
	wantError(t, err, path, "cannot be written", "XDG_STATE_HOME")
}

// asNobody takes away root's right to write everywhere, in this test's thread.
func asNobody(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	runtime.LockOSThread() // for the rest of the test; the thread ends with it
	must.Do(t, syscall.Setfsuid(65534))
	t.Cleanup(func() { _ = syscall.Setfsuid(0) })
}
