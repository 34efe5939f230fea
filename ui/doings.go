package ui

import (
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// doing is what an action of this program did to a queue. Lists that were read before it stay true by it.
type doing struct {
	at      time.Time // when it ended
	queue   model.QueueRef
	gone    map[message.Fingerprint]int // that left the queue
	back    int                         // messages that an undo brought back
	unclear bool                        // which messages came or left is unknown
}

// did takes down what an action did.
func (e *env) did(d doing) {
	d.at = e.now()
	e.doings = append(e.doings, d)
}

// since are the doings that a list has not taken in yet. Afterwards it has.
func (e *env) since(taken *int) []doing {
	later := e.doings[*taken:]
	*taken = len(e.doings)
	return later
}

// count is how many messages left the queue.
func (d *doing) count() (n int64) {
	for _, twins := range d.gone {
		n += int64(twins)
	}
	return n
}
