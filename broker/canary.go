package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
)

const (
	canaryTick  = 100 * time.Millisecond // between two counts
	canaryQuiet = 500 * time.Millisecond // until messages requeued to the source are counted again
	lookEvery   = time.Second            // between two looks at a queue into which others publish too
)

// canary watches what happens to the messages of a stage: whether consumers took them, and whether some came back into
// the queue. Nothing is held meanwhile, so messages that come back are seen at the end of the queue.
//
// The queue is only searched when it has grown, or when its count cannot show that: a look reads from the head to the
// end.
type canary struct {
	execution *execution
	plan      *plan.Canary
	goOn      <-chan struct{}
	sent      int                      // messages of all stages so far
	hurried   bool                     // the user did not want to wait any longer for this stage
	targets   []*canaryTarget          // reached by the messages of this stage
	before    map[model.QueueRef]int64 // ready messages before this stage, in the queues that the plan reaches
	growth    growth
	until     time.Time // the end of the current wait
	// the management API's counts of them before this stage; empty without statistics
	acksBefore map[model.QueueRef]*model.Queue
	judged     bool // its result is in the account
}

// canaryTarget is a queue that messages of the stage reached. They are taken when it has no ready messages any more, or
// when as many left it as had been there plus those sent.
type canaryTarget struct {
	queue     model.QueueRef
	sent      int64 // in this stage
	behind    int64 // messages that must leave until the last one sent is taken
	ready     int64 // at the last count
	taken     bool
	consumers model.Opt[int64]
}

// growth tracks the count of the queue that the messages came from.
type growth struct {
	since    time.Time // the end of the stage
	old      int64     // messages that were there before, at most
	ready    int64     // ready messages that are accounted for
	unseen   bool      // it has grown since the last look
	silent   bool      // it did not answer the last count
	consumed bool      // it has consumers, so that its count does not show growth
	looked   time.Time
}

func (g *growth) count(ready, consumers int64, held bool, now time.Time) {
	g.consumed = g.consumed || consumers > 0
	switch {
	case ready > g.ready:
		g.unseen, g.ready = true, ready
	case ready < g.ready && !held && now.Sub(g.since) > canaryQuiet:
		g.ready = ready
		g.old = min(g.old, ready)
	}
}

func (c *canary) release(p *message.Publishing) {
	if c == nil {
		return
	}
	c.sent++
	for _, ref := range p.Reaches {
		target := c.target(ref)
		target.behind++
		target.sent++
	}
}

func (c *canary) target(ref model.QueueRef) *canaryTarget {
	if i := slices.IndexFunc(c.targets, func(t *canaryTarget) bool { return t.queue == ref }); i >= 0 {
		return c.targets[i]
	}
	t := &canaryTarget{queue: ref, behind: c.before[ref], ready: c.before[ref]}
	c.targets = append(c.targets, t)
	return t
}

// prepare counts the queues that the plan reaches, before a stage publishes.
func (c *canary) prepare(ctx context.Context) {
	c.targets = nil
	c.before = map[model.QueueRef]int64{}
	var refs []model.QueueRef
	for _, r := range c.execution.plan.Recipients {
		refs = append(refs, r.Queue)
	}

	counts, err := c.execution.client.Count(ctx, refs)
	if err != nil {
		c.execution.end(err)
		return
	}

	for ref, n := range counts {
		if err := silent(counts, ref); err != nil {
			c.execution.end(err)
			return
		}
		c.before[ref] = n.Ready.Or(0)
	}

	c.countAcks(ctx)
}

// passes watches a stage, and reports whether the next one may follow. If not, the account says why.
func (c *canary) passes(ctx context.Context) bool {
	x := c.execution
	if ctx.Err() != nil {
		return false
	}
	wanted := x.picker.Picked() - x.stay // these were shown before
	if done := x.ledger.done(); done < c.sent || c.sent < wanted {
		x.end(fmt.Errorf("the canary did not arrive: %d of %d went through", done, wanted))
		return false
	}

	if len(c.targets) == 0 {
		return true // nothing was selected
	}
	c.growth = growth{since: time.Now(), old: x.left, ready: x.left}
	c.hurried = false
	if !c.await(ctx) || !c.watch(ctx) || !c.hurried && !c.acknowledged(ctx) {
		return false
	}
	if c.hurried {
		c.enterPhase(plan.CanaryHurried)
	} else {
		c.enterPhase(plan.CanaryPassed)
	}

	return true
}

