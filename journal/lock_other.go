//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package journal

import "os"

// lock always succeeds: on this system it is unknown whether another process still works on a record.
func lock(path string) (file *os.File, ok bool, err error) {
	file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	return file, err == nil, err
}

func held(string) (bool, error) { return false, nil }
