package preferences

import (
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// The files beside the journal with the states of causes, and with what watches have told.
const (
	CausesName = "causes.json"
	AlarmsName = "alarms.json"
)

// damagedEnd is appended to the name of a damaged file that was set aside.
const damagedEnd = ".damaged"

// Change reads the file, and writes what how makes of it, while excluding every other dlxtop. If how finds it damaged
// and returns an error, the file is set aside under the returned name, and how is called again with nothing.
func (f File) Change(how func(text []byte) ([]byte, error)) (aside string, err error) {
	if f.Path == "" {
		return "", errNowhere
	}
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
		return "", err
	}
	lock := flock.New(f.Path + ".lock") // the system releases it when the process ends in any way
	if err := lock.Lock(); err != nil {
		return "", err
	}
	defer lock.Close()
	text, err := f.Load()
	var changed []byte
	if err == nil {
		changed, err = how(text)
	}

	if err != nil {
		if info, e := os.Lstat(f.Path); e != nil || !info.Mode().IsRegular() {
			return "", err
		}
		if e := os.Rename(f.Path, f.Path+damagedEnd); e != nil {
			return "", err
		}
		aside = f.Path + damagedEnd
		if changed, err = how(nil); err != nil {
			return aside, err
		}
	}

	return aside, f.Save(changed)
}
