package causes

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
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// How failed queues are read automatically, for their causes.
const (
	// Page is how many messages of a failed queue are read automatically, from its head.
	Page = 1000
	// LooksAMinute is how many messages a minute are reread automatically, at most: a failed queue that fills all the time
	// must not be read all the time. First reads, and requested ones, do not count.
	LooksAMinute = 20_000
	// Pause is how long a queue is left alone after a look, unless one is requested.
	Pause = 10 * time.Second
	// Retry is how long a queue is left alone after a failed look.
	Retry = 30 * time.Second
	// causesTrend is the time span of a cause's trend, which is updated each minute.
	causesTrend = time.Hour
	causesSteps = 9 // of it
	// causesBytes bounds the bodies of one look; they are on disk, and only while it is processed.
	causesBytes = 64 << 20
)

// Reading is what was read of failed queues, and what to read next: one queue at a time. It is only changed by Update
// and Prepare of its screen; the command in flight owns the groups.
type Reading struct {
	Env      *shell.Env
	Groups   *cause.Groups
	Queues   map[model.QueueRef]*Queue
	Broker   string           // the name of its cluster
	Order    []*Queue         // as in the topology
	gone     []model.QueueRef // deleted queues whose messages are still in the groups
	done     int              // how many doings since the start are taken in
	leaving  []shell.Doing    // those not applied to the groups yet
	unknown  []model.QueueRef // those for which the index is no longer valid
	Request  shell.Request    // the look in flight; 0: none
	at       *Queue           // of that look; nil: no queue is read
	wish     causesWish       // what that look was to answer
	topology *model.Topology  // of the last poll; nil before the first one, and while the screen is hidden
	spent    []spending       // what was reread in the last minute
	List     []cause.Group
	recent   map[cause.ID][]float64
	listed   time.Time // when these were worked out
	own      bool      // the last rows that left the list did so because of an action, or a key that reads
	read     int       // their messages
	all      bool      // it is about all failed queues, not those of one flow
	asks     asking
	asked    []*Queue // about which
}

type spending struct {
	at       time.Time
	messages int
}

// Queue is a failed queue with what was read of it.
type Queue struct {
	Ref       model.QueueRef
	Ready     model.Opt[int64] // by the newest poll
	CountedAt time.Time
	Plan      peek.Plan // of the next look
	Limit     int       // messages that it requests
	causesWish

	ReadAt  time.Time        // when the last successful look began; zero: none
	Read    int64            // messages, by that look
	Depth   model.Opt[int64] // of the queue, as that look counted it
	stopped string           // why it has not read all that was requested
	err     error            // of the last look
	refusal peek.Refusal     // what stopped the last look
	triedAt time.Time
	settled time.Time // when an action last changed the queue; older counts are outdated

	begun   bool           // a look that costs has begun by itself since the start: no other one does
	sought  bool           // in the index
	Earlier *cause.Earlier // what is shown of it is from the index; nil: it was read, or nothing is shown
}

// causesWish is what the user wants of a queue.
type causesWish struct {
	Wanted bool // by a key, whatever the counts say
	Agreed bool // to the cost of the next look
}

// ReadMsg is the answer to a look.
type ReadMsg struct {
	Request shell.Request
	At      time.Time // when the look began
	Looked  bool      // at a queue; otherwise queues were removed
	before  time.Time // when a look of another screen read its messages; zero: this one did
	Read    int64
	Depth   model.Opt[int64]
	stopped string
	List    []cause.Group
	all     int
	recent  map[cause.ID][]float64 // failures in each step of the last hour
	Marks   shell.MarkedMsg
	Err     error

	recalled []recalledQueue          // from the index
	left     map[model.QueueRef]int64 // messages that actions of this program took out
}

func NewReading(e *shell.Env) *Reading {
	return &Reading{
		Env: e, Groups: cause.NewGroups(), Queues: map[model.QueueRef]*Queue{}, done: e.Done(),
	}
}

