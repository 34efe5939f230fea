package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/charmbracelet/x/term"
	"github.com/creack/pty"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
)

// fresh are the settings of a terminal that nobody has changed.
func fresh(t *testing.T) *term.State {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer tty.Close()
	state, err := term.GetState(tty.Fd())
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// usual reports whether the terminal is as a shell wants it: on the main screen, with a cursor, and its settings as
// before.
func (s *terminal) usual(want *term.State) bool {
	state, err := term.GetState(s.pty.Fd())
	s.mu.Lock()
	defer s.mu.Unlock()
	return err == nil && reflect.DeepEqual(state, want) && !s.alt && s.cursor
}

// taken reports whether the dashboard has the terminal.
func (s *terminal) taken(usual *term.State) bool {
	state, err := term.GetState(s.pty.Fd())
	s.mu.Lock()
	defer s.mu.Unlock()
	return err == nil && !reflect.DeepEqual(state, usual) && s.alt && !s.cursor
}

// foreground is the process group that has the terminal.
func (s *terminal) foreground() (group int) {
	var g int32
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, s.pty.Fd(), syscall.TIOCGPGRP, uintptr(unsafe.Pointer(&g)))
	if errno != 0 {
		s.t.Fatal(errno)
	}
	return int(g)
}

// inShell starts dlxtop in a shell with job control, which tells when it is stopped, and continues it at each line.
func (s *system) inShell(args ...string) *terminal {
	s.t.Helper()
	const script = `"$@"; while [ $? -gt 128 ] && [ -n "$(jobs -s)" ]; do echo STOPPED; read -r; fg; done
		echo ENDED; read -r`
	if _, err := exec.LookPath("bash"); err != nil {
		s.t.Fatal("this test needs a shell with job control: ", err)
	}
	return start(s.t, exec.Command("bash", append([]string{"-mc", script, "bash", binary}, s.arguments(args...)...)...))
}

// TestKillsLeaveTheTerminal: whatever signal ends the program, the shell gets the terminal as it was.
func TestKillsLeaveTheTerminal(t *testing.T) {
	s := newSystem(t)
	usual := fresh(t)
	for _, signal := range []syscall.Signal{syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGHUP, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			screen := open(t, s.arguments()...)
			screen.waitForPoll("ucenter@user")
			if !screen.taken(usual) {
				t.Error("the dashboard does not have the terminal")
			}
			screen.signal(signal)
			screen.waitUntil("the terminal is as before", func() bool { return screen.usual(usual) })
			status := cli.ExitInterrupted
			if signal == syscall.SIGQUIT || signal == syscall.SIGABRT {
				status = 2 // Go's, with a trace of each goroutine
			}
			screen.waitForEnd(status)
			if text := screen.text(); status == 2 && !strings.Contains(text, "goroutine") {
				t.Errorf("it does not tell where it was: %s", text)
			}
		})
	}
}

// TestParentKilled: when what started the program is killed, the program ends, and the shell gets its terminal.
func TestParentKilled(t *testing.T) {
	s := newSystem(t)
	pid := filepath.Join(t.TempDir(), "pid")
	script := `sh -c 'echo $$ >"$0"; "$@"; true' "$@"; read -r`
	args := append([]string{"-mc", script, "bash", pid, binary}, s.arguments()...)
	screen := start(t, exec.Command("bash", args...))
	screen.waitForPoll("ucenter@user")
	group := screen.foreground()
	t.Cleanup(func() { _ = syscall.Kill(-group, syscall.SIGKILL) })
	text, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(string(text)) == "" || syscall.Kill(group, syscall.SIGKILL) != nil { // the shell leads its group
		t.Fatalf("the parent %s cannot be killed", text)
	}
	screen.waitUntil("nobody of them is left", func() bool { return errors.Is(syscall.Kill(-group, 0), syscall.ESRCH) })
	screen.waitUntil("the shell has its screen", func() bool {
		screen.mu.Lock()
		defer screen.mu.Unlock()
		return !screen.alt && screen.cursor
	})
}

// TestTerminalClosed: a terminal that closes ends the program, even where what leads the session, as make does in
// `tmux new 'make demo'`, waits for it and keeps the signal to itself.
func TestTerminalClosed(t *testing.T) {
	s := newSystem(t)
	pid := filepath.Join(t.TempDir(), "pid")
	args := []string{"-c", `trap : HUP; sh -c 'echo $$ >"$0"; exec "$@"' "$@"; true`, "bash", pid, binary}
	screen := start(t, exec.Command("bash", append(args, s.arguments()...)...))
	screen.waitForPoll("ucenter@user")
	text, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	dashboard, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(dashboard, syscall.SIGKILL) })
	if err := screen.pty.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-screen.ended: // the leader, since the dashboard has ended
	case <-time.After(patience):
		t.Errorf("%s after its terminal has closed it still runs", patience)
	}
}

