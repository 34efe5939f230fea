package observe

import (
	"context"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/alarm"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/polls"
	"github.com/dlxtop/dlxtop/model/story"
)

const (
	page     = 1000             // messages of a queue that are read, from its head
	bodies   = 64 << 20         // bytes of one look
	stale    = time.Minute      // after that a queue is read again, whatever its counts say
	pollTime = 90 * time.Second // for a poll with its looks
)

// reader polls a broker, and looks at messages where that is free.
type reader struct {
	Session
	budget  int // messages a minute
	spare   float64
	last    polls.Poll
	moves   model.Moves // of the last polls
	history *polls.History
	groups  *cause.Groups
	looked  map[model.QueueRef]looked
	totals  alarm.Totals
}

// looked is the last look at a queue.
type looked struct {
	at    time.Time
	depth int64
	found []findings.Finding // that only its messages show
}

func newReader(s Session, budget int) *reader {
	return &reader{
		Session: s, budget: budget, spare: float64(budget), history: polls.NewHistory(), groups: cause.NewGroups(),
		looked: map[model.QueueRef]looked{}, totals: alarm.Totals{},
	}
}

// poll reads the broker once.
func (r *reader) poll(ctx context.Context) (*alarm.Seen, error) {
	ctx, cancel := context.WithTimeout(ctx, pollTime)
	defer cancel()
	s, err := r.Snapshot(ctx)
	if err != nil {
		return nil, err
	}

	if before := r.last.Topology; before != nil {
		r.spare = min(r.spare+s.TakenAt.Sub(before.Snapshot.TakenAt).Minutes()*float64(r.budget), float64(r.budget))
		s.LeaveOut(r.Broker.Held(s.TakenAt.Add(-model.LateStatistics)), before.Snapshot)
	}

	var found []findings.Finding
	for _, l := range r.looked {
		found = append(found, l.found...)
	}
	r.last = r.last.Next(s, func(t *model.Topology) *model.Topology { return r.Confirm(ctx, t, false) }, found...)
	r.moves = r.last.Recent.Moves()
	r.totals.Add(r.moves)
	r.history.Record(s.TakenAt, r.last.Topology, r.last.Topology.Flows(), r.moves)

	seen := &alarm.Seen{
		Poll: r.last, Now: s.TakenAt, Oldest: r.groups.Oldest, Unread: model.QueueSet{}, Totals: r.totals,
		States: r.States(r.last.Topology),
	}
	// Counts are newer than statistics, which lag by 5 s.
	failed := r.last.Topology.FailedQueues()
	if declare, _ := r.last.Topology.CountableOf(failed); len(declare) > 0 {
		at := time.Now()
		if counts, err := r.Broker.Count(ctx, declare); err == nil {
			seen.Topology = r.last.Topology.Counted([]model.Counts{{At: at, Queues: counts}})
		}
	}

	r.look(ctx, seen, failed)
	seen.Causes = r.groups.List()
	seen.Heads = &polls.Seen{
		Topology: seen.Topology, History: r.history, Looks: func(model.QueueRef) *story.Waits { return nil },
	}
	return seen, ctx.Err()
}

// look reads failed queues for their causes, and buffers whose head may hold up others: where that is free, and what
// changed.
func (r *reader) look(ctx context.Context, seen *alarm.Seen, failed []model.QueueRef) {
	there := model.QueueSet{}
	for _, ref := range failed {
		there[ref] = true
		if !r.read(ctx, seen, ref) && r.looked[ref].at.IsZero() {
			q, _ := seen.Topology.Queue(ref)
			_, known := r.Kept(seen.Topology).Recall(r.groups, ref, q.Ready, q.CountedAt)
			seen.Unsure = seen.Unsure || !known && q.Ready.Or(1) > 0
		}
	}
	for _, ref := range findings.Heads(seen.Topology, false) {
		there[ref] = true
		if !r.read(ctx, seen, ref) {
			seen.Unread[ref] = true
		}
	}

	for ref := range r.looked {
		if !there[ref] {
			r.groups.Forget(ref)
			delete(r.looked, ref)
		}
	}
}

// read makes sure that what is known of a queue is of this poll, by a look if it has changed. It returns false where
// that is not free, or failed, or above the budget.
func (r *reader) read(ctx context.Context, seen *alarm.Seen, ref model.QueueRef) bool {
	q, _ := seen.Topology.Queue(ref)
	plan := peek.For(seen.Topology, ref, peek.Want{Limit: page, MaxBytes: bodies, ReadOnly: true})
	if !plan.Allowed() || !plan.Free || r.budget == 0 {
		return false
	}

	before, again := r.looked[ref]
	ready := q.Ready.Or(before.depth)
	move := r.moves[ref]
	same := ready == before.depth && move.Came.Or(0)+move.Went.Or(0) == 0 && seen.Now.Sub(before.at) < stale
	cost := float64(min(ready, page))
	switch {
	case again && same:
		return true
	case again && cost > r.spare:
		return false
	}

	r.spare -= cost
	if cost == 0 && q.Ready.Known() {
		r.groups.Forget(ref)
		r.looked[ref] = looked{at: seen.Now}
		return true
	}
	peeked, err := r.Broker.Peek(ctx, plan)
	if err != nil {
		return false
	}
	defer peeked.Messages.Close()
	now := looked{at: seen.Now, depth: peeked.Depth.Or(int64(peeked.Messages.Len()))}

	r.groups.Forget(ref)
	if seen.Topology.IsFailed(ref) {
		_ = message.Each(peeked.Messages, message.MaxEnvelope, func(m *message.Message) { r.groups.Add(ref, m) })
	} else {
		now.found = findings.In(seen.Topology, ref, peeked).Found()
	}

	r.looked[ref] = now
	return true
}