// Polled applies a poll: these are the failed queues now.
func (c *Reading) Polled(t *model.Topology, refs []model.QueueRef) {
	c.catchUp()
	c.Order = nil
	c.Broker = t.Snapshot.Overview.ClusterName
	c.topology = t

	present := make(model.QueueSet, len(refs))
	for _, ref := range refs {
		present[ref] = true
		q := c.Queues[ref]
		if q == nil {
			q = &Queue{Ref: ref, Limit: Page}
			c.Queues[ref] = q
		}

		c.Order = append(c.Order, q)
		q.Ready = model.Opt[int64]{}
		q.CountedAt = time.Time{}
		if now, ok := t.Queue(ref); ok && !now.CountedAt.Before(q.settled.Add(model.StatisticsLag)) {
			q.Ready, q.CountedAt = now.Ready, now.CountedAt
		}

		q.Plan = peek.For(t, ref, peek.Want{
			Limit: q.Limit, MaxBytes: causesBytes, Whole: true, ReadOnly: c.Env.ReadOnly,
		})
		c.withdraw(q)
	}

	for ref, q := range c.Queues {
		if !present[ref] && q != c.at {
			delete(c.Queues, ref)
			c.gone = append(c.gone, ref)
		}
	}
}

// rest releases the poll of a hidden screen. What was read stays, and the next poll comes before the screen is seen.
func (c *Reading) rest() { c.topology = nil }

// total returns how many messages the queue has, as far as known: by the newer of the poll and the look.
func (q *Queue) total() model.Opt[int64] {
	if !q.ReadAt.IsZero() && (!q.Ready.Known() || q.CountedAt.Before(q.ReadAt)) {
		return q.Depth
	}
	return q.Ready
}

// left returns how many of them were not read, as far as known.
func (q *Queue) left() int64 { return max(q.total().Or(0)-q.Read, 0) }

// changed reports whether another look would show other messages: the queue's depth has changed. Messages behind a full
// page are not on that page.
func (q *Queue) changed() bool {
	ready, known := q.Ready.Get()
	if !known || q.CountedAt.Before(q.ReadAt) {
		return false
	}
	depth := q.Depth.Or(q.Read)
	return ready < depth || ready > depth && q.Read < int64(q.Limit)
}

// kept reports whether the messages of a queue that were not read, or only known from the index, are at hand: a look
// of another screen has read them.
func (c *Reading) kept(q *Queue) bool {
	return !q.Plan.Free && !q.Agreed && (q.ReadAt.IsZero() || q.Earlier != nil) && c.Env.Peeks.Has(q.Ref, 0)
}

// byItself returns the plan of a look that costs and may begin without a key: once since the start, for a queue of
// which nothing is known. A queue that fills, or from which messages are taken, would soon use up its delivery limit.
func (c *Reading) byItself(q *Queue) (peek.Plan, bool) {
	if q.begun || !q.ReadAt.IsZero() || q.err != nil {
		return q.Plan, false
	}
	return c.Env.LookConsent(c.Broker).Begins(q.Plan)
}

func (c *Reading) due(q *Queue, now time.Time) bool {
	if c.kept(q) {
		return true
	}
	if !q.Plan.Allowed() {
		return false
	}
	if _, begins := c.byItself(q); !q.Plan.Free && !q.Agreed && !begins {
		return false
	}

	switch {
	case q.Wanted:
		return true
	case q.err != nil && now.Sub(q.triedAt) < Retry:
		return false
	case q.ReadAt.IsZero():
		return q.Ready.Or(0) > 0
	case q.Earlier != nil:
		return true
	}

	return q.changed() && now.Sub(q.ReadAt) >= Pause
}

// growth is by how much the queue differs from what was read of it.
func (q *Queue) growth() int64 {
	by := q.Ready.Or(0) - q.Depth.Or(q.Read)
	return max(by, -by)
}

// Next starts the next look, when one is due and none is in flight: first requested ones, then queues never read,
// fullest first, then those that changed most.
func (c *Reading) Next(now time.Time) tea.Cmd {
	if c.Request != 0 || c.Env.Broker == nil {
		return nil
	}
	c.catchUp()
	if cmd := c.seek(now); cmd != nil {
		return cmd
	}
	var best *Queue
	for _, q := range c.Order {
		if c.due(q, now) && (q.first() || c.affords(q, now)) &&
			(best == nil || q.before(best)) {
			best = q
		}
	}

	if best == nil && len(c.gone) == 0 && len(c.leaving) == 0 && (c.read == 0 || now.Sub(c.listed) < time.Minute) {
		return nil
	}
	if best != nil && !best.first() {
		c.spent = append(c.spent, spending{now, int(min(best.Ready.Or(0), int64(best.Limit)))})
	}

	return c.Look(best)
}

// first reports whether a look at the queue is outside the budget: it is requested, or the first one since the start.
func (q *Queue) first() bool {
	return q.Wanted || q.ReadAt.IsZero() || q.Earlier != nil && q.Limit <= Page
}

