package kept

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// IndexDir is the directory, in the user's cache, of what was read of failed queues.
const IndexDir = "causes"

const (
	mostIndexBytes = 32 << 20            // in all: the oldest files are removed first
	mostIndexAge   = 30 * 24 * time.Hour // of a file
	mostUnfinished = time.Hour           // how long a file that another dlxtop is writing is left alone
)

// Index is a directory of files that can be recreated, one for each name. If two dlxtop write the same one, the later
// one wins; readers find one of them, whole. "" is nowhere.
type Index struct{ Dir string }

// Load reads what is kept under a name. It returns nil when there is nothing.
func (x Index) Load(name string) ([]byte, error) {
	if x.Dir == "" {
		return nil, nil
	}
	return x.file(name).Load()
}

// Save keeps a text under a name, readable only by this user; an empty text removes the entry. It also removes files
// that are too old, and the oldest when there are too many.
func (x Index) Save(name string, text []byte) error {
	if x.Dir == "" {
		return errNowhere
	}
	path := x.file(name).Path
	if len(text) == 0 || len(text) > mostBytes {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := x.own(); err != nil {
		return err
	}
	x.prune(name, mostIndexBytes-int64(len(text)), time.Now())
	return x.file(name).Save(text)
}

func (x Index) file(name string) File { return File{Path: filepath.Join(x.Dir, filepath.Base(name))} }

// own creates the directory, and closes it to others.
func (x Index) own() error {
	if err := os.MkdirAll(x.Dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(x.Dir)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = os.Chmod(x.Dir, 0o700)
	}
	return err
}

// prune removes files that are too old, and then the oldest ones until the rest is small enough. It ignores files that
// it cannot remove.
func (x Index) prune(but string, most int64, now time.Time) {
	entries, err := os.ReadDir(x.Dir)
	if err != nil {
		return
	}
	files := make([]fs.FileInfo, 0, len(entries))
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() && info.Name() != but {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	var sum int64
	for _, info := range files {
		sum += info.Size()
		age, unfinished := now.Sub(info.ModTime()), filepath.Ext(info.Name()) != ""
		if sum > most && !unfinished || age > mostIndexAge || unfinished && age > mostUnfinished {
			sum -= info.Size()
			_ = os.Remove(filepath.Join(x.Dir, info.Name()))
		}
	}
}
