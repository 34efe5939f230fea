package ui

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/ports"
)

// How failed queues are read by themselves, for their causes.
const (
	// causesPage is how many messages of a failed queue are read without being asked for, from its head.
	causesPage = 1000
	// causesAMinute is how many messages a minute are read again by itself, at most: a failed queue that fills all the
	// time must not be read all the time. What was never read, and what is asked for, does not count.
	causesAMinute = 20_000
	// causesPause is how long a queue is left alone after a look, unless it is asked for.
	causesPause = 10 * time.Second
	// causesRetry is how long a queue is left alone when it could not be read.
	causesRetry = 30 * time.Second
	// causesTrend is the time that the trend of a cause is about. It is worked out again each minute.
	causesTrend = time.Hour
	causesSteps = 9 // of it
	// causesBytes bounds the bodies of one look; they are on disk, and only while it is worked through.
	causesBytes = 64 << 20
)

// causesReading is what was read of failed queues, and what is to be read next: one queue at a time. It is changed by
// Update and Prepare of its screen only; the command in flight has the groups.
type causesReading struct {
	env     *env
	groups  *cause.Groups
	queues  map[model.QueueRef]*causesQueue
	broker  string           // the name of its cluster
	order   []model.QueueRef // of the queues, as the topology has them
	gone    []model.QueueRef // queues that are no longer there, whose messages are still among the groups
	done    int              // of the doings since the start: these are taken in
	leaving []doing          // that the groups have not taken in yet
	unknown []model.QueueRef // of these, what the index has of them holds no more
	request request          // the look in flight; 0: none
	at      *causesQueue     // of that look; nil: none is read
	wish    causesWish       // what that look was to answer
	spent   []spending       // what was read again in the last minute
	list    []cause.Group
	recent  map[cause.ID][]float64
	listed  time.Time // when these were worked out
	own     bool      // what left the list last did so by an action, or by a key that reads
	read    int       // messages that these have
}

type spending struct {
	at       time.Time
	messages int
}

// causesQueue is a failed queue with what was read of it.
type causesQueue struct {
	ref       model.QueueRef
	workers   []string         // that fail into it
	ready     model.Opt[int64] // by the newest poll
	countedAt time.Time
	plan      peek.Plan // of the next look
	limit     int       // messages that it asks for
	causesWish

	readAt  time.Time        // when the last look began that ended well; zero: none did
	read    int64            // messages, by that look
	depth   model.Opt[int64] // of the queue, as that look counted it
	stopped string           // why it has not read all that it asked for
	err     error            // of the last look
	refusal peek.Refusal     // what the last look met
	triedAt time.Time
	settled time.Time // when an action last changed the queue; older counts say nothing

	sought  bool           // in the index
	earlier *cause.Earlier // what is shown of it is of the index; nil: it was read, or nothing of it is shown
}

// causesWish is what a person wants of a queue.
type causesWish struct {
	wanted bool // by a key, whatever the counts say
	agreed bool // to what the next look costs
}

// causesReadMsg is the answer to a look.
type causesReadMsg struct {
	request request
	at      time.Time // when the look began
	looked  bool      // at a queue; else queues were forgotten
	read    int64
	depth   model.Opt[int64]
	stopped string
	list    []cause.Group
	all     int
	recent  map[cause.ID][]float64 // failures in each step of the last hour
	marks   markedMsg
	err     error

	recalled []recalledQueue          // from the index
	left     map[model.QueueRef]int64 // messages that actions of this program took out
}

func newCausesReading(e *env) *causesReading {
	return &causesReading{
		env: e, groups: cause.NewGroups(), queues: map[model.QueueRef]*causesQueue{}, done: len(e.doings),
	}
}

// polled takes a poll: these are the failed queues now.
func (c *causesReading) polled(t *model.Topology, rows []failedRow) {
	c.catchUp()
	c.order, c.broker = c.order[:0:0], t.Snapshot.Overview.ClusterName
	present := make(map[model.QueueRef]bool, len(rows))
	for i := range rows {
		ref := rows[i].Queue
		c.order, present[ref] = append(c.order, ref), true
		q := c.queues[ref]
		if q == nil {
			q = &causesQueue{ref: ref, limit: causesPage}
			c.queues[ref] = q
		}
		q.workers = t.WorkersOf(ref)
		q.ready, q.countedAt = model.Opt[int64]{}, time.Time{}
		if now, ok := t.Queue(ref); ok && !q.outdated(now.CountedAt) {
			q.ready, q.countedAt = now.Ready, now.CountedAt
		}
		q.plan = peek.For(t, ref, peek.Want{Limit: q.limit, MaxBytes: causesBytes, ReadOnly: c.env.readOnly})
		c.withdraw(q)
	}
	for ref, q := range c.queues {
		if !present[ref] && q != c.at {
			delete(c.queues, ref)
			c.gone = append(c.gone, ref)
		}
	}
}

