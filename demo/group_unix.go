//go:build unix

package demo

import (
	"errors"
	"syscall"
)

// ownGroup makes a started process the leader of a new process group.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// joinGroup makes a started process a member of an existing group.
func joinGroup(group int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pgid: group}
}

// terminate asks one process to end; killGroup kills a whole group.
func terminate(pid int) error   { return signalTo(pid, syscall.SIGTERM) }
func killGroup(group int) error { return signalTo(-group, syscall.SIGKILL) }

func signalTo(target int, signal syscall.Signal) error {
	if err := syscall.Kill(target, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}
