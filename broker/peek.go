package broker

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dlxtop/model"
)

// firstPage is the size of a first page: the sizes of its messages tell how large the next may be.
const firstPage = 1000

// Peek looks at the messages at the head of a queue, exactly as the plan says, and gives them back before it returns. Positions count
// from 1. A cancelled context ends it early, with what was read and the context's error; the plan's timeout ends it early without
// one. An error about the queue wraps model.ErrQueueGone, ErrQueueExclusive, ErrConsumeRefused or ErrQueueBusy.
func (c *Client) Peek(ctx context.Context, plan model.PeekPlan) (model.Peeked, error) {
	peeked := model.Peeked{Plan: plan, TakenAt: time.Now()}
	name := model.Printable(plan.Queue.String())
	if !plan.Allowed() {
		return peeked, fmt.Errorf("peek %s: %s", name, plan.Refusal)
	}
	connection, err := c.connection(ctx, plan.Queue.VHost)
	if err != nil {
		return peeked, err
	}
	src, err := openSource(connection, plan)
	if err != nil {
		return peeked, fmt.Errorf("peek: %w", err)
	}
	peeked.TakenAt = time.Now() // what is read was there by now: it is of the depth that was just counted
	want := plan.Limit
	if plan.Method != model.PeekStream {
		peeked.Depth = model.Some(src.depth)
		want = int(min(int64(want), src.depth))
	}
	limited, cancel := context.WithTimeoutCause(ctx, plan.Timeout, errTimeout)
	defer cancel()
	look := look{source: src, plan: plan, want: want}
	err = look.take(limited)
	if e := c.giveBack(src); err == nil {
		err = e
	}
	peeked.Stopped = look.stopped
	// Only now, when nothing is held any more, is there time to look closer.
	peeked.Messages = look.messages()
	switch {
	case ctx.Err() != nil:
		return peeked, fmt.Errorf("peek %s: %w", name, ctx.Err())
	case errors.Is(err, errNothingComes):
		peeked.Stopped = err.Error()
	case err != nil:
		return peeked, fmt.Errorf("peek: %w", err)
	case errors.Is(context.Cause(limited), errTimeout) && len(peeked.Messages) < want && peeked.Stopped == "":
		peeked.Stopped = fmt.Sprintf("reading stopped after %s", model.ShortDuration(plan.Timeout))
	}
	return peeked, nil
}

var errTimeout = errors.New("the time for the peek is over")

// look is one peek under way.
type look struct {
	source  *source
	plan    model.PeekPlan
	want    int
	taken   []amqp.Delivery
	bytes   int64 // of their bodies
	stopped string
}

// take reads up to want messages, and keeps as many of them as MaxBytes allows.
func (l *look) take(ctx context.Context) error {
	want := l.want
	for total := 0; total < want && l.stopped == "" && ctx.Err() == nil; {
		n := min(want-total, max(l.plan.Page, 1), model.MaxPage, firstPage)
		if total > 0 {
			mean := max(l.bytes/int64(len(l.taken)), 1)
			n = min(want-total, max(l.plan.Page, 1), model.MaxPage, int(max((l.plan.MaxBytes-l.bytes)/mean, 1)))
		}
		if l.plan.Method == model.PeekStream {
			n = min(want, max(l.plan.Page, 1), model.MaxPage) // a second consumer would begin at the first message again
		}
		taken, err := l.source.page(ctx, n, l.keep)
		total += taken
		if err != nil || taken < n || l.plan.Method == model.PeekStream {
			return err
		}
		if l.bytes >= l.plan.MaxBytes && total < want {
			l.full()
		}
	}
	return nil
}

// keep takes a message in. Beyond MaxBytes it is only held until the end, like the others.
func (l *look) keep(d *amqp.Delivery) {
	if len(l.taken) == l.want {
		return // a stream delivers whole chunks, beyond the prefetch (3.10.8)
	}
	if l.bytes >= l.plan.MaxBytes && len(l.taken) > 0 {
		l.full()
		return
	}
	l.bytes += int64(len(d.Body))
	l.taken = append(l.taken, *d)
}

// messages are what was taken, as the model knows it. All processors work on it, now that the broker does not need them.
func (l *look) messages() []model.Message {
	messages := make([]model.Message, len(l.taken))
	const share = 256 // at a time
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), (len(l.taken)+share-1)/share) {
		workers.Go(func() {
			for {
				end := int(next.Add(share))
				for i := end - share; i < min(end, len(messages)); i++ {
					messages[i] = messageOf(&l.taken[i])
					messages[i].Position = i + 1
					cut(&messages[i], l.plan.KeepBody)
				}
				if end >= len(messages) {
					return
				}
			}
		})
	}
	workers.Wait()
	l.taken = nil
	return messages
}

func (l *look) full() {
	l.stopped = fmt.Sprintf("%sB are held", model.Size(l.plan.MaxBytes))
}
