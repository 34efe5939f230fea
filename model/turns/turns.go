// Package turns lets peeks that the dashboard makes by itself give way to what a user requests.
package turns

import (
	"context"
	"sync"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/action"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/resume"
)

// Background runs one peek at a time. While it holds messages, a requested operation would not see those: the operation
// ends it first, and no other begins before the operation is over.
type Background struct {
	mu        sync.Mutex
	requested int                // operations that are not over
	end       context.CancelFunc // ends the running peek; nil without one
	changed   *sync.Cond         // signals changes of these fields
}

func NewBackground() *Background {
	b := &Background{}
	b.changed = sync.NewCond(&b.mu)
	return b
}

// Run calls run when nothing else runs. Its context ends when it has to give way.
func (b *Background) Run(ctx context.Context, run func(context.Context) error) error {
	ctx, end := context.WithCancel(model.TellWaits(ctx, nil))
	defer end()
	defer context.AfterFunc(ctx, func() { b.change(func() {}) })() // ctx may end while it waits
	b.mu.Lock()
	for (b.requested > 0 || b.end != nil) && ctx.Err() == nil {
		b.changed.Wait()
	}

	if ctx.Err() != nil {
		b.mu.Unlock()
		return ctx.Err()
	}

	b.end = end
	b.mu.Unlock()
	defer b.change(func() { b.end = nil })
	return run(ctx)
}

// Suspend ends the running peek, and returns when that has returned its messages. No other begins before done.
func (b *Background) Suspend() (done func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requested++
	for b.end != nil {
		b.end()
		b.changed.Wait()
	}

	return func() { b.change(func() { b.requested-- }) }
}

func (b *Background) change(how func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	how()
	b.changed.Broadcast()
}

// Broker has the operations that would not see messages which a background peek holds.
type Broker interface {
	Peek(ctx context.Context, p peek.Plan) (peek.Peeked, error)
	// Read calls each with every message that is in a queue at the start, one at a time.
	Read(ctx context.Context, p peek.Plan, each message.Visit) (peek.Read, error)
	action.Broker
}

// Foreground suspends background peeks while one of its operations runs.
type Foreground struct {
	Broker
	Background *Background
}

func (f Foreground) Peek(ctx context.Context, p peek.Plan) (peek.Peeked, error) {
	defer f.Background.Suspend()()
	return f.Broker.Peek(ctx, p)
}

func (f Foreground) Read(ctx context.Context, p peek.Plan, each message.Visit) (peek.Read, error) {
	defer f.Background.Suspend()()
	return f.Broker.Read(ctx, p, each)
}

func (f Foreground) Execute(ctx context.Context, run plan.Run, progress plan.Progress) (plan.Account, error) {
	defer f.Background.Suspend()()
	return f.Broker.Execute(ctx, run, progress)
}

func (f Foreground) Undo(ctx context.Context, p plan.UndoPlan, progress plan.Progress) (plan.Account, error) {
	defer f.Background.Suspend()()
	return f.Broker.Undo(ctx, p, progress)
}

func (f Foreground) Resume(ctx context.Context, run resume.Run, progress plan.Progress) (plan.Account, error) {
	defer f.Background.Suspend()()
	return f.Broker.Resume(ctx, run, progress)
}
