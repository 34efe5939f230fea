//go:build unix

package ui

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/ui/shell"
)

const suspendable = true // whether the shell can have the terminal in between

// watchSignals keeps the terminal usable when the program is killed or stopped, until the program has ended. The caller
// handles signals to terminate (SIGINT, SIGTERM, SIGHUP).
func watchSignals(p *tea.Program, screen *shell.ScreenFile) (ended func()) {
	signals := make(chan os.Signal, 8) // more than arrive before one is handled
	signal.Notify(signals, syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGTSTP, syscall.SIGCONT)
	over := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-over:
				return
			case s := <-signals:
				handleSignal(p, screen, s)
			}
		}
	}()

	return func() {
		signal.Stop(signals)
		close(over)
		<-done
	}
}

func handleSignal(p *tea.Program, screen *shell.ScreenFile, s os.Signal) {
	switch s {
	case syscall.SIGTSTP:
		if screen.Lent.Load() { // the editor stops itself, and the shell waits for both
			_ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP)
			return
		}
		p.Send(suspendMsg{})
	case syscall.SIGCONT:
		if screen.Stopped.Swap(false) || screen.Lent.Load() {
			return
		}
		p.Send(continuedMsg{})
	default:
		screen.Rescue()
		signal.Reset(s) // Go's own handler dumps all goroutines, and ends the program
		_ = syscall.Kill(syscall.Getpid(), s.(syscall.Signal))
	}
}

const stopTime = 300 * time.Millisecond // how long it may take until a process is stopped

// Run stops this process, and everything that the shell started with it, until the shell continues it. Without such a
// shell it does nothing.
func (s *suspension) Run() error {
	if s.over || !stoppable() {
		return nil
	}
	defer s.screen.Lend()()
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	s.screen.Stopped.Store(true)

	// Not SIGTSTP: once a Go program has registered for it, it is no longer stopped by it, whatever is reset (Go 1.26).
	if err := syscall.Kill(0, syscall.SIGSTOP); err != nil {
		return err
	}
	select {
	case <-continued:
	case <-time.After(stopTime):
		if len(continued) == 0 {
			s.screen.Stopped.Store(false)
		}
	}

	return nil
}

// stoppable reports whether a shell waits for this process group: the kernel does not let SIGTSTP stop one that nothing
// could continue. A child tries it.
func stoppable() bool {
	child := exec.Command("sh", "-c", "kill -TSTP $$")
	if child.Start() != nil {
		return false
	}
	pid := child.Process.Pid
	defer func() { _ = child.Process.Release() }()
	state, err := waitFor(pid, syscall.WUNTRACED)
	if err != nil || !state.Stopped() {
		return false
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	_, _ = waitFor(pid, 0)
	return true
}

func waitFor(pid, options int) (state syscall.WaitStatus, err error) {
	for {
		if _, err = syscall.Wait4(pid, &state, options, nil); err != syscall.EINTR {
			return state, err
		}
	}
}
