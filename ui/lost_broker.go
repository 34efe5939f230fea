package ui

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"
)

// lostMsg says that a connection for messages was lost.
type lostMsg struct{ why error }

// awaitLoss waits until a connection for messages is lost.
func awaitLoss(e *env) tea.Cmd {
	if e.broker == nil {
		return nil
	}
	return e.standby(func(ctx context.Context) tea.Msg {
		if why := e.broker.Lost(ctx); why != nil {
			return lostMsg{why}
		}
		return nil
	})
}
