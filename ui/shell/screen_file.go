package shell

import (
	"io"
	"os"
	"os/exec"
	"sync"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
)

// ScreenFile is the terminal that the dashboard draws on. It can be taken away from whoever draws, so that the terminal
// is as it was when the program dies in the middle of it. A nil one is no terminal.
type ScreenFile struct {
	*os.File
	keyboard *os.File
	before   *term.State         // of the terminal; nil when it is none
	Filter   func([]byte) []byte // what is written in the place of what is drawn; nil: that

	mu      sync.Mutex
	dead    bool
	lent    bool // to an editor, or to the shell
	Stopped bool // on our own wish: that we are continued is known
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

// WriteString implements io.StringWriter: that of the file would pass by Write.
func (s *ScreenFile) WriteString(text string) (int, error) { return s.Write([]byte(text)) }

// Lend notes that somebody else has the terminal, until it is given back.
func (s *ScreenFile) Lend() (back func()) {
	if s == nil {
		return func() {}
	}
	s.Set(&s.lent, true)
	return func() { s.Set(&s.lent, false) }
}

// Set changes one of the flags, and returns what it was.
func (s *ScreenFile) Set(flag *bool, value bool) (before bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, *flag = *flag, value
	return before
}

func (s *ScreenFile) IsLent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lent
}

// Rescue makes the terminal what it was, whatever the program does at this moment, and lets nothing be drawn any more.
func (s *ScreenFile) Rescue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead = true; s.lent {
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

// SetStdin gives it the terminal itself, not what dlxtop reads of it.
func (b Borrowed) SetStdin(r io.Reader) {
	if b.Stdin != nil {
		return
	}
	if b.Stdin = r; b.Screen != nil {
		b.Stdin = b.Screen.keyboard
	}
}

// SetStdout gives it the terminal itself, of which screenFile is only the part that can be written to.
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