func (q *Queue) before(other *Queue) bool {
	first := func(q *Queue) int {
		switch {
		case q.Wanted:
			return 0
		case q.ReadAt.IsZero():
			return 1
		}
		return 2
	}

	return cmp.Or(cmp.Compare(first(q), first(other)), cmp.Compare(other.growth(), q.growth())) < 0
}

// affords reports whether rereading a queue is within the budget of a minute.
func (c *Reading) affords(q *Queue, now time.Time) bool {
	c.spent = slices.DeleteFunc(c.spent, func(s spending) bool { return now.Sub(s.at) >= time.Minute })
	sum := min(q.Ready.Or(0), int64(q.Limit))
	for _, s := range c.spent {
		sum += int64(s.messages)
	}
	return sum <= LooksAMinute || len(c.spent) == 0
}

// Look reads a queue, and removes deleted ones; nil reads none.
func (c *Reading) Look(q *Queue) tea.Cmd {
	now, groups := c.Env.Now(), c.Groups
	var plan peek.Plan
	var ready model.Opt[int64]
	looker := caching{peeker: c.Env.Quiet, cache: &c.Env.Peeks}

	if q != nil {
		plan, ready = q.Plan, q.Ready
		if looker.lends = c.kept(q); !looker.lends && !q.Agreed && !plan.Free {
			plan, _ = c.byItself(q)
			q.begun = true
		}

		c.wish = q.causesWish
		q.causesWish = causesWish{}
		q.triedAt = now
	}

	background, index := c.Env.Background, c.index()
	return c.command(q, now, plan.Timeout+messages.PeekGrace, func(ctx context.Context, msg *ReadMsg) {
		if plan.Method == "" {
			return
		}
		msg.Looked = true
		msg.Err = background.Run(ctx, func(ctx context.Context) error { return msg.group(ctx, looker, plan, groups) })
		if msg.Err == nil {
			depth := msg.Depth.Or(max(ready.Or(0), msg.Read))
			index.Save(groups, plan.Queue, cause.Earlier{At: msg.takenAt(), Depth: depth})
		}
	})
}

type peeker interface {
	Peek(ctx context.Context, p peek.Plan) (peek.Peeked, error)
}

// caching caches its peeks, or only reads from the cache.
type caching struct {
	peeker
	cache *peek.Cache
	lends bool // it peeks at no queue
}

func (c caching) Peek(ctx context.Context, plan peek.Plan) (peek.Peeked, error) {
	if !c.lends {
		peeked, err := c.peeker.Peek(ctx, plan)
		if err == nil {
			peeked = c.cache.Add(peeked)
		}
		return peeked, err
	}

	peeked, ok, err := c.cache.Lend(plan.Queue, 0)
	if !ok && err == nil {
		err = context.Canceled // it is not kept any more: what is to be done is decided again
	}

	return peeked, err
}

// command returns the command in flight: it reads a queue (nil: none) after removing what has left the groups.
func (c *Reading) command(
	q *Queue, now time.Time, timeout time.Duration, read func(context.Context, *ReadMsg),
) tea.Cmd {
	c.Request, c.at = c.Env.NewRequest(), q
	msg := ReadMsg{Request: c.Request, At: now}
	forget, finish := c.forgetting(), c.Finishing(q)

	return c.Env.Command(timeout, func(ctx context.Context) tea.Msg {
		forget(&msg)
		read(ctx, &msg)
		finish(&msg)
		return msg
	})
}

func (m *ReadMsg) group(ctx context.Context, from peeker, plan peek.Plan, groups *cause.Groups) error {
	peeked, err := from.Peek(ctx, plan)
	if err != nil {
		if peeked.Messages != nil {
			_ = peeked.Messages.Close()
		}
		return err
	}

	defer peeked.Messages.Close()
	m.Depth, m.stopped = peeked.Depth, peeked.Stopped
	if peeked.TakenAt.Before(m.At) {
		m.before = peeked.TakenAt
	}

	groups.Forget(plan.Queue)
	err = message.Each(peeked.Messages, shell.ShownBody, func(one *message.Message) { groups.Add(plan.Queue, one) })
	if err != nil {
		groups.Forget(plan.Queue)
		return err
	}

	m.Read = int64(peeked.Messages.Len())
	return nil
}

// takenAt returns when its messages were read. It is never zero, which would mean that the queue was not read: then it
// would be read again and again.
func (m *ReadMsg) takenAt() time.Time {
	if m.before.IsZero() {
		return m.At
	}
	return m.before
}