// wait calls try repeatedly until it decides; at the limit it calls over. The user may end it earlier.
func (c *canary) wait(
	ctx context.Context, every, limit time.Duration, try func() (decided, passed bool), over func() bool,
) bool {
	select {
	case <-c.goOn: // a signal that came too late for the previous wait
	default:
	}

	c.until = time.Now().Add(limit)
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	ticker := time.NewTicker(every)
	defer ticker.Stop()

	for {
		select {
		case <-ctx.Done():
			return false
		case <-c.goOn:
			c.hurried = true
			return true
		case <-deadline.C:
			return over()
		case <-ticker.C:
			if decided, passed := try(); decided {
				return passed && ctx.Err() == nil
			}
		}
	}
}

// await waits until the sent messages are taken, or come back.
func (c *canary) await(ctx context.Context) bool {
	x := c.execution
	c.until = time.Now().Add(c.plan.Patience)
	x.ledger.watch(c.waiting())
	if c.taken() {
		return true
	}

	return c.wait(ctx, canaryTick, c.plan.Patience, func() (decided, passed bool) {
		if !c.step(ctx) {
			return true, false
		}
		x.ledger.watch(c.waiting())
		return c.taken(), true
	}, func() bool {
		if !c.growth.unseen || c.look(ctx) {
			x.end(c.notTaken())
		}
		return false
	})
}

// watch waits for a while to make sure that nothing comes back.
func (c *canary) watch(ctx context.Context) bool {
	c.until = time.Now().Add(c.plan.Wait)
	c.enterPhase(plan.CanaryWatches)

	return c.wait(ctx, canaryTick, c.plan.Wait, func() (decided, passed bool) {
		return !c.step(ctx), false
	}, func() bool {
		if !c.count(ctx, time.Now()) {
			return false
		}
		g := &c.growth
		return !g.unseen && !g.silent && !g.consumed && !c.plan.Leaves || c.look(ctx)
	})
}

// step counts, and looks when that helps. It reports whether nothing came back, as far as known.
func (c *canary) step(ctx context.Context) bool {
	now := time.Now()
	if !c.count(ctx, now) {
		return false
	}
	due := c.growth.unseen && !c.plan.OneLook && now.Sub(c.growth.looked) > lookEvery
	return !due || c.look(ctx)
}

// over records, if it ended while being watched, that it shows nothing.
func (c *canary) over() {
	if c == nil {
		return
	}
	if account := c.execution.ledger.copy(); account.Canary.Waits() && !c.judged {
		c.enterPhase(plan.CanaryCut)
	}
}

func (c *canary) taken() bool {
	return !slices.ContainsFunc(c.targets, func(t *canaryTarget) bool { return !t.taken })
}

func (c *canary) enterPhase(phase plan.CanaryPhase) {
	c.execution.ledger.watch(plan.CanaryState{Phase: phase, Sent: c.sent, Wait: c.plan.Wait, Until: c.until})
}

func (c *canary) waiting() plan.CanaryState {
	s := plan.CanaryState{Phase: plan.CanaryWaits, Sent: c.sent, Wait: c.plan.Wait, Until: c.until}
	for _, t := range c.targets {
		if t.taken {
			continue
		}
		if n, known := t.consumers.Get(); known && n == 0 {
			s.Idle = append(s.Idle, t.queue)
		}
		s.Ahead = max(s.Ahead, min(t.behind, t.ready))
	}

	return s
}

// notTaken returns the error when the patience is used up.
func (c *canary) notTaken() error {
	waits := c.waiting()
	patience := model.ShortDuration(c.plan.Patience)
	if why := waits.WaitsFor(); why != "" {
		return fmt.Errorf("the canary was not taken within %s: %s", patience, why)
	}
	return fmt.Errorf("the canary was not taken within %s", patience)
}

// count counts the queues. After an error nothing more can be known, and it ends.
func (c *canary) count(ctx context.Context, now time.Time) bool {
	x := c.execution
	refs := []model.QueueRef{x.plan.From}
	for _, t := range c.targets {
		refs = append(refs, t.queue)
	}

	counts, err := x.client.Count(ctx, refs)
	if err != nil {
		x.end(err)
		return false
	}

	for _, t := range c.targets {
		n, there := counts[t.queue]
		ready, answered := n.Ready.Get()
		if there && !answered {
			continue // the next count shows it
		}
		if ready < t.ready {
			t.behind -= t.ready - ready
		}
		t.ready, t.consumers = ready, n.Consumers
		t.taken = t.taken || !there || ready == 0 || t.behind <= 0
	}

	n, there := counts[x.plan.From]
	if !there {
		x.end(model.Errorf("watch %v: %w", x.plan.From, model.ErrQueueGone))
		return false
	}

	ready, answered := n.Ready.Get()
	if c.growth.silent = !answered; answered {
		c.growth.count(ready, n.Consumers.Or(0), n.Held, now)
	}

	return true
}

