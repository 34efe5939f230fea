package broker

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/dlxtop/dlxtop/broker/spool"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

// Peek looks at the messages at the head of a queue, exactly as the plan says, and returns them to the queue before it
// ends. Positions count from 1. A cancelled context ends it early, with what was read and the context's error; the
// plan's timeout ends it early without one. An error about the queue wraps model.ErrQueueGone, ErrQueueDown,
// ErrQueueExclusive, ErrConsumeRefused or ErrQueueBusy.
func (c *Client) Peek(ctx context.Context, plan peek.Plan) (peek.Peeked, error) {
	peeked := peek.Peeked{Plan: plan, TakenAt: time.Now()}
	name := model.Printable(plan.Queue.String())
	if !plan.Allowed() {
		return peeked, fmt.Errorf("peek %s: %s", name, plan.Refusal.Words())
	}
	src, err := c.openSource(ctx, plan, false)
	if err != nil {
		return peeked, fmt.Errorf("peek: %w", err)
	}
	peeked.TakenAt = time.Now() // what is read was there by now: it is part of the depth just counted
	want := plan.Limit
	if plan.Method != peek.Stream {
		peeked.Depth = model.Some(src.depth)
		want = int(min(int64(want), src.depth))
	}
	limited, cancel := context.WithTimeoutCause(ctx, plan.Timeout, errTimeout)
	defer cancel()
	kept := spool.New(c.spoolMemory)
	look := look{source: src, plan: plan, want: want, spool: kept, pages: pages{told: plan.Mean}}
	rescued, err := c.giveBack(src, look.take(limited))
	peeked.Messages, peeked.Stopped, peeked.Rescued, peeked.Highest = kept, look.stopped, rescued, src.highest
	if !kept.InMemory() {
		debug.FreeOSMemory() // frees what the deliveries used
	}
	var reached *peek.LimitReached
	var ended *peek.LookEnded
	switch {
	case errors.As(err, &ended) && kept.Len() > 0:
		peeked.Stopped = ended.Error()
	case errors.As(err, &reached) && kept.Len() > 1:
		peeked.Stopped = reached.Error()
	case reached != nil:
		return peeked, err
	case ctx.Err() != nil:
		return peeked, fmt.Errorf("peek %s: %w", name, ctx.Err())
	case errors.Is(err, errNothingComes):
		peeked.Stopped = err.Error()
	case err != nil:
		return peeked, fmt.Errorf("peek: %w", err)
	case errors.Is(context.Cause(limited), errTimeout) && kept.Len() < want && peeked.Stopped == "":
		peeked.Stopped = fmt.Sprintf("reading stopped after %s", model.ShortDuration(plan.Timeout))
	case kept.Len() < want && peeked.Stopped == "" && plan.Method != peek.Stream: // a stream has no count of its own
		peeked.Fewer = true
		peeked.Stopped = fmt.Sprintf("no more are ready: of the %s counted before, some expired, or consumers "+"took them",
			model.Plural(src.depth, "message"))
	}
	return peeked, nil
}

var errTimeout = errors.New("the time for the peek is over")

type look struct {
	source  *source
	plan    peek.Plan
	want    int
	pages   pages
	spool   *spool.Spool
	stopped string
}

// take reads up to want messages, and keeps as many of them as MaxBytes allows.
func (l *look) take(ctx context.Context) error {
	for total := 0; total < l.want && l.stopped == "" && ctx.Err() == nil; {
		n := min(l.pages.next(int64(l.want-total), l.plan.Type), max(l.plan.Page, 1))
		if l.plan.Method == peek.Stream {
			n = min(l.want, max(l.plan.Page, 1), peek.MaxPage) // a second consumer would begin at the first message again
		} else if mean := l.pages.mean(); mean > 0 {
			n = min(n, int(max((l.plan.MaxBytes-l.spool.Bytes())/mean, 1)))
		}
		taken, err := l.source.page(ctx, n, l.keep)
		total += taken
		if err != nil || taken < n || l.plan.Method == peek.Stream {
			return err
		}
		if l.spool.Bytes() >= l.plan.MaxBytes && total < l.want {
			l.full()
		}
	}
	return nil
}

// keep takes in a message. Beyond MaxBytes, or with a full disk, it is only held until the end, like the others.
func (l *look) keep(_ uint64, m *message.Message) {
	l.pages.took(m.BodyBytes)
	switch {
	case l.spool.Len() == l.want: // a stream delivers whole chunks, beyond the prefetch (3.10.8)
	case l.spool.Bytes() >= l.plan.MaxBytes && l.spool.Len() > 0:
		l.full()
	default:
		m.Fingerprint = message.FingerprintOf(m)
		if err := l.spool.Add(m); err != nil {
			l.stopped = err.Error()
		}
	}
	letGo(m)
}

func (l *look) full() {
	l.stopped = fmt.Sprintf("%sB were read", message.Size(l.plan.MaxBytes))
}
