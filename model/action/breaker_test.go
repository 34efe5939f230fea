package action

import (
	"context"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/plan"
)

// recounted is a queue that has messages again, and how many of them are of the replay.
type recounted struct{ ready, back int64 }

func (r recounted) Count(context.Context, []model.QueueRef) (model.CountsByQueue, error) {
	return model.CountsByQueue{build.Ref("w.failed"): {Ready: model.Some(r.ready)}}, nil
}

func (r recounted) Follow(context.Context, plan.Following, func(plan.Sequel)) (plan.Sequel, error) {
	return plan.Sequel{Read: true, Back: r.back, Sent: 126}, nil
}

// A count tells of messages that the account does not have yet: that more were sent than it knew is no reason to go on
// without a breaker. Messages of others are.
func TestABreakerThatKnowsLateWhatWasSent(t *testing.T) {
	topology := build.Described("3.10.8", "queue w.failed ready=300\nqueue w consumers=1 dlx= key=w.failed")
	want := plan.ActionWant{
		Operation: plan.Replay, From: build.Ref("w.failed"), Planned: 300,
		Options: plan.Options{Mark: true, StopWhen: 0.3},
	}
	want.ToQueue("w")
	p := plan.New(topology, want)

	for back, goesOn := range map[int64]bool{36: false, 10: true} {
		s := &Steady{Watch: recounted{ready: 236, back: back}}
		a, err := s.breaking(t.Context(), p.On(topology), func(plan.Account) {}, func(
			ctx context.Context, progress plan.Progress,
		) (plan.Account, error) {
			progress(plan.Account{Planned: 300, Moved: 110, Taken: 100, Depth: 300})
			<-ctx.Done()
			return plan.Account{Planned: 300, Moved: 126, Mark: "m", Stopped: "tripped"}, nil
		})

		must.Do(t, err)
		assert.Equal(t, a.Lost, goesOn, "%d came back", back)
	}
}
