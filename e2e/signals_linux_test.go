package e2e

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
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/built"
	"github.com/dlxtop/dlxtop/internal/depth"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
)

// fresh returns the settings of an unchanged terminal.
func fresh(t *testing.T) *term.State {
	t.Helper()
	master, tty, err := pty.Open()
	must.Do(t, err)
	defer master.Close()
	defer tty.Close()
	return must.Get(term.GetState(tty.Fd()))(t)
}

// restored reports whether the terminal is as a shell expects it: on the main screen, with a cursor, and with its
// settings as before.
func restored(s *built.Terminal, want *term.State) bool {
	state, err := term.GetState(s.PTY.Fd())
	return err == nil && reflect.DeepEqual(state, want) && hasShell(s)
}

// hasShell reports whether the main screen is shown, with a cursor.
func hasShell(s *built.Terminal) bool {
	modes := s.Modes()
	return !modes.Alt && modes.Cursor
}

// taken reports whether the dashboard has the terminal.
func taken(s *built.Terminal, usual *term.State) bool {
	state, err := term.GetState(s.PTY.Fd())
	modes := s.Modes()
	return err == nil && !reflect.DeepEqual(state, usual) && modes.Alt && !modes.Cursor
}

// foreground returns the foreground process group of the terminal.
func foreground(t *testing.T, s *built.Terminal) (group int) {
	t.Helper()
	var g int32
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, s.PTY.Fd(), syscall.TIOCGPGRP, uintptr(unsafe.Pointer(&g)))
	must.Equal(t, errno, 0)
	return int(g)
}

// inShell starts dlxtop in a shell with job control, which reports when it is stopped, and continues it at each line.
func (s *system) inShell(args ...string) *built.Terminal {
	s.t.Helper()
	const script = `"$@"; while [ $? -gt 128 ] && [ -n "$(jobs -s)" ]; do echo STOPPED; read -r; fg; done
		echo ENDED; read -r`
	must.Get(exec.LookPath("bash"))(s.t) // a shell with job control
	args = append([]string{"-mc", script, "bash", built.Program}, built.ToNode(args...)...)
	return built.Start(s.t, exec.Command("bash", args...))
}

// TestKillsLeaveTheTerminal: whatever signal ends the program, the shell gets the terminal back as it was.
func TestKillsLeaveTheTerminal(t *testing.T) {
	built.Scenario(t)
	usual := fresh(t)
	for _, signal := range []syscall.Signal{syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGHUP, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			screen := built.OpenNode(t, "ucenter@user")
			assert.That(t, taken(screen, usual), "the dashboard does not have the terminal")
			screen.Signal(signal)
			screen.WaitUntil("the terminal is as before", func() bool { return restored(screen, usual) })
			status := cli.ExitInterrupted
			if signal == syscall.SIGQUIT || signal == syscall.SIGABRT {
				status = 2 // Go's, with a stack trace of each goroutine
			}
			screen.WaitForEnd(status)
			text := screen.Text()
			assert.That(t, status != 2 || strings.Contains(text, "goroutine"), "it does not say where it was: %s", text)
		})
	}
}

// TestParentKilled: when the parent process is killed, the program ends, and the shell gets its terminal back.
func TestParentKilled(t *testing.T) {
	built.Scenario(t)
	pid := filepath.Join(t.TempDir(), "pid")
	script := `sh -c 'echo $$ >"$0"; "$@"; true' "$@"; read -r`
	args := append([]string{"-mc", script, "bash", pid, built.Program}, built.ToNode()...)
	screen := built.Start(t, exec.Command("bash", args...))
	screen.WaitForPoll("ucenter@user")
	group := foreground(t, screen)
	t.Cleanup(func() { _ = syscall.Kill(-group, syscall.SIGKILL) })

	text := must.Get(os.ReadFile(pid))(t)
	if strings.TrimSpace(string(text)) == "" || syscall.Kill(group, syscall.SIGKILL) != nil { // the shell leads its group
		t.Fatalf("the parent %s cannot be killed", text)
	}

	screen.WaitUntil("none of them is left", func() bool { return errors.Is(syscall.Kill(-group, 0), syscall.ESRCH) })
	screen.WaitUntil("the shell has its screen", func() bool { return hasShell(screen) })
}

