package plan

import (
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// Resuming is how an execution resumes a record whose program died, or that ended early.
type Resuming struct {
	Record int64               // the one that it resumes
	Began  time.Time           // when the first of them began: what it processes was in the queue by then
	Undoes int64               // for an undo: the record that is undone
	Back   model.QueueRef      // for an undo: where its messages go
	Found  map[int64][]Settled // outcomes of uncertain messages, by record: recorded when it begins
	Acks   []Arrived           // these have arrived: their originals are acknowledged first
	Left   int64               // messages of the queue that the record had still to process
	Gone   int                 // messages that it took out ahead of them
	Moved  int                 // those of them that it sent, as far as known
}

// Arrived is a message whose copy is in its target while the original is still in its queue.
type Arrived struct {
	Record      int64
	Position    int
	Fingerprint message.Fingerprint // the original's
}

// unsure returns how many messages of the earlier records stay unknown.
func (g *Resuming) unsure() (n int) {
	for _, settled := range g.Found {
		for _, s := range settled {
			if s.Outcome == Unsure {
				n++
			}
		}
	}

	return n - len(g.Acks) // these are unknown until they are acknowledged
}

// Early reports whether a record ended before the end of its plan.
func (r *Record) Early() bool { return r.Unfinished() || r.Account.Stopped != "" }

// Resumable reports whether there may be something to resume.
func (r *Record) Resumable() bool {
	return r.Operation != Rescue && !r.Running && r.ResumedBy == 0 && r.Undone == 0 && (r.Early() || r.Uncertain() > 0)
}

// Down returns why a queue of the record cannot be used; nil when all can, or are gone.
func (r *Record) Down(t *model.Topology) error {
	for _, ref := range r.Queues() {
		if t.Known(ref).Outage() != model.NoOutage {
			return model.Errorf("%v: %w", ref, model.ErrQueueDown)
		}
	}

	return nil
}

// IsBack reports whether the queues have at least the messages that a record which ended early must have left, by the
// counts of its Queues: in its source queue, those without an intention; in source and targets together, all of them as
// long as the targets have no consumers.
func (r *Record) IsBack(counts model.CountsByQueue) bool {
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

// Queues returns the source and target queues of a record, as far as it says.
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
