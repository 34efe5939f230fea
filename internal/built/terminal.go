package built

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

	"github.com/dlxtop/dlxtop/internal/must"
)

// Patience limits every wait of a test.
const Patience = must.Patience

// goroutines are the lines about dlxtop's own code in the stacks of a program.
var goroutines = regexp.MustCompile(`goroutine \d+ \[.*|\S*dlxtop/.*\.go:\d+`)

// Terminal is a pseudo-terminal that runs the real binary, with an emulator that shows its screen.
type Terminal struct {
	t       testing.TB
	Command *exec.Cmd
	PTY     *os.File
	streams sync.WaitGroup
	Ended   chan struct{} // closed when the program has ended

	mu       sync.Mutex // guards the fields below; one goroutine writes to the emulator, the test reads from it
	emulator *vt.Emulator
	modes    Modes
	status   int
}

// Modes are the terminal modes that the program has set.
type Modes struct {
	Alt     bool // the alternate screen is shown
	Entered bool // the alternate screen was shown at some time
	Cursor  bool
}

// Open starts dlxtop with arguments on a terminal of 120 x 36.
func Open(t testing.TB, args ...string) *Terminal {
	t.Helper()
	return Start(t, exec.Command(Program, args...))
}

// OpenNode does so on the node, and waits until a poll shows all of these words.
func OpenNode(t testing.TB, words ...string) *Terminal {
	t.Helper()
	screen := Open(t, ToNode()...)
	screen.WaitForPoll(words...)
	return screen
}

// Start starts a command on a terminal, or on the standard streams that the command has already.
func Start(t testing.TB, command *exec.Cmd) *Terminal {
	t.Helper()
	const width, height = 120, 36
	screen := &Terminal{t: t, emulator: vt.NewEmulator(width, height), Ended: make(chan struct{})}
	screen.modes.Cursor = true
	screen.emulator.SetCallbacks(vt.Callbacks{
		// Called during writes to the emulator, so mu is held.
		AltScreen: func(on bool) {
			screen.modes.Alt = on
			screen.modes.Entered = screen.modes.Entered || on
		},
		CursorVisibility: func(visible bool) { screen.modes.Cursor = visible },
	})

	screen.Command = command
	screen.Command.Env = append(Environment(), "TERM=xterm-256color", "HOME="+t.TempDir())
	screen.PTY = must.Get(pty.StartWithSize(screen.Command, &pty.Winsize{Cols: width, Rows: height}))(t)
	screen.streams.Go(screen.draw)
	screen.streams.Go(screen.reply)

	go func() {
		_ = screen.Command.Wait() // the status is in ProcessState
		screen.mu.Lock()
		screen.status = screen.Command.ProcessState.ExitCode()
		screen.mu.Unlock()
		close(screen.Ended)
	}()

	t.Cleanup(screen.close)

	return screen
}

// draw feeds the emulator until the program has ended and all its output has been read.
func (s *Terminal) draw() {
	buffer := make([]byte, 1<<16)
	for {
		n, err := s.PTY.Read(buffer)
		s.mu.Lock()
		_, _ = s.emulator.Write(buffer[:n])
		s.mu.Unlock()
		if err != nil { // EIO: the other end is closed
			_ = s.emulator.InputPipe().(*io.PipeWriter).Close()
			return
		}
	}
}

func (s *Terminal) reply() { _, _ = io.Copy(s.PTY, s.emulator) }

// close ends the program if it still runs, and waits for everything that reads from it.
func (s *Terminal) close() {
	if s.t.Failed() {
		s.t.Logf("the last screen:\n%s", s.Text())
		s.mu.Lock()
		s.emulator.Resize(160, 9000) // for what a program says of its goroutines when it quits
		s.mu.Unlock()
		_ = s.Command.Process.Signal(syscall.SIGQUIT)
		select {
		case <-s.Ended:
		case <-time.After(5 * time.Second):
		}
	}

	_ = s.Command.Process.Kill()
	<-s.Ended
	s.streams.Wait()
	if s.t.Failed() {
		s.t.Logf("its goroutines:\n%s", strings.Join(goroutines.FindAllString(s.Text(), -1), "\n"))
	}
	_ = s.PTY.Close()
}

// Text returns the screen as a user reads it.
func (s *Terminal) Text() string { return ansi.Strip(s.Rendered()) }

// Rendered returns the screen with its colours.
func (s *Terminal) Rendered() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.emulator.Render()
}

// Modes returns the current modes.
func (s *Terminal) Modes() Modes {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.modes
}

// Row returns the first line with this cell in a column, or -1 for none.
func (s *Terminal) Row(column int, cell string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for y := range s.emulator.Height() {
		if c := s.emulator.CellAt(column, y); c != nil && c.Content == cell {
			return y
		}
	}

	return -1
}

// Press types keys and returns the terminal, so that a wait can follow.
func (s *Terminal) Press(keys string) *Terminal {
	s.t.Helper()
	must.Get(s.PTY.WriteString(keys))(s.t)
	return s
}

// WaitFor waits until the screen shows all of these words together.
func (s *Terminal) WaitFor(words ...string) *Terminal {
	s.t.Helper()
	s.WaitUntil(fmt.Sprintf("the screen shows %q", words), func() bool {
		text := s.Text()
		for _, word := range words {
			if !strings.Contains(text, word) {
				return false
			}
		}
		return true
	})

	return s
}

// Polled matches the first line of the screen while the broker answers polls, slowly on a busy machine.
var Polled = regexp.MustCompile(`live \d|\d+s old, every `)

// WaitForPoll waits until the screen shows words and the broker answers.
func (s *Terminal) WaitForPoll(words ...string) {
	s.t.Helper()
	s.WaitFor(words...)
	s.WaitUntil("the broker answers polls", func() bool { return Polled.MatchString(s.Text()) })
}

// WaitUntil waits until a condition holds, and fails when the program ends first.
func (s *Terminal) WaitUntil(what string, holds func() bool) {
	s.t.Helper()
	deadline := time.NewTimer(Patience)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()

	for !holds() {
		select {
		case <-s.Ended:
			s.streams.Wait() // until all output is drawn
			if !holds() {
				s.t.Fatalf("the program ended before %s", what)
			}
		case <-deadline.C:
			s.t.Fatalf("after %s still not: %s", Patience, what)
		case <-tick.C:
		}
	}
}

// WaitForEnd waits until the program has ended and all its output is drawn, and checks what it left behind.
func (s *Terminal) WaitForEnd(status int) {
	s.t.Helper()
	select {
	case <-s.Ended:
	case <-time.After(Patience):
		s.t.Fatalf("after %s it still runs", Patience)
	}

	s.streams.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status != status {
		s.t.Errorf("exit status %d instead of %d", s.status, status)
	}
	if s.modes.Alt || !s.modes.Cursor {
		s.t.Errorf("the terminal is not restored: alternate screen %t, cursor %t", s.modes.Alt, s.modes.Cursor)
	}
}

// Signal sends the program a signal.
func (s *Terminal) Signal(signal syscall.Signal) {
	s.t.Helper()
	must.Do(s.t, s.Command.Process.Signal(signal))
}

// Environment returns this process's environment without variables that name a broker.
func Environment() []string {
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
