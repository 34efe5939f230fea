//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package journal

import (
	"os"
	"syscall"
)

// lock takes a lock that the system releases when the process ends in any way. ok is false when another process has it.
func lock(path string) (file *os.File, ok bool, err error) {
	if file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, false, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, false, nil
	}
	return file, true, nil
}

// held reports whether a process has the lock. Two simultaneous calls do not mistake each other for its owner.
func held(path string) (bool, error) {
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	return syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil, nil
}
