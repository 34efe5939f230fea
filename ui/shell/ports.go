package shell

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model/ports"
	"github.com/dlxtop/dlxtop/model/turns"
)

// Preferences is a small file that outlives the program. Load returns nil when there is none. Change writes what how
// makes of it, excluding every other dlxtop; a file that how refuses is set aside, under the returned name.
type Preferences interface {
	Load() ([]byte, error)
	Change(how func([]byte) ([]byte, error)) (aside string, err error)
}

// Broker peeks at messages and acts on them over AMQP.
type Broker interface {
	turns.Broker
	OtherCalls
}

// What the command line needs, too.
type (
	Source     = ports.Source
	OtherCalls = ports.OtherCalls
	Counter    = ports.Counter
	Records    = ports.Records
	Files      = ports.Files
)

// ForegroundBroker returns a broker for what a user requests: background peeks give way to it.
func ForegroundBroker(b Broker, background *turns.Background) Broker {
	return struct {
		turns.Foreground
		OtherCalls
	}{turns.Foreground{Broker: b, Background: background}, b}
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