func (c *Reading) Answered(msg ReadMsg) bool {
	if msg.Request != c.Request {
		return false
	}
	q := c.at
	c.own = len(msg.left) > 0 || q != nil && c.wish.Wanted
	for ref, n := range msg.left {
		if left := c.Queues[ref]; left != nil {
			left.Read = max(left.Read-n, 0)
		}
	}

	c.Request, c.at = 0, nil
	c.List = msg.List
	c.read = msg.all
	c.recent = msg.recent
	c.listed = msg.At
	c.addRecalled(msg.recalled)
	if !msg.Looked {
		return true
	}

	c.Env.Meet(msg.List, msg.Marks.States, q.Ref, msg.Err == nil && !q.ReadAt.IsZero() && q.Earlier == nil)
	q.err, q.refusal = msg.Err, nil
	var limit peek.RefusedLook
	switch {
	case errors.As(msg.Err, &limit):
		q.refusal = limit.Refusal()
	case errors.Is(msg.Err, context.Canceled): // it gave way to a requested look
		q.err = nil
		q.Wanted = q.Wanted || c.wish.Wanted
		q.Agreed = q.Agreed || c.wish.Agreed
	case msg.Err == nil:
		q.ReadAt = msg.takenAt()
		q.Read = msg.Read
		q.stopped = msg.stopped
		q.Earlier = nil
		q.Depth = model.Some(msg.Depth.Or(max(q.Ready.Or(0), msg.Read))) // a stream has no depth of its own
	}

	return true
}

// Shows reports whether it is about a queue.
func (c *Reading) Shows(ref model.QueueRef) bool { return c.Queues[ref] != nil }

// first reports whether queues are still to be read for the first time.
func (c *Reading) first(now time.Time) bool {
	return c.Env.Broker != nil && slices.ContainsFunc(c.Order, func(q *Queue) bool {
		return q.ReadAt.IsZero() && (c.due(q, now) || q == c.at)
	})
}

// rereadFree rereads all queues that can be read without asking.
func (c *Reading) rereadFree() {
	for _, q := range c.Queues {
		q.Wanted = q.Wanted || q.Plan.Allowed() && q.Plan.Free && (q.Ready.Or(1) > 0 || q.Read > 0)
	}
}

// More returns how many queues have further messages to read on.
func (c *Reading) More() int { return len(c.of((*Queue).extends)) }

// extends reports whether more of a queue can be read. Where a look costs, it has read all that there was, so that is
// what came since.
func (q *Queue) extends() bool {
	if !q.Plan.Allowed() || q.ReadAt.IsZero() || q.left() == 0 {
		return false
	}
	if q.Plan.Counts {
		return !q.Agreed && q.stopped == "" && q.Read < peek.MostLook
	}
	full := q.Read >= int64(q.Limit) && q.Limit < messages.PeekMost
	failed := q.err != nil && q.Read < int64(q.Limit) // as many as requested
	return q.Plan.Free && (full || failed)
}

// Extend reads on, and asks first where that has a cost.
func (c *Reading) Extend() {
	var costly []*Queue
	for _, q := range c.Order {
		switch {
		case !q.extends():
		case !q.Plan.Free:
			costly = append(costly, q)
		default:
			if q.Read >= int64(q.Limit) {
				q.Limit = min(q.Limit*messages.PeekFactor, messages.PeekMost)
			}
			q.Plan.Limit, q.Wanted = q.Limit, true
		}
	}

	c.ask(costly)
}

// Costly returns the queues with messages where a look has a cost, and needs agreement: those that were not read,
// otherwise those that an earlier start has read.
func (c *Reading) Costly() []*Queue {
	var queues, earlier []*Queue
	for _, q := range c.Order {
		switch {
		case !q.Plan.Allowed() || q.Plan.Free:
		case q.Agreed || q == c.at && c.wish.Agreed: // its look is in flight
		case c.kept(q):
		case q.left() > 0 && (q.ReadAt.IsZero() || q.Earlier != nil || !q.Plan.Counts):
			queues = append(queues, q)
		case q.Earlier != nil:
			earlier = append(earlier, q)
		}
	}

	if len(queues) == 0 {
		return earlier
	}

	return queues
}

func (c *Reading) limitOf(ref model.QueueRef) int {
	if q := c.Queues[ref]; q != nil {
		return q.Limit
	}
	return Page
}
