package shell

import (
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// Doing is what an action of this program did to a queue. Lists that were read before it stay true by it.
type Doing struct {
	At      time.Time // when it ended
	Queue   model.QueueRef
	Gone    map[message.Fingerprint]int // that left the queue
	Back    int                         // messages that an undo brought back
	Unclear bool                        // which messages came or left is unknown
}

// Did takes down what an action did.
func (e *Env) Did(d Doing) {
	d.At = e.Now()
	e.Doings = append(e.Doings, d)
	e.Kept.did(d)
}

// mostUnsettled bounds how many queues are counted for what was done to them.
const mostUnsettled = 100

// Unsettled are the queues of actions that the statistics may not have yet: they are counted, for polls would show what
// was replayed where it was until then.
func (e *Env) Unsettled() (queues []model.QueueRef) {
	for _, d := range slices.Backward(e.Doings) {
		if e.Shown.Sub(d.At) > model.LateStatistics+CountedFor || len(queues) == mostUnsettled {
			break
		}
		if !slices.Contains(queues, d.Queue) {
			queues = append(queues, d.Queue)
		}
	}
	return queues
}

// Since are the doings that a list has not taken in yet. Afterwards it has.
func (e *Env) Since(taken *int) []Doing {
	later := e.Doings[*taken:]
	*taken = len(e.Doings)
	return later
}

// Count is how many messages left the queue.
func (d *Doing) Count() (n int64) {
	for _, twins := range d.Gone {
		n += int64(twins)
	}
	return n
}
