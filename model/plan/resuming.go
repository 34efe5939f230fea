package plan

import (
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// Resuming is how an execution goes on with a record whose program ended in the middle of it, or that ended early.
type Resuming struct {
	Record int64               // that it goes on with
	Undoes int64               // of an undo: the record that is taken back
	Back   model.QueueRef      // of an undo: where its messages go
	Found  map[int64][]Settled // what became of messages that were uncertain, by record: written down when it begins
	Acks   []Arrived           // these have arrived: their originals are acknowledged before anything else
	Left   int64               // messages of the queue that the record would have come to
	Gone   int                 // messages that it took out from in front of them
}

// Arrived is a message whose copy is in its target, and whose original is still in its queue.
type Arrived struct {
	Record      int64
	Position    int
	Fingerprint message.Fingerprint // of the original
}

// Early reports whether a record did not come to the end of its plan.
func (r *Record) Early() bool { return r.Unfinished() || r.Account.Stopped != "" }

// Resumable reports whether there may be something to go on with.
func (r *Record) Resumable() bool {
	return r.Operation != Rescue && !r.Running && r.ResumedBy == 0 && r.Undone == 0 && (r.Early() || r.Uncertain() > 0)
}

// IsBack reports whether as many messages are there as a record that ended early has to have left, by the counts of its
// Queues: in the queue that it took them out of, what it had no intention for; and there and at its targets, as long as
// nobody consumes these, all.
func (r *Record) IsBack(counts map[model.QueueRef]model.QueueCounts) bool {
	in := r.Intent
	if in == nil || r.Operation != Replay && r.Operation != Move && r.Operation != Drop {
		return true
	}
	from, known := counts[in.Source]
	ready, told := from.Ready.Get()
	if !known || !told {
		return true
	}
	if ready < in.Depth-int64(r.Account.Done()+r.Uncertain()) {
		return false
	}
	if r.Operation == Drop {
		return true
	}
	for _, to := range in.Recipients {
		at, known := counts[to.Queue]
		if !known || at.Consumers.Or(1) > 0 {
			return true
		}
		if to.Queue != in.Source {
			ready += at.Ready.Or(0)
		}
	}
	return ready >= in.Depth
}

// Queues are the queues that a record took messages out of and sent them to, as far as it tells.
func (r *Record) Queues() []model.QueueRef {
	queues := []model.QueueRef{r.From}
	if in := r.Intent; in != nil {
		if in.Source.Name != "" && in.Source != r.From {
			queues = append(queues, in.Source)
		}
		for _, to := range in.Recipients {
			if to.Queue != r.From {
				queues = append(queues, to.Queue)
			}
		}
	}
	return queues
}
