//go:build !unix

package ui

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/ui/shell"
)

const suspendable = false // whether the shell can have the terminal in between

// watchSignals has nothing to watch: there are no such signals here.
func watchSignals(*tea.Program, *shell.ScreenFile) (ended func()) { return func() {} }

// Run does nothing: here no shell continues a program.
func (s *suspension) Run() error { return nil }
