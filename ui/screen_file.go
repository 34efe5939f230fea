package ui

import (
	"io"
	"os"
	"os/exec"
	"sync"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
)

// screenFile is the terminal that the dashboard draws on. It can be taken away from whoever draws, so that the terminal
// is as it was when the program dies in the middle of it. A nil one is no terminal.
type screenFile struct {
	*os.File
	keyboard *os.File
	before   *term.State         // of the terminal; nil when it is none
	filter   func([]byte) []byte // what is written in the place of what is drawn; nil: that

	mu      sync.Mutex
	dead    bool
	lent    bool // to an editor, or to the shell
	stopped bool // on our own wish: that we are continued is known
}

func newScreenFile(keyboard, screen *os.File) *screenFile {
	before, err := term.GetState(keyboard.Fd())
	if err != nil {
		before = nil
	}
	return &screenFile{File: screen, keyboard: keyboard, before: before}
}

// gone reports whether there was a terminal that has closed since.
func (s *screenFile) gone() bool {
	return s != nil && s.before != nil && !term.IsTerminal(s.keyboard.Fd())
}

// Write implements io.Writer.
func (s *screenFile) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return len(b), nil
	}
	if s.filter == nil {
		return s.File.Write(b)
	}
	if _, err := s.File.Write(s.filter(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// WriteString implements io.StringWriter: that of the file would pass by Write.
func (s *screenFile) WriteString(text string) (int, error) { return s.Write([]byte(text)) }

// lend notes that somebody else has the terminal, until it is given back.
func (s *screenFile) lend() (back func()) {
	if s == nil {
		return func() {}
	}
	s.set(&s.lent, true)
	return func() { s.set(&s.lent, false) }
}

// set changes one of the flags, and returns what it was.
func (s *screenFile) set(flag *bool, value bool) (before bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, *flag = *flag, value
	return before
}

func (s *screenFile) isLent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lent
}

// rescue makes the terminal what it was, whatever the program does at this moment, and lets nothing be drawn any more.
func (s *screenFile) rescue() {
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

// borrowed is a program that has the terminal while it runs.
type borrowed struct {
	*exec.Cmd
	screen *screenFile
}

// SetStdin gives it the terminal itself, not what dlxtop reads of it.
func (b borrowed) SetStdin(r io.Reader) {
	if b.Stdin != nil {
		return
	}
	if b.Stdin = r; b.screen != nil {
		b.Stdin = b.screen.keyboard
	}
}

// SetStdout gives it the terminal itself, of which screenFile is only the part that can be written to.
func (b borrowed) SetStdout(w io.Writer) {
	if b.Stdout = w; b.screen != nil {
		b.Stdout = b.screen.File
	}
}

// SetStderr implements tea.ExecCommand.
func (b borrowed) SetStderr(w io.Writer) { b.Stderr = w }

// Run implements tea.ExecCommand.
func (b borrowed) Run() error {
	defer b.screen.lend()()
	return b.Cmd.Run()
}
