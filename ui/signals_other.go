//go:build !unix

package ui

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/ui/shell"
)

const suspendable = false // whether the shell can have the terminal in between

// watchSignals does nothing: there are no such signals on this system.
func watchSignals(*tea.Program, *shell.ScreenFile) (ended func()) { return func() {} }

// Run does nothing: on this system no shell continues a program.
func (s *suspension) Run() error { return nil }