// TestSuspend: ctrl-z and the signals of job control give the terminal to the shell and take it back, and what is shown
// then is new.
func TestSuspend(t *testing.T) {
	s := newSystem(t)
	usual := fresh(t)
	failed := len(s.look()["ucenter@user@failed"])
	channel := confirming(t)
	screen := s.inShell()
	for i, stop := range []func(){
		func() { screen.press("\x1a") },
		func() { _ = syscall.Kill(-screen.foreground(), syscall.SIGTSTP) },
		func() { screen.press("/u\x1a") }, // in a text
	} {
		screen.waitForPoll("FLOW")
		screen.waitUntil("the dashboard has the terminal", func() bool { return screen.taken(usual) })
		stop()
		screen.waitUntil("the shell has the terminal", func() bool {
			return strings.Count(screen.text(), "STOPPED") == i+1 && screen.usual(usual)
		})
		// What was shown becomes old.
		confirm, err := channel.PublishWithDeferredConfirm("", "ucenter@user@failed", false, false, amqp.Publishing{})
		if err != nil || !confirm.Wait() {
			t.Fatal(err)
		}
		screen.press("\r")
		screen.waitUntil("the dashboard is back", func() bool { return screen.taken(usual) })
		failed++
		screen.waitUntil("it shows what was published meanwhile", func() bool {
			return slices.Contains(screen.row("ucenter@user"), fmt.Sprint(failed))
		})
	}
	// SIGSTOP cannot be seen coming: the shell gets a screen that is not its own, and the dashboard its own again.
	group := screen.foreground()
	if err := syscall.Kill(-group, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// When it says so it has set the terminal, too: before, enter is no end of a line.
	screen.waitUntil("the shell has the terminal", func() bool {
		return screen.foreground() != group && strings.Contains(screen.text(), "STOPPED")
	})
	screen.press("\r")
	screen.waitForPoll("FLOW")
	screen.waitUntil("the dashboard is back", func() bool { return screen.taken(usual) })
	screen.press("\x03")
	screen.waitFor("ENDED")
	if !screen.usual(usual) {
		t.Error("the terminal is not as before")
	}
}

// row is what a list shows of a flow or a queue, in words.
func (s *terminal) row(name string) []string {
	for line := range strings.Lines(s.text()) {
		if fields := strings.Fields(line); slices.Contains(fields[:min(3, len(fields))], name) {
			return fields
		}
	}
	return nil
}

// TestSuspendWithoutShell: where nobody could continue the program it goes on.
func TestSuspendWithoutShell(t *testing.T) {
	s := newSystem(t)
	screen := open(t, s.arguments()...)
	screen.waitForPoll("FLOW")
	screen.press("\x1a")
	screen.press("2")
	screen.waitFor("UNACKED")
	screen.press("q")
	screen.waitForEnd(cli.ExitDone)
}

// TestSuspendOfACommand: a command with a progress line stops, and does the rest when it is continued.
func TestSuspendOfACommand(t *testing.T) {
	s := newSystem(t)
	const failed = "ucenter@user@failed"
	n := len(s.look()[failed])
	screen := s.inShell("replay", failed, "--rate", "1/s", "--yes")
	begun := regexp.MustCompile(`\b[1-6] of `)
	screen.waitUntil("it has begun", func() bool { return begun.MatchString(screen.text()) })
	screen.press("\x1a")
	screen.waitFor("STOPPED")
	screen.press("\r")
	screen.waitFor("ENDED")
	if left := len(s.look()[failed]); left != 0 {
		t.Errorf("%d of %d are left", left, n)
	}
}

// TestKilledBesideAnEditor: what is being written is not thrown away: the program ends when the editor has, and does
// nothing with what it left.
func TestKilledBesideAnEditor(t *testing.T) {
	s := newSystem(t)
	usual := fresh(t)
	before := len(s.look()["ucenter@user@failed"])
	editor := filepath.Join(t.TempDir(), "editor")
	if err := os.WriteFile(editor, []byte("#!/bin/sh\necho EDITING\nread -r line\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("VISUAL", editor)
	screen := open(t, s.arguments()...)
	screen.waitForPoll("ucenter@user")
	screen.press("/ucenter@user\r")
	screen.waitUntil("only this flow is shown", func() bool { return !strings.Contains(screen.text(), "user-monitor") })
	screen.press("f")
	screen.waitFor("ucenter@user@failed", fmt.Sprintf("%d messages", before))
	screen.press("e")
	screen.waitUntil("the editor has the terminal", func() bool {
		return strings.Contains(screen.text(), "EDITING") && screen.usual(usual)
	})
	screen.signal(syscall.SIGTERM)
	screen.press("done\r")
	screen.waitForEnd(cli.ExitInterrupted)
	if !screen.usual(usual) {
		t.Error("the terminal is not as before")
	}
	if after := len(s.look()["ucenter@user@failed"]); after != before {
		t.Errorf("%d messages are left of %d", after, before)
	}
}
