package action

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

const (
	breakerEvery = 500 * time.Millisecond
	// breakerFrom is how many messages are sent before it judges: the first ones may be the oldest, and fail for that.
	breakerFrom = 100
	// confirmLimit bounds how long it looks for the messages that came back.
	confirmLimit = 15 * time.Second
)

// Watcher counts queues, and recognizes messages of a replay that came back.
type Watcher interface {
	Count(ctx context.Context, queues []model.QueueRef) (model.CountsByQueue, error)
	Follow(ctx context.Context, f plan.Following, progress func(plan.Sequel)) (plan.Sequel, error)
}

// breaker ends a replay when too many of its messages fail again, those of queues before it included. While it runs,
// only counts tell: what came into the queue, and what waits in the workers' retry buffers, if those were empty before.
// When these suffice it stops, and the queues are searched for their messages: failures of others do not end it.
type breaker struct {
	Watcher
	plan.Following
	run   *plan.Run
	past  []*breaker // of earlier queues
	share float64
	least int
	quiet bool // the retry buffers were empty at the start

	sync.Mutex
	now plan.Account
}

// breaking runs what sends the messages of a run.
func (s *Steady) breaking(
	ctx context.Context, run plan.Run, progress plan.Progress,
	do func(context.Context, plan.Progress) (plan.Account, error),
) (plan.Account, error) {
	if run.StopWhen <= 0 || s.alarmed || s.Watch == nil || run.Topology == nil {
		return do(ctx, progress)
	}

	s.past = slices.DeleteFunc(s.past, func(p *breaker) bool { return p.Queue == run.From })
	least := max(min(breakerFrom, max(run.Planned, s.Planned)/2), 1)
	b := &breaker{Watcher: s.Watch, run: &run, past: slices.Clone(s.past), share: run.StopWhen, least: least}
	b.Following, _ = run.Follow(run.Topology, &plan.Account{Moved: 1, Mark: "any"})
	b.Buffers = model.Without(b.Buffers, func(ref model.QueueRef) bool {
		return slices.ContainsFunc(b.past, func(p *breaker) bool { return slices.Contains(p.Buffers, ref) })
	})

	counts, err := b.Count(ctx, b.queues())
	b.quiet = err == nil && b.waiting(counts) == 0

	running, stop := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { b.watch(running, stop) })
	a, err := do(running, func(a plan.Account) {
		b.note(a)
		progress(a)
	})

	stop(nil)
	watching.Wait()
	b.note(a)
	s.past = append(s.past, b)
	if tripped, ok := errors.AsType[*plan.Tripped](plan.WhyEnded(running, nil)); ok && err == nil && a.Stopped != "" {
		s.confirm(ctx, b, &a, tripped)
	}

	return a, err
}

// watch stops the run when counts say that too many failed again.
func (b *breaker) watch(ctx context.Context, stop context.CancelCauseFunc) {
	ticker := time.NewTicker(breakerEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}

		taken := b.latest().Taken // as of before the count, and what was sent as of after it: it suspects late
		queues := b.queues()
		for _, p := range b.past {
			queues = append(queues, p.queues()...)
		}

		counts, err := b.Count(ctx, queues)
		a := b.latest()
		if err != nil || a.Canary.Waits() || a.Done() >= a.Planned {
			continue
		}

		failed, sent := b.failed(counts, int64(taken)), int64(a.Moved)
		for _, p := range b.past {
			failed += p.failed(counts, int64(p.now.Out().Or(0)))
			sent += int64(p.now.Moved)
		}

		if tripped := b.judge(failed, sent); tripped != nil {
			stop(tripped)
			return
		}
	}
}

func (b *breaker) note(a plan.Account) {
	b.Lock()
	defer b.Unlock()
	b.now = a
}

func (b *breaker) latest() plan.Account {
	b.Lock()
	defer b.Unlock()
	return b.now
}

func (b *breaker) queues() []model.QueueRef { return append([]model.QueueRef{b.Queue}, b.Buffers...) }

// waiting returns how many messages are in the retry buffers.
func (b *breaker) waiting(counts model.CountsByQueue) (n int64) {
	for _, ref := range b.Buffers {
		n += counts[ref].Ready.Or(0)
	}
	return n
}

// failed returns how many messages failed again, by counts: out have left the queue.
func (b *breaker) failed(counts model.CountsByQueue, out int64) int64 {
	n := max(counts[b.Queue].Ready.Or(0)+out-b.latest().Depth, 0)
	if b.quiet {
		n += b.waiting(counts)
	}
	return n
}

// judge returns the error when too many failed again.
func (b *breaker) judge(failed, sent int64) *plan.Tripped {
	if sent < int64(b.least) || float64(failed) < b.share*float64(sent) {
		return nil
	}
	return &plan.Tripped{Failed: min(failed, sent), Sent: sent, Share: b.share}
}

// confirm searches the queues for messages that came back, where that costs nothing. If fewer did than were counted,
// and too few, the account is that of an action which is resumed, without a breaker: its queues are too busy for counts
// to tell. That more were sent than was known at the count changes nothing.
func (s *Steady) confirm(ctx context.Context, b *breaker, a *plan.Account, counted *plan.Tripped) {
	ctx, cancel := context.WithTimeout(ctx, confirmLimit)
	defer cancel()
	var failed, sent int64
	for _, part := range append(b.past, b) {
		f, follows := part.run.Follow(part.run.Topology, &part.now)
		if !f.Look.Free || !follows {
			return
		}

		ctx, read := context.WithCancel(ctx)
		sequel, err := b.Follow(ctx, f, func(now plan.Sequel) {
			if now.Read {
				read()
			}
		})

		read()
		if part == b {
			a.CameBack = int(sequel.Back)
		}
		if err != nil || !sequel.Read {
			return
		}
		failed += sequel.Back
		sent += sequel.Sent
		if part.quiet {
			failed += sequel.Retrying
		}
	}

	if failed < counted.Failed && b.judge(failed, sent) == nil {
		a.Stopped, a.Lost = "what came into its queue meanwhile is not of this replay", true
		s.alarmed = true
	}
}
