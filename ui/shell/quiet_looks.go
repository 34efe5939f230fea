package shell

import (
	"context"
	"sync"

	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/ports"
	"github.com/dlxtop/dlxtop/model/resume"
)

// QuietLooks are automatic looks, one at a time. While one of them holds messages, requested operations would not see
// those: they end the quiet one first, and no other begins before they are over.
type QuietLooks struct {
	Looker ports.Looker // for quiet looks

	mu      sync.Mutex
	asked   int                // the number of requested looks and actions that are not over
	end     context.CancelFunc // ends the running quiet look; nil without one
	changed *sync.Cond         // signals changes of these fields
}

func NewQuietLooks(looker ports.Looker) *QuietLooks {
	q := &QuietLooks{Looker: looker}
	q.changed = sync.NewCond(&q.mu)
	return q
}

// Run runs a quiet look when nothing else runs. Its context ends when it has to give way.
func (q *QuietLooks) Run(ctx context.Context, look func(context.Context) error) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(ctx, func() { q.change(func() {}) })() // ctx may end while it waits
	q.mu.Lock()
	for (q.asked > 0 || q.end != nil) && ctx.Err() == nil {
		q.changed.Wait()
	}
	if ctx.Err() != nil {
		q.mu.Unlock()
		return ctx.Err()
	}
	q.end = end
	q.mu.Unlock()
	defer q.change(func() { q.end = nil })
	return look(ctx)
}

// GiveWay ends the quiet look, and returns when that has returned its messages. No other begins before done.
func (q *QuietLooks) GiveWay() (done func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.asked++
	for q.end != nil {
		q.end()
		q.changed.Wait()
	}
	return func() { q.change(func() { q.asked-- }) }
}

func (q *QuietLooks) change(how func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	how()
	q.changed.Broadcast()
}

// WantedBroker is a broker for requested operations: quiet looks give way to it.
type WantedBroker struct {
	Broker
	Quiet *QuietLooks
}

func (b WantedBroker) Peek(ctx context.Context, p peek.Plan) (peek.Peeked, error) {
	defer b.Quiet.GiveWay()()
	return b.Broker.Peek(ctx, p)
}

func (b WantedBroker) Read(ctx context.Context, p peek.Plan, each func(*message.Message) error) (peek.Read, error) {
	defer b.Quiet.GiveWay()()
	return b.Broker.Read(ctx, p, each)
}

func (b WantedBroker) Execute(ctx context.Context, run plan.Run, progress func(plan.Account)) (plan.Account, error) {
	defer b.Quiet.GiveWay()()
	return b.Broker.Execute(ctx, run, progress)
}

func (b WantedBroker) Undo(ctx context.Context, p plan.UndoPlan, progress func(plan.Account)) (plan.Account, error) {
	defer b.Quiet.GiveWay()()
	return b.Broker.Undo(ctx, p, progress)
}

func (b WantedBroker) Resume(ctx context.Context, run resume.Run, progress func(plan.Account)) (plan.Account, error) {
	defer b.Quiet.GiveWay()()
	return b.Broker.Resume(ctx, run, progress)
}
