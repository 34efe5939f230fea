package act

import (
	"context"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/action"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/resume"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// choices are what can be done with undecided messages. The key steps through them in this order.
var choices = []resume.Choice{"", resume.PublishAgain, resume.LeaveThem}

// Resuming is the plan of a resume, with what it was made from.
type Resuming struct {
	Id      int64
	choice  int
	inquiry resume.Inquiry
	Rest    resume.Run
}

func (r Resuming) plan(ctx context.Context, e *shell.Env, t *model.Topology, by *looking) (FollowUp, error) {
	if by == nil {
		return r.replan(ctx, t)
	}
	r = Resuming{Id: r.Id}
	if e.ReadOnly {
		return r, nil
	}
	on := e.Resuming(reads{e.Broker})
	inquiry, release, err := on.Inquire(ctx, r.Id, by.insist, func(last *plan.Record) (_ *model.Topology, err error) {
		err = by.affords(t, last.Queues()...)
		if err == nil && !last.Running {
			err = e.Broker.AwaitGone(ctx, last, e.Source.Connections)
		}
		return t, err
	})
	if err != nil {
		return r, err
	}
	defer release()

	r.inquiry = inquiry
	return r.replan(ctx, t)
}

func (r Resuming) replan(ctx context.Context, t *model.Topology) (_ FollowUp, err error) {
	r.Rest, err = r.inquiry.Plan(ctx, t, choices[r.choice])
	return r, err
}

func (r Resuming) barred(t *model.Topology) []plan.Refusal {
	return []plan.Refusal{r.inquiry.Barred(t)}
}

// turn goes on to the next choice, without a plan yet.
func (r Resuming) turn() Resuming {
	r.choice = (r.choice + 1) % len(choices)
	return r
}

func (r Resuming) action() action.Action {
	return &action.Resume{Run: r.Rest}
}

func (r Resuming) options(_ *shell.Env, o *shell.Offer) {
	if len(r.Rest.Undecided) > 0 || r.choice > 0 {
		o.Turns = "other choice"
		o.Choice = map[resume.Choice]string{
			"":                  "stay as they are, and unknown",
			resume.PublishAgain: "are published again: they may be there twice",
			resume.LeaveThem:    "stay in their queue, and count as done",
		}[choices[r.choice]]
	}
}

func (r Resuming) noteDone(e *shell.Env, _ *plan.Account) {
	e.Did(shell.Doing{Queue: r.Rest.Record.From, Unclear: true})
}