// total is how many messages the queue holds, as far as is known: by the newest of the poll and the look.
func (q *causesQueue) total() model.Opt[int64] {
	if !q.readAt.IsZero() && (!q.ready.Known() || q.countedAt.Before(q.readAt)) {
		return q.depth
	}
	return q.ready
}

// left is how many of them were not read, as far as is known.
func (q *causesQueue) left() int64 { return max(q.total().Or(0)-q.read, 0) }

// changed reports whether another look would show others: the queue holds more or fewer messages than it did. What
// came behind a page that was full is not on that page.
func (q *causesQueue) changed() bool {
	ready, known := q.ready.Get()
	if !known || q.countedAt.Before(q.readAt) {
		return false
	}
	depth := q.depth.Or(q.read)
	return ready < depth || ready > depth && q.read < int64(q.limit)
}

// due reports whether the queue is to be read now.
func (q *causesQueue) due(now time.Time) bool {
	switch {
	case !q.plan.Allowed() || !q.plan.Free && !q.agreed:
		return false
	case q.wanted:
		return true
	case q.err != nil && now.Sub(q.triedAt) < causesRetry:
		return false
	case q.readAt.IsZero():
		return q.ready.Or(0) > 0
	case q.earlier != nil:
		return true
	}
	return q.changed() && now.Sub(q.readAt) >= causesPause
}

// growth is by how much the queue differs from what was read of it.
func (q *causesQueue) growth() int64 {
	by := q.ready.Or(0) - q.depth.Or(q.read)
	return max(by, -by)
}

// next starts the next look, when one is due and none is in flight: what is asked for first, then what was never read,
// the fullest first, then what has changed most.
func (c *causesReading) next(now time.Time) tea.Cmd {
	if c.request != 0 || c.env.broker == nil {
		return nil
	}
	c.catchUp()
	if cmd := c.seek(now); cmd != nil {
		return cmd
	}
	var best *causesQueue
	for _, ref := range c.order {
		if q := c.queues[ref]; q.due(now) && (q.first() || c.affords(q, now)) &&
			(best == nil || q.before(best)) {
			best = q
		}
	}
	if best == nil && len(c.gone) == 0 && len(c.leaving) == 0 && (c.read == 0 || now.Sub(c.listed) < time.Minute) {
		return nil
	}
	if best != nil && !best.first() {
		c.spent = append(c.spent, spending{now, int(min(best.ready.Or(0), int64(best.limit)))})
	}
	return c.look(best)
}

// first reports whether a look at the queue is outside the budget: it is asked for, or the first one at this start.
func (q *causesQueue) first() bool {
	return q.wanted || q.readAt.IsZero() || q.earlier != nil && q.limit <= causesPage
}

// before reports whether the queue is read before another one.
func (q *causesQueue) before(other *causesQueue) bool {
	first := func(q *causesQueue) int {
		switch {
		case q.wanted:
			return 0
		case q.readAt.IsZero():
			return 1
		}
		return 2
	}
	return cmp.Or(cmp.Compare(first(q), first(other)), cmp.Compare(other.growth(), q.growth())) < 0
}

// affords reports whether a queue can be read again within what a minute allows.
func (c *causesReading) affords(q *causesQueue, now time.Time) bool {
	c.spent = slices.DeleteFunc(c.spent, func(s spending) bool { return now.Sub(s.at) >= time.Minute })
	sum := min(q.ready.Or(0), int64(q.limit))
	for _, s := range c.spent {
		sum += int64(s.messages)
	}
	return sum <= causesAMinute || len(c.spent) == 0
}

// look reads a queue, and forgets those that are gone; nil reads none.
func (c *causesReading) look(q *causesQueue) tea.Cmd {
	c.request, c.at = c.env.newRequest(), q
	groups, now, forget := c.groups, c.env.now(), c.forgetting()
	msg := causesReadMsg{request: c.request, at: now}
	var plan peek.Plan
	var ready model.Opt[int64]
	if q != nil {
		plan, ready = q.plan, q.ready
		c.wish, q.causesWish, q.triedAt = q.causesWish, causesWish{}, now
	}
	quiet, index, broker, finish := c.env.quiet, c.env.index, c.broker, c.finishing(q)
	return c.env.command(plan.Timeout+peekGrace, func(ctx context.Context) tea.Msg {
		forget(&msg)
		if plan.Method != "" {
			msg.looked = true
			msg.err = quiet.run(ctx, func(ctx context.Context) error { return msg.group(ctx, quiet.looker, plan, groups) })
			if msg.err == nil {
				msg.keep(index, broker, plan.Queue, ready, groups)
			}
		}
		finish(&msg)
		return msg
	})
}

