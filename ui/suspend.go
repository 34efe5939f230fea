package ui

import (
	"io"
	"os/exec"

	tea "github.com/charmbracelet/bubbletea"
)

// suspendMsg asks for the terminal to be given to the shell. continuedMsg tells that the shell had it and has continued
// the program: SIGSTOP cannot be seen coming. resumedMsg tells that the terminal is ours again.
type (
	suspendMsg   struct{}
	continuedMsg struct{}
	resumedMsg   struct{}
)

// suspension is the time in which the shell has the terminal, as a command that Bubble Tea runs on it.
type suspension struct {
	screen *screenFile
	over   bool // already: the terminal is only to be taken again
}

// SetStdin implements tea.ExecCommand, as the following do.
func (s *suspension) SetStdin(io.Reader)  {}
func (s *suspension) SetStdout(io.Writer) {}
func (s *suspension) SetStderr(io.Writer) {}

// suspend gives the terminal to the shell until it continues the program.
func (a app) suspend(over bool) (tea.Model, tea.Cmd) {
	if !suspendable || a.env.screen == nil {
		return a, nil
	}
	return a, tea.Exec(&suspension{a.env.screen, over}, a.withMouse(func(error) tea.Msg { return resumedMsg{} }))
}

// suspendByKey does so where nothing is under way that a broker would not wait for: it closes connections that are
// silent.
func (a app) suspendByKey() (tea.Model, tea.Cmd) {
	if isBusy(a.top()) {
		a.notice = noticeMsg{bad: true, text: "not suspended: what runs here would lose its connection; wait for " +
			"its end, or stop it with " + a.env.keys.ForceQuit.Help().Key}
		return a, nil
	}
	return a.suspend(false)
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
