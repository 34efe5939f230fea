package cli

import (
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/ports"
)

// index is where what is read of failed queues is kept; nil is nowhere.
func (s *session) index(t *model.Topology) ports.Index {
	if s.program.Index == nil || t.Snapshot.Overview.ClusterName == "" {
		return nil
	}
	return s.program.Index(s.connection)
}

// recall takes what was kept of a queue that is not read now, and why; all else of it was not read. When messages have
// left it since, which ones is unknown, so nothing holds any more.
func (r *reading) recall(t *model.Topology, ref model.QueueRef, why string) {
	q, broker := queueOf(t, ref), t.Snapshot.Overview.ClusterName
	if r.index != nil {
		kept, err := r.index.Load(cause.IndexName(broker, ref))
		var e cause.Earlier
		if err == nil && kept != nil {
			e, err = r.groups.Recall(kept, broker, ref)
		}
		switch {
		case err != nil || e.Messages == 0:
		case e.Left(q.Ready, q.CountedAt):
			r.groups.Forget(ref)
			_ = r.index.Save(cause.IndexName(broker, ref), nil)
		default:
			r.recalls[ref] = true
			r.earlier = append(r.earlier, earlierJSON{ref.String(), e.Messages, message.JSONTime(e.At), why, e.At})
			depth := e.Depth // a count from before the reading is older than what the reading counted
			if ready, known := q.Ready.Get(); known && q.CountedAt.After(e.At) {
				depth = ready
			}
			r.ready += depth - q.Ready.Or(0)
			if rest := depth - int64(e.Messages); rest > 0 {
				r.noteUnread(ref, model.Some(rest), why)
			}
			return
		}
	}
	r.noteUnread(ref, q.Ready, why)
}

// keepRead keeps what was read of a queue. Where it cannot be written, the next command reads.
func (r *reading) keepRead(t *model.Topology, ref model.QueueRef, began time.Time, peeked *peek.Peeked) {
	if r.index == nil {
		return
	}
	broker, read := t.Snapshot.Overview.ClusterName, int64(peeked.Messages.Len())
	e := cause.Earlier{At: began, Depth: peeked.Depth.Or(max(queueOf(t, ref).Ready.Or(0), read))}
	_ = r.index.Save(cause.IndexName(broker, ref), r.groups.Keep(broker, ref, e))
}

// state is how far people are with a cause, as what was read now has it.
func (r *reading) state(g *cause.Group) cause.State {
	read := cause.Without([]cause.Group{*g}, r.recalls)
	return r.states.Now(&read[0], time.Now()).State
}
