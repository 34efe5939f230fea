package shell

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model/ports"
)

// Kept is a small file that outlives the program. Load returns nil when there is none. Change writes what how makes of
// it, excluding every other dlxtop; a file that how refuses is set aside, under the returned name.
type Kept interface {
	Load() ([]byte, error)
	Change(how func([]byte) ([]byte, error)) (aside string, err error)
}

// Broker looks at messages and acts on them.
type Broker interface {
	ports.Named
	ports.Looker
	ports.Counter
	ports.Executor
	ports.Follower
	ports.Undoer
	ports.Resumer
	ports.Tapper
	ports.Prober
	ports.Loser
}

// LostMsg says that an AMQP connection was lost.
type LostMsg struct{ Why error }

func AwaitLoss(e *Env) tea.Cmd {
	if e.Broker == nil {
		return nil
	}
	return e.standby(0, func(ctx context.Context) tea.Msg {
		if why := e.Broker.Lost(ctx); why != nil {
			return LostMsg{why}
		}
		return nil
	})
}
