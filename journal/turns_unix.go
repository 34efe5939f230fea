//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// turnsDir does not follow TMPDIR: programs of different users must meet there.
const turnsDir = "/tmp/dlxtop-turns"

const (
	// everybody may create files in the directory, and remove only their own.
	everybody = 0o777 | fs.ModeSticky
	// anyone may take a turn, whoever took it first.
	anyone = 0o666
	// mostHolder bounds what is read about a holder: others may have written it.
	mostHolder = 1 << 10
	// removals is how often a lock may vanish between opening and taking it: its last holder removes its file.
	removals = 100
)

// Try takes the lock of this name if it is free. Otherwise unlock is nil, and by is who has it.
func (t *Turns) Try(name string) (unlock func(), by model.Holder, err error) {
	if err := t.place(); err != nil {
		return nil, by, t.explain(err)
	}
	path := filepath.Join(t.dir, t.file(name))
	for range removals {
		file, err := t.open(path)
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed at this moment
			continue
		case err != nil:
			return nil, by, t.explain(err)
		}

		if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
			by = holderIn(file)
			return nil, by, file.Close()
		}

		if !isAt(file, path) {
			_ = file.Close()
			continue
		}

		t.sign(file)
		return func() {
			_ = os.Remove(path) // fails for a file of another user: the lock is free nevertheless
			_ = file.Close()
		}, by, nil
	}

	return nil, by, nil
}

// Taken reports whether a program has the lock of this name. Asking does not look like having it.
func (t *Turns) Taken(name string) (bool, error) {
	file, err := openLock(filepath.Join(t.dir, t.file(name)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, t.explain(err)
	}

	defer file.Close()
	return syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil, nil
}

// place creates the directory if needed, and refuses one in which users could remove the locks of others.
func (t *Turns) place() error {
	info, err := os.Lstat(t.dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := t.create(); err != nil {
			return err
		}
		info, err = os.Lstat(t.dir)
	}

	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is no directory: remove it", t.dir)
	case info.Mode()&everybody != everybody:
		return fmt.Errorf("%s has to be writable by everybody and sticky: chmod 1777 it, or remove it", t.dir)
	}

	return nil
}

// create creates the directory under another name first: it appears with its mode.
func (t *Turns) create() error {
	temporary, err := os.MkdirTemp(filepath.Dir(t.dir), filepath.Base(t.dir)+"-")
	if err != nil {
		return err
	}
	if err := os.Chmod(temporary, everybody); err != nil {
		return err
	}
	if os.Rename(temporary, t.dir) != nil { // a faster program has created it
		_ = os.Remove(temporary)
	}

	return nil
}

// open opens the file of a lock, and creates it if needed: under another name first, so that it appears with its mode.
func (t *Turns) open(path string) (*os.File, error) {
	file, err := openLock(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return file, err
	}
	temporary, err := os.CreateTemp(t.dir, "new-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(temporary.Name())
	err = errors.Join(temporary.Chmod(anyone), temporary.Close())
	if err != nil {
		return nil, err
	}
	if err := os.Link(temporary.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	_ = os.Remove(temporary.Name()) // now: a file with two names is not signed
	return openLock(path)
}

// openLock opens a file that exists. It neither follows a link nor waits for a pipe, which another user may have put
// there. It does not ask to create the file: Linux refuses that for files of others (fs.protected_regular).
func openLock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = file.Close()
		return nil, fmt.Errorf("%s is no file: remove it", path)
	}

	return file, nil
}

// isAt reports whether the file still has this name.
func isAt(file *os.File, path string) bool {
	mine, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(mine, there)
}

// sign writes who has the lock into its file. One with a second name may be any file of this user, to which another
// user has made a link: it is not written.
func (t *Turns) sign(file *os.File) {
	info, err := file.Stat()
	if err != nil || info.Sys().(*syscall.Stat_t).Nlink != 1 {
		return
	}
	me := t.me
	me.Since = time.Now()
	text, _ := json.Marshal(me) // texts and numbers
	if file.Truncate(0) == nil {
		_, _ = file.WriteAt(text, 0)
	}
}

// holderIn returns who has signed a lock, as far as it can be read.
func holderIn(file *os.File) (by model.Holder) {
	text, _ := io.ReadAll(io.LimitReader(file, mostHolder))
	if json.Unmarshal(text, &by) != nil {
		return model.Holder{}
	}
	return by
}
