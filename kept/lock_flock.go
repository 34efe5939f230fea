//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package kept

import (
	"os"
	"syscall"
)

// lock waits for a lock that the system releases when the process ends in any way.
func lock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}
