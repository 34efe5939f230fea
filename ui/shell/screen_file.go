package shell

import (
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
)

// ScreenFile is the terminal that the dashboard draws on. It can be taken away from the drawing code, so that the
// terminal is restored when the program dies. A nil one is no terminal.
type ScreenFile struct {
	*os.File
	keyboard *os.File
	before   *term.State         // of the terminal; nil without one
	Filter   func([]byte) []byte // replaces what is drawn; nil: unchanged

	Lent    atomic.Bool // to an editor, or to the shell
	Stopped atomic.Bool // stopped by itself, so it knows when it is continued

	mu   sync.Mutex
	dead bool
}

func NewScreenFile(keyboard, screen *os.File) *ScreenFile {
	before, err := term.GetState(keyboard.Fd())
	if err != nil {
		before = nil
	}
	return &ScreenFile{File: screen, keyboard: keyboard, before: before}
}

// Gone reports whether there was a terminal that has closed since.
func (s *ScreenFile) Gone() bool {
	return s != nil && s.before != nil && !term.IsTerminal(s.keyboard.Fd())
}

func (s *ScreenFile) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return len(b), nil
	}
	if s.Filter == nil {
		return s.File.Write(b)
	}
	if _, err := s.File.Write(s.Filter(b)); err != nil {
		return 0, err
	}

	return len(b), nil
}

// WriteString implements io.StringWriter: the file's would bypass Write.
func (s *ScreenFile) WriteString(text string) (int, error) { return s.Write([]byte(text)) }

// Lend records that another program has the terminal, until it is given back.
func (s *ScreenFile) Lend() (back func()) {
	if s == nil {
		return func() {}
	}
	s.Lent.Store(true)
	return func() { s.Lent.Store(false) }
}

// Rescue restores the terminal, whatever the program does at this moment, and stops all drawing.
func (s *ScreenFile) Rescue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead = true; s.Lent.Load() {
		return
	}
	_, _ = s.File.WriteString(
		ansi.ResetModeMouseButtonEvent + ansi.ResetModeMouseExtSgr + ansi.ResetModeBracketedPaste +
			ansi.ResetModeAltScreenSaveCursor + ansi.ShowCursor + ansi.ResetStyle)
	if s.before != nil {
		_ = term.Restore(s.keyboard.Fd(), s.before)
	}
}

// Borrowed is a program that has the terminal while it runs.
type Borrowed struct {
	*exec.Cmd
	Screen *ScreenFile
}

// SetStdin gives it the terminal itself, not dlxtop's reader of it.
func (b Borrowed) SetStdin(r io.Reader) {
	if b.Stdin != nil {
		return
	}
	if b.Stdin = r; b.Screen != nil {
		b.Stdin = b.Screen.keyboard
	}
}

// SetStdout gives it the terminal itself, of which ScreenFile is only the writable part.
func (b Borrowed) SetStdout(w io.Writer) {
	if b.Stdout = w; b.Screen != nil {
		b.Stdout = b.Screen.File
	}
}

func (b Borrowed) SetStderr(w io.Writer) { b.Stderr = w }

func (b Borrowed) Run() error {
	defer b.Screen.Lend()()
	return b.Cmd.Run()
}
