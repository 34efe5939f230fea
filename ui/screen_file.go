package ui

import (
	"os"
	"sync"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
)

// screenFile is the terminal that the dashboard draws on. It can be taken away from whoever draws, so that the terminal
// is as it was when the program dies in the middle of it. A nil one is no terminal.
type screenFile struct {
	*os.File
	keyboard *os.File
	before   *term.State // of the terminal; nil when it is none

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
	return s.File.Write(b)
}

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
