package ui

import (
	"io"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/ui/shell"
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
	screen *shell.ScreenFile
	over   bool // already: the terminal is only to be taken again
}

// SetStdin implements tea.ExecCommand, as the following do.
func (s *suspension) SetStdin(io.Reader)  {}
func (s *suspension) SetStdout(io.Writer) {}
func (s *suspension) SetStderr(io.Writer) {}

// suspend gives the terminal to the shell until it continues the program.
func (a app) suspend(over bool) (app, tea.Cmd) {
	if !suspendable || a.env.Screen == nil {
		return a, nil
	}
	return a, tea.Exec(&suspension{a.env.Screen, over}, a.withMouse(func(error) tea.Msg { return resumedMsg{} }))
}

// suspendByKey does so where nothing is under way that a broker would not wait for: it closes connections that are
// silent.
func (a app) suspendByKey() (app, tea.Cmd) {
	if isBusy(a.top()) {
		a.notice = shell.NoticeMsg{Bad: true, Text: "not suspended: what runs here would lose its connection; wait for " +
			"its end, or stop it with " + a.env.Keys.ForceQuit.Help().Key}
		return a, nil
	}
	return a.suspend(false)
}