// TestTerminalClosed: closing the terminal ends the program, even where the session leader waits for it and does not
// pass on the signal, like make in `tmux new 'make demo'`.
func TestTerminalClosed(t *testing.T) {
	built.Scenario(t)
	pid := filepath.Join(t.TempDir(), "pid")
	args := []string{"-c", `trap : HUP; sh -c 'echo $$ >"$0"; exec "$@"' "$@"; true`, "bash", pid, built.Program}
	screen := built.Start(t, exec.Command("bash", append(args, built.ToNode()...)...))
	screen.WaitForPoll("ucenter@user")
	text := must.Get(os.ReadFile(pid))(t)
	dashboard := must.Get(strconv.Atoi(strings.TrimSpace(string(text))))(t)
	t.Cleanup(func() { _ = syscall.Kill(dashboard, syscall.SIGKILL) })
	must.Do(t, screen.PTY.Close())

	select {
	case <-screen.Ended: // the leader ends after the dashboard
	case <-time.After(built.Patience):
		t.Errorf("%s after its terminal has closed it still runs", built.Patience)
	}
}

// TestSuspend: ctrl-z and the signals of job control give the terminal to the shell and take it back, and then the
// dashboard shows current data.
func TestSuspend(t *testing.T) {
	s := newSystem(t)
	usual := fresh(t)
	failed := len(s.look()["ucenter@user@failed"])
	channel := dial.Channel(t, built.Node.AMQP())

	screen := s.inShell()
	for i, stop := range []func(){
		func() { screen.Press("\x1a") },
		func() { _ = syscall.Kill(-foreground(t, screen), syscall.SIGTSTP) },
		func() { screen.Press("/u\x1a") }, // in a text field
	} {
		screen.WaitForPoll("FLOW")
		screen.WaitUntil("the dashboard has the terminal", func() bool { return taken(screen, usual) })
		stop()
		screen.WaitUntil("the shell has the terminal", func() bool {
			return strings.Count(screen.Text(), "STOPPED") == i+1 && restored(screen, usual)
		})

		// This makes the screen stale.
		dial.Publish(t, channel, "ucenter@user@failed", amqp.Publishing{})
		screen.Press("\r").WaitUntil("the dashboard is back", func() bool { return taken(screen, usual) })
		failed++
		screen.WaitUntil("it shows what was published meanwhile", func() bool {
			return slices.Contains(row(screen, "ucenter@user"), fmt.Sprint(failed))
		})
	}

	// SIGSTOP cannot be caught: the shell gets the dashboard's screen, and the dashboard restores its own.
	group := foreground(t, screen)
	must.Do(t, syscall.Kill(-group, syscall.SIGSTOP))
	// By the time the shell says so it has also reset the terminal: before that, enter does not end a line.
	screen.WaitUntil("the shell has the terminal", func() bool {
		return foreground(t, screen) != group && strings.Contains(screen.Text(), "STOPPED")
	})
	screen.Press("\r").WaitForPoll("FLOW")
	screen.WaitUntil("the dashboard is back", func() bool { return taken(screen, usual) })
	screen.Press("\x03").WaitFor("ENDED")
	assert.That(t, restored(screen, usual), "the terminal is not as before")
}

// row returns the words of a flow's or a queue's row in a list.
func row(s *built.Terminal, name string) []string {
	for line := range strings.Lines(s.Text()) {
		if fields := strings.Fields(line); slices.Contains(fields[:min(3, len(fields))], name) {
			return fields
		}
	}

	return nil
}

// TestSuspendWithoutShell: without a shell that could continue it, the program keeps running.
func TestSuspendWithoutShell(t *testing.T) {
	built.Scenario(t)
	screen := built.OpenNode(t, "FLOW")
	screen.Press("\x1a")
	screen.Press("2").WaitFor("UNACKED")
	screen.Press("q").WaitForEnd(cli.ExitDone)
}

// TestSuspendOfACommand: a command with a progress line stops, and does the rest when it is continued.
func TestSuspendOfACommand(t *testing.T) {
	s := newSystem(t)
	const failed = "ucenter@user@failed"
	n := len(s.look()[failed])
	screen := s.inShell("replay", failed, "--rate", "1/s", "--yes")
	begun := regexp.MustCompile(`\b[1-6] of `)
	screen.WaitUntil("it has begun", func() bool { return begun.MatchString(screen.Text()) })
	screen.Press("\x1a").WaitFor("STOPPED")
	screen.Press("\r").WaitFor("ENDED")
	left := len(s.look()[failed])
	assert.That(t, left == 0, "%d of %d are left", left, n)
}

