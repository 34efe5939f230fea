package preferences

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ScreensName is the file of choices that people make on screens, beside the journal.
const ScreensName = "screens.json"

// mostBytes is larger than such a file ever is: a larger one is foreign.
const mostBytes = 8 << 20

// File is the file at a path; "" is nowhere.
type File struct{ Path string }

var errNowhere = errors.New("no directory for it is known: HOME and XDG_STATE_HOME name none")

// Load reads the file. It returns nil when there is none.
func (f File) Load() ([]byte, error) {
	if f.Path == "" {
		return nil, nil
	}
	switch info, err := os.Stat(f.Path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular(): // opening a pipe would wait for its writer
		return nil, fmt.Errorf("%s is not a file", f.Path)
	}

	file, err := os.Open(f.Path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, mostBytes+1))
	if err == nil && len(text) > mostBytes {
		return nil, fmt.Errorf("%s is larger than %d bytes", f.Path, mostBytes)
	}

	return text, err
}

// Save writes the file, readable only by its user. Readers at the same time, or after a kill, find the old or the new
// one.
func (f File) Save(text []byte) (err error) {
	if f.Path == "" {
		return errNowhere
	}
	dir := filepath.Dir(f.Path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, "new-*.json") // 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()

	_, err = file.Write(text)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}

	return os.Rename(file.Name(), f.Path)
}
