package ui

import "dlxtop/model/ports"

// Kept is a small file of choices that outlive the program. Load brings nil when there is none.
type Kept interface {
	Load() ([]byte, error)
	Save([]byte) error
}

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
