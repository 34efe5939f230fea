package kept

import (
	"os"
	"path/filepath"
)

// CausesName is the name of the file that has the states of causes, beside the journal.
const CausesName = "causes.json"

// damagedEnd is what the name of a damaged file ends with, once it was set aside.
const damagedEnd = ".damaged"

// Change reads the file, and writes what how makes of it. No other dlxtop changes it meanwhile. When how finds it
// damaged, and returns an error, the file is set aside under the name that is returned, and how is asked again with
// nothing.
func (f File) Change(how func(text []byte) ([]byte, error)) (aside string, err error) {
	if f.Path == "" {
		return "", errNowhere
	}
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
		return "", err
	}
	held, err := lock(f.Path + ".lock")
	if err != nil {
		return "", err
	}
	defer held.Close()
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
