package shell

import (
	"maps"
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// Doing is what an action of this program did to a queue. It keeps lists up to date that were read before it.
type Doing struct {
	At      time.Time // when it ended
	Queue   model.QueueRef
	Gone    map[message.Fingerprint]int // messages that left the queue
	Record  int64                       // of the journal; 0 for none
	Back    int                         // messages that an undo brought back
	Came    map[message.Fingerprint]int // which ones; nil: unknown
	Unclear bool                        // which messages came or left is unknown
}

func (e *Env) Did(d Doing) {
	d.At = e.Now()
	e.Doings = append(e.Doings, d)
	e.Kept.did(d)
}

// Took is what a record of this session took out of a queue; nil: unknown.
func (e *Env) Took(record int64, queue model.QueueRef) map[message.Fingerprint]int {
	for _, d := range slices.Backward(e.Doings) {
		if d.Record == record && d.Queue == queue {
			return d.Gone
		}
	}
	return nil
}

// Among splits rows into those of some messages and the others; all is false when a message has no row.
func Among[R any](
	rows []R, messages map[message.Fingerprint]int, of func(R) message.Fingerprint,
) (these, others []R, all bool) {
	missing := maps.Clone(messages)
	for _, r := range rows {
		if f := of(r); missing[f] > 0 {
			these = append(these, r)
			missing[f]--
		} else {
			others = append(others, r)
		}
	}
	for _, n := range missing {
		if n > 0 {
			return these, others, false
		}
	}
	return these, others, len(these) > 0
}

// mostUnsettled bounds how many queues are counted because of actions.
const mostUnsettled = 100

// Unsettled are the queues of recent actions that the statistics may not include yet: they are counted, because polls
// would still show replayed messages at their old place.
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

// Since are the doings that a list has not processed yet, and marks them as processed.
func (e *Env) Since(taken *int) []Doing {
	later := e.Doings[*taken:]
	*taken = len(e.Doings)
	return later
}

func (d *Doing) Count() (n int64) {
	for _, twins := range d.Gone {
		n += int64(twins)
	}
	return n
}
