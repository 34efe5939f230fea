package shell

import (
	"maps"
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/polls"
)

// Doing is what an action of this program did to a queue. It keeps lists up to date that were read before it.
type Doing struct {
	At      time.Time // when it ended
	Queue   model.QueueRef
	Gone    message.Twins // messages that left the queue
	Record  int64         // of the journal; 0 for none
	Back    int           // messages that an undo brought back
	Came    message.Twins // which ones; nil: unknown
	Unclear bool          // which messages came or left is unknown
}

// Did remembers it.
func (e *Env) Did(d Doing) {
	d.At = e.Now()
	e.doings = append(e.doings, d)
	e.Peeks.Apply(d.Queue, peek.Change{Gone: d.Gone, Came: d.Came, Unclear: d.Unclear || d.Back > 0})
}

// Done returns how many doings there were.
func (m *Memory) Done() int { return len(m.doings) }

// SetActing says whether an action takes messages of a queue now.
func (m *Memory) SetActing(queue model.QueueRef, now bool) {
	model.Put(&m.acting, queue, now)
}

func (m *Memory) Acting(queue model.QueueRef) bool { return m.acting[queue] }

// ActTogether remembers the records of the last action: none, unless it was on several queues.
func (m *Memory) ActTogether(records ...int64) { m.together = records }

func (m *Memory) Together() []int64 { return m.together }

// Took returns what a record of this session took out of a queue; nil: unknown.
func (e *Env) Took(record int64, queue model.QueueRef) message.Twins {
	for _, d := range slices.Backward(e.doings) {
		if d.Record == record && d.Queue == queue {
			return d.Gone
		}
	}

	return nil
}

// Among splits rows into those of some messages and the others; all is false when a message has no row.
func Among[R any](
	rows []R, messages message.Twins, of func(R) message.Fingerprint,
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

// mostUnsettled bounds how many queues are counted because of actions, and because they are new.
const mostUnsettled = 100

// Unsettled returns the queues of recent actions that the statistics may not include yet: they are counted, because
// polls would still show replayed messages at their old place.
func (e *Env) Unsettled() (queues []model.QueueRef) {
	for _, d := range slices.Backward(e.doings) {
		if e.Shown.Sub(d.At) > model.LateStatistics+CountedFor || len(queues) == mostUnsettled {
			break
		}
		if !slices.Contains(queues, d.Queue) {
			queues = append(queues, d.Queue)
		}
	}

	return queues
}

// appearance is a queue that polls have not known for long.
type appearance struct {
	queue model.QueueRef
	at    time.Time
}

// Appeared notes the queues of flows that the topology before did not have.
func (e *Env) Appeared(before, now *model.Topology) {
	appeared, _ := now.CountableOf(slices.DeleteFunc(polls.QueuesOfFlows(now), func(ref model.QueueRef) bool {
		if before == nil {
			return false
		}
		_, known := before.Queue(ref)
		return known
	}))
	for _, ref := range appeared[:min(len(appeared), mostUnsettled)] {
		e.appeared = append(e.appeared, appearance{ref, e.Now()})
	}
}

// Fresh returns the queues that have just appeared: they are counted, because statistics say nothing of new quorum
// queues for seconds (4.0.5), or 0 (4.3.6).
func (e *Env) Fresh() []model.QueueRef {
	e.appeared = slices.DeleteFunc(e.appeared, func(a appearance) bool { return e.Shown.Sub(a.at) > model.LateStatistics })
	return model.Mapped(e.appeared, func(a *appearance) model.QueueRef { return a.queue })
}

// Since returns the doings that a list has not processed yet, and marks them as processed.
func (e *Env) Since(taken *int) []Doing {
	later := e.doings[*taken:]
	*taken = len(e.doings)
	return later
}

func (d *Doing) Count() (n int64) {
	for _, twins := range d.Gone {
		n += int64(twins)
	}
	return n
}
