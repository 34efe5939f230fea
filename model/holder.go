package model

import (
	"context"
	"fmt"
	"time"
)

// Holder is a program of dlxtop that has a turn at a queue. Any user of the machine may have written it: it need not be
// printable, nor true.
type Holder struct {
	Command string    `json:"command"` // "dlxtop find"
	User    string    `json:"user"`    // of the machine
	PID     int       `json:"pid"`
	Since   time.Time `json:"since"`
}

// Words say who it is, in printable words.
func (h Holder) Words() string {
	if h.Command == "" {
		return "another dlxtop"
	}
	who := ""
	if h.User != "" {
		who = " of " + h.User
	}

	since := h.Since.Local().Format(time.TimeOnly)
	return Printable(fmt.Sprintf("`%s`%s (process %d, since %s)", h.Command, who, h.PID, since))
}

// InUse means that another program of dlxtop on this machine has the turn at a queue.
type InUse struct {
	Queue QueueRef
	By    Holder
}

func (e *InUse) Error() string { return e.Words() + ": try again when that has ended" }

// Words say who has the turn, in printable words.
func (e *InUse) Words() string {
	return Sayf("%v is in use by %s", e.Queue.String(), e.By.Words())
}

type waitsKey struct{}

// TellWaits makes what waits for a turn within the context call tell: with who has the turn, once the wait takes a
// second, and with nil when it is over. With nil for tell it waits without a word.
func TellWaits(ctx context.Context, tell func(*InUse)) context.Context {
	return context.WithValue(ctx, waitsKey{}, tell)
}

// TellerOfWaits returns the function from TellWaits; one that does nothing without it.
func TellerOfWaits(ctx context.Context) func(*InUse) {
	tell, _ := ctx.Value(waitsKey{}).(func(*InUse))
	if tell == nil {
		return func(*InUse) {}
	}

	return tell
}
