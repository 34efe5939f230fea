package shell

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"
)

// LostMsg says that a connection for messages was lost.
type LostMsg struct{ Why error }

// AwaitLoss waits until a connection for messages is lost.
func AwaitLoss(e *Env) tea.Cmd {
	if e.Broker == nil {
		return nil
	}
	return e.standby(func(ctx context.Context) tea.Msg {
		if why := e.Broker.Lost(ctx); why != nil {
			return LostMsg{why}
		}
		return nil
	})
}
