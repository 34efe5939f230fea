package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
)

// patience bounds every wait of a test.
const patience = 2 * time.Minute

// terminal is the real binary in a real pseudo-terminal, seen through an emulator.
type terminal struct {
	t       testing.TB
	command *exec.Cmd
	pty     *os.File
	streams sync.WaitGroup
	ended   chan struct{} // closed when the program has ended

	mu       sync.Mutex // guards what follows; the emulator is written by one goroutine and read by the test
	emulator *vt.Emulator
	alt      bool // the alternate screen is shown
	entered  bool // it was shown at some time
	cursor   bool
	status   int
}

// open starts the binary with arguments on a terminal of 120 x 36.
func open(t testing.TB, args ...string) *terminal {
	t.Helper()
	return openProgram(t, binary, args...)
}

// openProgram does the same with another build of it.
func openProgram(t testing.TB, program string, args ...string) *terminal {
	t.Helper()
	return start(t, exec.Command(program, args...))
}

// start runs a command that is not started on a terminal, or on what its standard streams are already.
func start(t testing.TB, command *exec.Cmd) *terminal {
	t.Helper()
	const width, height = 120, 36
	screen := &terminal{t: t, emulator: vt.NewEmulator(width, height), cursor: true, ended: make(chan struct{})}
	screen.emulator.SetCallbacks(vt.Callbacks{
		// Called while the emulator is written to, so mu is held.
		AltScreen:        func(on bool) { screen.alt, screen.entered = on, screen.entered || on },
		CursorVisibility: func(visible bool) { screen.cursor = visible },
	})
	screen.command = command
	screen.command.Env = append(cleanEnvironment(), "TERM=xterm-256color", "HOME="+t.TempDir())
	var err error
	screen.pty, err = pty.StartWithSize(screen.command, &pty.Winsize{Cols: width, Rows: height})
	if err != nil {
		t.Fatal(err)
	}
	screen.streams.Go(screen.draw)
	screen.streams.Go(screen.reply)
	go func() {
		_ = screen.command.Wait() // the status is in ProcessState
		screen.mu.Lock()
		screen.status = screen.command.ProcessState.ExitCode()
		screen.mu.Unlock()
		close(screen.ended)
	}()
	t.Cleanup(screen.close)
	return screen
}

// draw feeds the emulator until the program has ended and its last output is read.
func (s *terminal) draw() {
	buffer := make([]byte, 1<<16)
	for {
		n, err := s.pty.Read(buffer)
		s.mu.Lock()
		_, _ = s.emulator.Write(buffer[:n])
		s.mu.Unlock()
		if err != nil { // EIO: nobody has the other end open any more
			_ = s.emulator.InputPipe().(*io.PipeWriter).Close()
			return
		}
	}
}

// reply gives the program the emulator's answers to its questions.
func (s *terminal) reply() { _, _ = io.Copy(s.pty, s.emulator) }

// close ends the program if it has not ended, and waits for everything that reads from it.
func (s *terminal) close() {
	if s.t.Failed() {
		s.t.Logf("the last screen:\n%s", s.text())
	}
	select {
	case <-s.ended:
	default:
		_ = s.command.Process.Kill()
		<-s.ended
	}
	s.streams.Wait()
	_ = s.pty.Close()
}

// text is what a person sees.
func (s *terminal) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return ansi.Strip(s.emulator.Render())
}

// press types keys.
func (s *terminal) press(keys string) {
	s.t.Helper()
	if _, err := s.pty.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// waitFor waits until all of these words are on the screen together.
func (s *terminal) waitFor(words ...string) {
	s.t.Helper()
	s.waitUntil(fmt.Sprintf("the screen shows %q", words), func() bool {
		text := s.text()
		for _, word := range words {
			if !strings.Contains(text, word) {
				return false
			}
		}
		return true
	})
}

// polled is what the first line says while the broker answers polls: on a busy machine it takes its time.
var polled = regexp.MustCompile(`live \d|\d+s old, every `)

// waitForPoll waits until words stand on the screen, and the broker answers.
func (s *terminal) waitForPoll(words ...string) {
	s.t.Helper()
	s.waitFor(words...)
	s.waitUntil("the broker answers polls", func() bool { return polled.MatchString(s.text()) })
}

// waitUntil waits until something holds; a program that ends meanwhile will not make it so.
func (s *terminal) waitUntil(what string, holds func() bool) {
	s.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-s.ended:
			s.streams.Wait() // everything that it wrote is drawn
			if !holds() {
				s.t.Fatalf("the program ended before %s", what)
			}
		case <-deadline.C:
			s.t.Fatalf("after %s still not: %s", patience, what)
		case <-tick.C:
		}
	}
}

// waitForEnd waits until the program has ended and everything that it wrote is drawn, and checks what it left behind.
func (s *terminal) waitForEnd(status int) {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.t.Fatalf("after %s it still runs", patience)
	}
	s.streams.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status != status {
		s.t.Errorf("exit status %d instead of %d", s.status, status)
	}
	if s.alt || !s.cursor {
		s.t.Errorf("the terminal is not restored: alternate screen %t, cursor %t", s.alt, s.cursor)
	}
}

// signal sends the program a signal.
func (s *terminal) signal(signal syscall.Signal) {
	s.t.Helper()
	if err := s.command.Process.Signal(signal); err != nil {
		s.t.Fatal(err)
	}
}

// await waits until something holds.
func await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// cleanEnvironment is this process's without anything that names a broker.
func cleanEnvironment() []string {
	var env []string
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		switch {
		case name == "AMQP_URL", name == "RABBITMQ_URL", name == "NO_COLOR", name == "HOME", name == "TERM", name == "CI",
			name == "XDG_CONFIG_HOME", name == "XDG_STATE_HOME", name == "XDG_CACHE_HOME":
		case strings.HasPrefix(name, "DLXTOP_") && name != "DLXTOP_RABBITMQ_SERVER":
		default:
			env = append(env, entry)
		}
	}
	return env
}
