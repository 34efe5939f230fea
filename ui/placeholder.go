package ui

import (
	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"dlxtop/model"
)

// placeholder stands for a screen that is still to come.
type placeholder struct{ title string }

func (p placeholder) Init() tea.Cmd                    { return nil }
func (p placeholder) Update(tea.Msg) (screen, tea.Cmd) { return p, nil }
func (p placeholder) View(width, height int) string {
	return block([]string{"", "   " + p.title}, width, height)
}
func (p placeholder) Title() string       { return p.title }
func (p placeholder) Keys() []key.Binding { return nil }
func (p placeholder) Typing() bool        { return false }

func newFlowScreen(_ *env, worker model.QueueRef) screen    { return placeholder{worker.String()} }