// TestKilledBesideAnEditor: text being edited is not thrown away: the program ends when the editor has, and does not
// act on the result.
func TestKilledBesideAnEditor(t *testing.T) {
	s := newSystem(t)
	usual := fresh(t)
	before := len(s.look()["ucenter@user@failed"])
	editor := filepath.Join(t.TempDir(), "editor")
	must.Do(t, os.WriteFile(editor, []byte("#!/bin/sh\necho EDITING\nread -r line\n"), 0o700))
	t.Setenv("VISUAL", editor)
	screen := built.OpenNode(t, "ucenter@user")
	showFailed(screen, "ucenter@user", before)
	screen.Press("e").WaitUntil("the editor has the terminal", func() bool {
		return strings.Contains(screen.Text(), "EDITING") && restored(screen, usual)
	})
	screen.Signal(syscall.SIGTERM)
	screen.Press("done\r").WaitForEnd(cli.ExitInterrupted)
	assert.That(t, restored(screen, usual), "the terminal is not as before")
	after := len(s.look()["ucenter@user@failed"])
	assert.That(t, after == before, "%d messages are left of %d", after, before)
}

// command is dlxtop on the node, with a journal of its own.
func command(t *testing.T, before []string, args ...string) *exec.Cmd {
	t.Helper()
	args = append(append(before, built.Program), built.ToNode(args...)...)
	command := exec.Command(args[0], args[1:]...)
	command.Env = append(built.Environment(), "XDG_STATE_HOME="+t.TempDir())
	return command
}

// When the reader of a pipe is gone, as with `| head`, a dlxtop that holds messages is not killed: it gives them back.
func TestPipeThatIsNotRead(t *testing.T) {
	const n = 20_000
	channel, failed, _ := numbered(t, "pipe", n)

	for _, args := range [][]string{
		{"find", "body", "--queues", failed}, {"export", failed, "-"}, {"peek", failed, "-n", "20000"},
	} {
		command := command(t, nil, args...)
		var errs strings.Builder
		command.Stderr = &errs
		reading, writing, err := os.Pipe()
		must.Do(t, err)
		command.Stdout = writing
		must.Do(t, command.Start())
		writing.Close()
		_, err = reading.Read(make([]byte, 100))
		assert.That(t, err == nil, "%v writes nothing: %v", args, err)
		reading.Close()
		_ = command.Wait()
		assert.Equal(t, command.ProcessState.ExitCode(), cli.ExitPipe, "%v: %v\n%s", args, command.ProcessState,
			errs.String())
		assert.Lacks(t, errs.String(), "pipe", "%v", args)
		assert.Equal(t, depth.Of(t, channel, failed), n, "%v leaves", args)
	}
}

// A command started with nohup continues when the terminal hangs up.
func TestHangUpThatIsIgnored(t *testing.T) {
	const n = 20
	channel, failed, worker := numbered(t, "nohup", n)
	command := command(t, []string{"sh", "-c", `trap '' HUP; exec "$0" "$@"`},
		"replay", failed, "--to", "queue:"+worker, "--rate", "10/s", "--yes")
	var said strings.Builder
	command.Stdout, command.Stderr = &said, &said
	built.Begin(t, command)
	must.Await(t, "something is replayed", func() bool { return depth.Of(t, channel, worker) > 0 })
	must.Do(t, command.Process.Signal(syscall.SIGHUP))
	err := command.Wait()
	must.Do(t, err)
	assert.Equal(t, depth.Of(t, channel, worker), n, "%s", said.String())
}

// machine is a separate file system with dlxtop in it, built without cgo like releases, and a user database: dlxtop
// must not write into the home directory of the person who runs this test.
type machine struct {
	t    *testing.T
	root string
}

func newMachine(t *testing.T, program, users string) machine {
	t.Helper()
	m := machine{t, t.TempDir()}
	for _, dir := range []string{"etc", "tmp", "root", "one", "two"} {
		must.Do(t, os.Mkdir(filepath.Join(m.root, dir), 0o700))
	}

	must.Do(t, os.WriteFile(filepath.Join(m.root, "etc", "passwd"), []byte(users), 0o600))
	must.Do(t, os.Link(program, filepath.Join(m.root, "dlxtop")))
	return m
}

