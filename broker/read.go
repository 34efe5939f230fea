package broker

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

// Read looks at every message that is in a queue when it begins, from the head, and returns them to the queue before it
// ends. each gets one at a time, and may keep it; an error of each ends the reading and is returned. Only the messages
// of one page are in memory at a time, whatever the queue holds. The error wraps a *peek.LimitReached when the queue's
// delivery limit ended it.
func (c *Client) Read(ctx context.Context, plan peek.Plan, each func(*message.Message) error) (peek.Read, error) {
	var read peek.Read
	name := model.Printable(plan.Queue.String())
	if !plan.Allowed() {
		return read, fmt.Errorf("read %s: %s", name, plan.Refusal.Words())
	}
	src, err := c.openSource(ctx, plan, false)
	if err != nil {
		return read, fmt.Errorf("read: %w", err)
	}
	r := reading{source: src, each: each, pages: pages{told: plan.Mean}}
	read.Rescued, err = c.giveBack(src, r.all(ctx))
	var ended *peek.LookEnded
	switch {
	case errors.As(err, &ended) && src.taken > 0 && r.failed == nil:
		read.Stopped = ended.Error()
		return read, nil
	case r.failed != nil:
		return read, r.failed
	case ctx.Err() != nil:
		return read, fmt.Errorf("read %s: %w", name, ctx.Err())
	case errors.Is(err, errNothingComes), errors.Is(err, errLongStream):
		read.Stopped = err.Error()
		return read, nil
	}
	return read, err
}

// errLongStream is why the rest of a stream is not read.
var errLongStream = errors.New("dlxtop reads no further in a stream")

type reading struct {
	source *source
	each   func(*message.Message) error
	pages  pages
	failed error // returned by each
}

func (r *reading) all(ctx context.Context) error {
	if plan := r.source.plan; plan.Method == peek.Stream { // a second consumer would begin at the first message again
		taken, err := r.source.page(ctx, plan.Page, r.take)
		if err == nil && taken >= plan.Page {
			err = errLongStream
		}
		return err
	}
	for left := r.source.depth; left > 0 && r.failed == nil && ctx.Err() == nil; {
		n := r.pages.next(left, r.source.plan.Type)
		taken, err := r.source.page(ctx, n, r.take)
		left -= int64(taken)
		if err != nil || taken < n {
			return err
		}
	}
	return nil
}

func (r *reading) take(_ uint64, m *message.Message) {
	if r.failed != nil {
		return
	}
	if !r.source.plan.Nameless {
		m.Fingerprint = message.FingerprintOf(m)
	}
	m.Position = r.pages.took(m.BodyBytes)
	r.failed = r.each(m)
	letGo(m)
}

// hugeBody is the size in bytes that is worth a garbage collection: the next body would need as much again.
const hugeBody = 32 << 20

// letGo frees a body that is no longer needed.
func letGo(m *message.Message) {
	huge := len(m.Body) >= hugeBody
	if m.DropBody(); huge {
		debug.FreeOSMemory()
	}
}