// group reads a queue, and puts its messages in the place of those that were read of it before.
func (m *causesReadMsg) group(
	ctx context.Context, looker ports.Looker, plan peek.Plan, groups *cause.Groups,
) error {
	peeked, err := looker.Peek(ctx, plan)
	if err != nil {
		if peeked.Messages != nil {
			_ = peeked.Messages.Close()
		}
		return err
	}
	defer peeked.Messages.Close()
	m.depth, m.stopped = peeked.Depth, peeked.Stopped
	groups.Forget(plan.Queue)
	err = message.Each(peeked.Messages, shownBody, func(one *message.Message) { groups.Add(plan.Queue, one) })
	if err != nil {
		groups.Forget(plan.Queue)
		return err
	}
	m.read = int64(peeked.Messages.Len())
	return nil
}

// answered takes the answer to the look in flight.
func (c *causesReading) answered(msg causesReadMsg) bool {
	if msg.request != c.request {
		return false
	}
	q := c.at
	c.own = len(msg.left) > 0 || q != nil && c.wish.wanted
	for ref, n := range msg.left {
		if left := c.queues[ref]; left != nil {
			left.read = max(left.read-n, 0)
		}
	}
	c.request, c.at = 0, nil
	c.list, c.read, c.recent, c.listed = msg.list, msg.all, msg.recent, msg.at
	c.take(msg.recalled)
	if !msg.looked {
		return true
	}
	q.err, q.refusal = msg.err, nil
	var limit peek.RefusedLook
	switch {
	case errors.As(msg.err, &limit):
		q.refusal = limit.Refusal()
	case errors.Is(msg.err, context.Canceled): // it gave way to a look that was asked for
		q.err = nil
		q.wanted, q.agreed = q.wanted || c.wish.wanted, q.agreed || c.wish.agreed
	case msg.err == nil:
		q.readAt, q.read, q.stopped, q.earlier = msg.at, msg.read, msg.stopped, nil
		q.depth = model.Some(msg.depth.Or(max(q.ready.Or(0), msg.read))) // a stream has no depth of its own
	}
	return true
}

// first reports whether queues are still to be read for the first time.
func (c *causesReading) first(now time.Time) bool {
	return c.env.broker != nil && slices.ContainsFunc(c.order, func(ref model.QueueRef) bool {
		q := c.queues[ref]
		return q.readAt.IsZero() && (q.due(now) || q == c.at)
	})
}

// again has all queues read again that can be read without being asked.
func (c *causesReading) again() {
	for _, q := range c.queues {
		q.wanted = q.wanted || q.plan.Allowed() && q.plan.Free && (q.ready.Or(1) > 0 || q.read > 0)
	}
}

// more is how many queues have messages behind what was read of them that can be read without being asked.
func (c *causesReading) more() (n int) {
	for _, q := range c.queues {
		if q.extends() {
			n++
		}
	}
	return n
}

func (q *causesQueue) extends() bool {
	full := q.read >= int64(q.limit) && q.limit < peekMost
	failed := q.err != nil && q.read < int64(q.limit) // as many as were asked for
	return q.plan.Allowed() && q.plan.Free && !q.readAt.IsZero() && q.left() > 0 && (full || failed)
}

// extend has more messages read of these queues.
func (c *causesReading) extend() {
	for _, q := range c.queues {
		if q.extends() {
			if q.read >= int64(q.limit) {
				q.limit = min(q.limit*peekFactor, peekMost)
			}
			q.plan.Limit, q.wanted = q.limit, true
		}
	}
}

// costly are the queues with messages where a look has a cost, and which are read only when that is agreed to: those
// with messages that were not read, else those that an earlier start has read.
func (c *causesReading) costly() []*causesQueue {
	var queues, earlier []*causesQueue
	for _, ref := range c.order {
		switch q := c.queues[ref]; {
		case !q.plan.Allowed() || q.plan.Free:
		case q.left() > 0:
			queues = append(queues, q)
		case q.earlier != nil:
			earlier = append(earlier, q)
		}
	}
	if len(queues) == 0 {
		return earlier
	}
	return queues
}

// agree has them read.
func (c *causesReading) agree() {
	for _, q := range c.costly() {
		q.wanted, q.agreed = true, true
	}
}

// asked reports whether queues that a key asked for are still to be read.
func (c *causesReading) asked() bool {
	return slices.ContainsFunc(c.order, func(ref model.QueueRef) bool { return c.queues[ref].wanted })
}

// limitOf is how many messages of a queue its looks ask for.
func (c *causesReading) limitOf(ref model.QueueRef) int {
	if q := c.queues[ref]; q != nil {
		return q.limit
	}
	return causesPage
}
