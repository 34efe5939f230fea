package act

import (
	"context"
	"errors"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/action"
	"github.com/dlxtop/dlxtop/model/loss"
	"github.com/dlxtop/dlxtop/model/message"
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

func (r Resuming) plan(ctx context.Context, e *shell.Env, t *model.Topology, insist bool) (FollowUp, error) {
	r = Resuming{Id: r.Id}
	if e.ReadOnly {
		return r, nil
	}
	want, err := resumeWant(ctx, e, r.Id, insist)
	if err != nil {
		return r, err
	}
	last := want.Chain[len(want.Chain)-1]
	release, err := e.Journal.Reserve(last.ID)
	if err != nil {
		return r, err
	}
	defer release()
	if !last.Running {
		if err = e.Broker.AwaitGone(ctx, &last, e.Source.Connections); err != nil {
			return r, err
		}
	}

	want.Counts = shell.Counted(ctx, e.Broker, loss.Limited(t, last.Queues()))
	if r.inquiry, err = resume.Inquire(ctx, t, want); err != nil {
		return r, err
	}
	r.Rest, err = r.inquiry.Plan(ctx, want.Choice)
	return r, err
}

func (r Resuming) replan(ctx context.Context, e *shell.Env, t *model.Topology) (_ FollowUp, err error) {
	if t != r.Rest.Topology {
		r.inquiry = r.inquiry.On(t, shell.Counted(ctx, e.Broker, loss.Limited(t, r.Rest.Record.Queues())))
	}
	r.Rest, err = r.inquiry.Plan(ctx, choices[r.choice])
	return r, err
}

func resumeWant(ctx context.Context, e *shell.Env, id int64, insist bool) (resume.Want, error) {
	chain, err := e.Journal.Chain(ctx, id)
	return resume.Want{
		Chain:    chain,
		User:     e.Broker.User(),
		Broker:   e.Broker.Address(),
		Insist:   insist,
		ReadOnly: e.ReadOnly,
		Record:   e.Journal.Record,
		Entries:  e.Journal.Entries,
		Reads:    reads{e.Broker},
		File: func(ctx context.Context, path string, each message.Visit) error {
			if e.Files == nil {
				return errors.New("files cannot be read here")
			}
			return e.Files.Read(ctx, path, each)
		},
	}, err
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
