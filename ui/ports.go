package ui

import "dlxtop/model/ports"

// Broker looks at messages and acts on them.
type Broker interface {
	ports.Named
	ports.Looker
	ports.Counter
	ports.Executor
	ports.Undoer
	ports.Resumer
	ports.Tapper
	ports.Prober
	ports.Loser
}
