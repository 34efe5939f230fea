package preferences

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/dlxtop/dlxtop/internal/prune"
)

// CauseIndexDir is the directory, in the user's cache, of what was read of failed queues.
const CauseIndexDir = "causes"

const (
	mostIndexBytes = 32 << 20            // in all: the oldest files are removed first
	mostIndexAge   = 30 * 24 * time.Hour // of a file
)

// CauseIndex is a directory of files that can be made again, one for each name. If two dlxtop write the same one, the
// later one wins; readers find one of them, whole. "" is nowhere.
type CauseIndex struct{ Dir string }

// Load reads what is kept under a name. It returns nil when there is nothing.
func (x CauseIndex) Load(name string) ([]byte, error) {
	if x.Dir == "" {
		return nil, nil
	}
	return x.file(name).Load()
}

// Save keeps a text under a name, readable only by this user; an empty text removes the entry. It also removes files
// that are too old, and the oldest when there are too many.
func (x CauseIndex) Save(name string, text []byte) error {
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
	prune.Dir(x.Dir, name, mostIndexBytes-int64(len(text)), mostIndexAge)
	return x.file(name).Save(text)
}

func (x CauseIndex) file(name string) File {
	return File{Path: filepath.Join(x.Dir, filepath.Base(name))}
}

// own creates the directory, and closes it to others.
func (x CauseIndex) own() error {
	if err := os.MkdirAll(x.Dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(x.Dir)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = os.Chmod(x.Dir, 0o700)
	}

	return err
}
