package broker

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
)

const (
	guardEvery   = 2 * time.Second  // between two readings of the topology
	guardSeldom  = 30 * time.Second // the same, for a broker that answers slowly
	guardShare   = 4                // a reading takes at most a quarter of the time
	guardTimeout = 10 * time.Second // for one reading
	guardLast    = 3 * time.Second  // for the last one, when the user wants it to end
)

// guard rereads the topology while a replay publishes through exchanges, and stops it when an address reaches other
// queues than the plan says. Shorter executions are not disturbed: they only cost one reading at their end. A nil guard
// does nothing.
type guard struct {
	read    plan.Reread
	ledger  *ledger
	reading sync.Mutex // one reading at a time

	sync.Mutex
	guarded *plan.Guard
	failed  error // why the last reading failed
}

// guardOf returns nil when nothing can change, or when the topology cannot be read.
func (c *Client) guardOf(run *plan.Run, l *ledger) *guard {
	if c.reread == nil {
		return nil
	}
	if guarded := run.Guard(); guarded != nil {
		return &guard{read: c.reread, ledger: l, guarded: guarded}
	}
	return nil
}

// errChanged means that publishing would reach other queues than the plan says.
type errChanged struct{ changes []plan.Change }

func (e *errChanged) Error() string { return plan.ChangesWords(e.changes) }

// publishes records what is about to be published. After an error it must not be.
func (g *guard) publishes(p *message.Publishing) error {
	if g == nil {
		return nil
	}
	g.Lock()
	defer g.Unlock()
	if changes := g.guarded.Publishes(p); len(changes) > 0 {
		return &errChanged{changes}
	}

	return nil
}

// watch rereads the topology until ctx ends, and calls end once, with the changes.
func (g *guard) watch(ctx context.Context, end func(error)) {
	for rhythm := guardEvery; pause(ctx, rhythm) == nil; {
		began := time.Now()
		if err := g.check(ctx); err != nil {
			if ctx.Err() == nil { // otherwise it is over, and close reports it
				end(err)
			}
			return
		}
		rhythm = min(max(guardEvery, (guardShare-1)*time.Since(began)), guardSeldom)
	}
}

// check reads the topology once. The error is the change; a failed reading shows nothing, and ends nothing.
func (g *guard) check(ctx context.Context) error {
	if g == nil {
		return nil
	}
	g.reading.Lock()
	defer g.reading.Unlock()
	g.Lock()
	needed := g.guarded.Needed()
	g.guarded.Reading()
	g.Unlock()
	if !needed {
		return nil
	}

	ctx, cancel := context.WithTimeout(ctx, guardTimeout)
	defer cancel()
	t, err := g.read(ctx)
	g.Lock()
	defer g.Unlock()
	if g.failed = err; err != nil {
		return nil
	}
	changes, unread := g.guarded.Read(t)
	switch {
	case unread != "":
		g.failed = errors.New(unread)
	case len(changes) > 0:
		return &errChanged{changes}
	}

	return nil
}

// close finds out, after everything is settled, which other queues messages may have reached: it reads the topology
// once more for what was published since the last reading without changes. That matters for a cancelled execution, too.
func (g *guard) close(ctx context.Context) {
	if g == nil {
		return
	}
	g.Lock()
	unsure := g.guarded.Unsure()
	g.Unlock()
	if !unsure {
		return
	}
	limit := guardTimeout
	if ctx.Err() != nil {
		limit = guardLast
	}

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	var changed *errChanged
	if errors.As(g.check(ctx), &changed) {
		g.ledger.change(changed.changes)
	}

	g.Lock()
	defer g.Unlock()
	g.ledger.note(func(a *plan.Account) {
		if g.guarded.Changed() {
			a.Strayed = g.guarded.Strays()
		}
		if hidden := g.guarded.Hidden(); hidden != "" {
			a.Unguarded = model.Sayf("the exchange %v was deleted, and what was bound to it until then is unknown",
				hidden)
		}

		if g.failed != nil {
			a.Unguarded = g.failed.Error()
		}
	})
}
