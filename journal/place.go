package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/dlxtop/dlxtop/model"
)

// File is the name of the journal in its directory.
const File = "journal.db"

// Path returns the path of the journal: dlxtop/journal.db in $XDG_STATE_HOME, or in $HOME/.local/state when that is not
// set. A relative path counts as not set, as in the XDG Base Directory Specification; when neither names a directory it
// is "", and the journal refuses.
func Path(env func(string) string) string {
	dir := env("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		home := env("HOME")
		if !filepath.IsAbs(home) {
			return ""
		}
		dir = filepath.Join(home, ".local", "state")
	}

	return filepath.Join(dir, "dlxtop", File)
}

// errNowhere means that there is no known directory for the journal.
var errNowhere = errors.New("no directory")

// openToOthers means that others may have written a file or directory of the journal.
type openToOthers struct {
	path  string
	mode  fs.FileMode // 0 when it belongs to another user
	owner int         // that user's number
}

// Error implements error.
func (e *openToOthers) Error() string { return e.advice("") }

// advice say what to do about it, after the path of the journal.
func (e *openToOthers) advice(journal string) string {
	who := ""
	switch e.path {
	case journal:
	case filepath.Dir(journal):
		who = "cannot be trusted: its directory "
	default:
		who = "cannot be trusted: " + model.Printable(filepath.Base(e.path)) + " beside it "
	}

	if e.mode == 0 {
		return fmt.Sprintf("%sbelongs to another user (uid %d): run dlxtop as that user, or name another directory with "+
			"XDG_STATE_HOME", who, e.owner)
	}

	return fmt.Sprintf("%scan be written by other users (mode %04o): chmod 600 it if no one else changed it, "+
		"otherwise move it away",
		who, e.mode)
}

// errEmpty is a file of zero bytes: its content was lost.
var errEmpty = errors.New("empty")

// place creates the journal's directory and file if needed, and refuses ones that others may have written: an undo
// publishes what they contain. Others lose the right to read them.
func place(ctx context.Context, path string) error {
	if path == "" {
		return errNowhere
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := private(dir); err != nil {
		return err
	}
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		if err := create(ctx, dir, path); err != nil {
			return err
		}
	case err != nil:
		return err
	case info.IsDir():
		return syscall.EISDIR
	case info.Mode().IsRegular() && info.Size() == 0:
		return errEmpty
	}

	// SQLite gives the files beside this one the same mode.
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if err := private(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}

	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}

	return file.Close()
}

// private removes others' access to a file or directory of the journal. A file that they may have written is refused; a
// directory is not, as its files are checked one by one.
func private(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if owner, others := foreign(info); others {
		return &openToOthers{path: path, owner: owner}
	}
	mode := info.Mode().Perm()
	switch {
	case !modes || mode&0o077 == 0:
		return nil
	case mode&0o022 != 0 && !info.IsDir():
		return &openToOthers{path: path, mode: mode}
	}

	return os.Chmod(path, mode&^0o077)
}

// create creates a new journal under another name first: a program that comes in between, or after a kill, finds none
// or a whole one.
func create(ctx context.Context, dir, path string) (err error) {
	file, err := os.CreateTemp(dir, "new-*.db") // 0600
	if err != nil {
		return err
	}
	defer func() {
		for _, end := range []string{"", "-wal", "-shm"} {
			_ = os.Remove(file.Name() + end)
		}
	}()

	if err := file.Close(); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", source(file.Name(), journalPragmas("full")))
	if err != nil {
		return err
	}
	if err := errors.Join(journalSchema.prepare(ctx, db), db.Close()); err != nil {
		return err
	}

	// Link, unlike Rename, does not overwrite the journal of a faster program.
	err = os.Link(file.Name(), path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}

	return os.Rename(file.Name(), path) // a file system without links
}