// released builds the program without cgo.
func released(t *testing.T) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "dlxtop")
	t.Setenv("CGO_ENABLED", "0")
	must.Do(t, built.Build(program))
	return program
}

// run runs dlxtop in a directory, with this environment and nothing else.
func (m machine) run(dir string, env []string, args ...string) (text string, status int) {
	m.t.Helper()
	command := exec.Command("/dlxtop", args...)
	command.Dir, command.Env = dir, append([]string{"PATH="}, env...) // an empty Env would inherit this process's
	command.SysProcAttr = &syscall.SysProcAttr{Chroot: m.root}
	if os.Geteuid() != 0 { // an unprivileged user may chroot in a user namespace
		command.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		command.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		command.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}

	out, err := command.CombinedOutput()
	must.That(m.t, command.ProcessState != nil,
		"a root directory of its own needs root, or a system that lets users have namespaces: %v", err)
	return string(out), command.ProcessState.ExitCode()
}

// written returns the files that dlxtop left behind.
func (m machine) written() (files []string) {
	m.t.Helper()
	must.Do(m.t, filepath.WalkDir(m.root, func(path string, entry os.DirEntry, err error) error {
		name := strings.TrimPrefix(path, m.root)
		if err == nil && !entry.IsDir() && name != "/dlxtop" && name != "/etc/passwd" {
			files = append(files, name)
		}
		return err
	}))

	return files
}

// TestWithoutHome: a drop in one directory is undone from another, even where HOME and XDG_STATE_HOME are unset, empty
// or relative.
func TestWithoutHome(t *testing.T) {
	size.Long(t) // it compiles the whole program again, without cgo
	channel := dial.Channel(t, built.Node.AMQP())
	queue := must.Get(channel.QueueDeclare("without-home", false, true, false, false, nil))(t)
	defer func() { _, _ = channel.QueueDelete(queue.Name, false, false, false) }()
	count := func() int {
		return must.Get(channel.QueueDeclarePassive(queue.Name, false, true, false, false, nil))(t).Messages
	}
	publish := func(body string) {
		must.Do(t, channel.Publish("", queue.Name, false, false, amqp.Publishing{Body: []byte(body)}))
		must.Await(t, "the message is there", func() bool { return count() == 1 })
	}

	broker := built.ToNode()
	program := released(t)
	m := newMachine(t, program, "root:x:0:0::/root:/bin/sh\n")

	relative := []string{"HOME=one", "XDG_STATE_HOME=two", "XDG_CONFIG_HOME=three"}
	for i, env := range [][]string{nil, {"HOME="}, {"HOME=."}, relative} {
		publish("dropped")
		text, status := m.run("/one", env, append(broker, "drop", queue.Name, "--yes")...)
		must.Equal(t, status, cli.ExitDone, "%v: exit status: %s", env, text)
		must.Equal(t, count(), 0, "%v", env)
		for _, file := range m.written() {
			assert.That(t, strings.HasPrefix(file, "/root/.local/state/dlxtop/"), "%v: %s was written", env, file)
		}
		text, status = m.run("/two", env, append(broker, "journal", "undo", fmt.Sprint(2*i+1), "--yes")...)
		must.Equal(t, status, cli.ExitDone, "%v: exit status: %s", env, text)
		must.Equal(t, count(), 1, "%v", env)
		must.Get(channel.QueuePurge(queue.Name, false))(t)
	}

	// Without any home directory: one sentence, and nothing is done or written.
	m = newMachine(t, program, "")
	publish("stays")
	for _, args := range [][]string{append(broker, "drop", queue.Name, "--yes"), {"journal"}} {
		text, status := m.run("/one", nil, args...)
		sentence := strings.Contains(text, "XDG_STATE_HOME") && strings.Count(text, "\n") == 1
		assert.Equal(t, status, cli.ExitRefused, "exit status: %s", text)
		assert.That(t, sentence, "exit status %d: %s", status, text)
		assert.Equal(t, count(), 1)
	}

	text, status := m.run("/one", nil, "--context", "prod", "flows")
	assert.Equal(t, status, cli.ExitUsage, "exit status: %s", text)
	assert.Contains(t, text, "XDG_CONFIG_HOME")
	files := m.written()
	assert.That(t, len(files) == 0, "%v were written", files)
}