// look searches the queue for messages that came back, and reports whether there are none.
func (c *canary) look(ctx context.Context) bool {
	x, g := c.execution, &c.growth
	g.unseen = false
	acquire := x.plan.Acquire
	acquire.TakesAll, acquire.Decides = false, true // a look returns everything that it takes
	pass, at := x.released.ComeBacks(), int64(0)
	read, err := x.client.Read(ctx, acquire, func(m *message.Message) error {
		at++
		pass.Look(m, at > g.old)
		return nil
	})

	g.looked = time.Now()
	x.ledger.rescued(read.Rescued)

	switch {
	case ctx.Err() != nil:
		return false
	case err == nil && read.Stopped != "":
		err = errors.New(read.Stopped)
	}

	if back := pass.Count; back > 0 {
		x.ledger.note(func(a *plan.Account) { a.CameBack = back })
		x.ledger.watch(plan.CanaryState{Phase: plan.CanaryFailed, Sent: c.sent, Back: back})
		x.end(fmt.Errorf("%d of %d came back", back, c.sent))
		return false
	}

	if err != nil {
		x.end(fmt.Errorf("the queue could not be searched for messages that came back: %w", err))
		return false
	}

	return true
}

const (
	acksEvery = time.Second // between two readings of the acknowledgements
	// acksPatience is how long an acknowledgement may take at least, after the wait itself
	acksPatience = 3 * model.StatisticsLag
)

// countAcks records the acknowledgements before a stage. Without statistics a canary trusts deliveries.
func (c *canary) countAcks(ctx context.Context) {
	c.acksBefore = map[model.QueueRef]*model.Queue{}
	t, err := c.execution.client.statistics(ctx)
	if err != nil || t == nil {
		return
	}
	for _, r := range c.execution.plan.Recipients {
		if q, ok := t.Queue(r.Queue); ok && q.Type != model.Stream {
			c.acksBefore[r.Queue] = q
		}
	}
}

// statistics returns the management API's current counts; nil without any.
func (c *Client) statistics(ctx context.Context) (*model.Topology, error) {
	if c.reread == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, guardTimeout)
	defer cancel()
	t, err := c.reread(ctx)
	if err != nil || t.Snapshot.Overview.StatsOff {
		return nil, err
	}

	return t, nil
}

// acknowledged waits until the sent messages are acknowledged, and reports whether they were.
func (c *canary) acknowledged(ctx context.Context) bool {
	var acks []*plan.CanaryAcks
	for _, t := range c.targets {
		if c.acksBefore[t.queue] != nil {
			acks = append(acks, &plan.CanaryAcks{Queue: t.queue, Sent: t.sent})
		}
	}

	var missing *plan.CanaryAcks
	try := func() (decided, passed bool) {
		if missing = c.unacknowledged(ctx, acks); missing == nil {
			return true, true
		}
		c.execution.ledger.watch(c.unsettled(missing))
		if missing.Loops() {
			c.refuseUnsettled(missing)
			return true, false
		}

		return false, false
	}

	if decided, passed := try(); decided {
		return passed && ctx.Err() == nil
	}

	return c.wait(ctx, acksEvery, max(acksPatience, c.plan.Wait), try, func() bool {
		c.refuseUnsettled(missing)
		return false
	})
}

// unacknowledged returns the first queue in which sent messages are not acknowledged as far as known; nil when all are.
func (c *canary) unacknowledged(ctx context.Context, acks []*plan.CanaryAcks) *plan.CanaryAcks {
	if len(acks) == 0 {
		return nil
	}
	t, err := c.execution.client.statistics(ctx)
	if err != nil || t == nil {
		return acks[0]
	}
	now := time.Now()
	for _, a := range acks {
		before := c.acksBefore[a.Queue]
		q, ok := t.Queue(a.Queue)
		if !ok {
			continue // it is gone, with everything in it
		}
		if a.Count(before, q, now); !a.Passed(before, now) {
			return a
		}
	}

	return nil
}

func (c *canary) unsettled(a *plan.CanaryAcks) plan.CanaryState {
	return plan.CanaryState{
		Phase: plan.CanaryUnsettled,
		Sent:  c.sent,
		Wait:  c.plan.Wait,
		Until: c.until,
		Acks:  a,
	}
}

// refuseUnsettled ends it: the messages were taken, but no acknowledgement shows that they were processed.
func (c *canary) refuseUnsettled(a *plan.CanaryAcks) {
	state := c.unsettled(a)
	c.judged = true
	c.execution.ledger.watch(state)
	c.execution.end(fmt.Errorf("the canary has not passed: %s", state.Words()))
}
