package act

import (
	"context"
	"errors"
	"fmt"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/loss"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/ports"
	"github.com/dlxtop/dlxtop/model/resume"
	"github.com/dlxtop/dlxtop/ui/shell"
)

const shownUndecided = 5

// choices are what can be done with undecided messages. The key steps through them in this order.
var choices = []resume.Choice{"", resume.PublishAgain, resume.LeaveThem}

// Resuming is the plan of a resume, with what it was made from.
type Resuming struct {
	Id       int64
	choice   int
	topology *model.Topology // the one that the plan was made from
	inquiry  resume.Inquiry
	want     resume.Want
	Rest     resume.Plan
}

func (r Resuming) plan(ctx context.Context, e *shell.Env, t *model.Topology, insist bool) (FollowUp, error) {
	r = Resuming{Id: r.Id, topology: t}
	if e.ReadOnly {
		return r, nil
	}
	want, err := resumeWant(ctx, e, r.Id, insist)
	if err != nil {
		return r, err
	}
	last := want.Chain[len(want.Chain)-1]
	if !last.Running {
		if err = e.Broker.AwaitGone(ctx, &last, e.Source.Connections, last.Queues()...); err != nil {
			return r, err
		}
	}
	want.Counts = shell.Counted(ctx, e.Broker, loss.Limited(t, last.Queues()))
	if r.inquiry, err = resume.Inquire(t, want); err != nil {
		return r, err
	}
	r.want = want
	r.Rest, err = r.inquiry.Plan(want.Choice)
	return r, err
}

func (r Resuming) again(ctx context.Context, e *shell.Env, t *model.Topology) (_ FollowUp, err error) {
	if t != r.topology {
		r.topology = t
		r.inquiry = r.inquiry.On(t, shell.Counted(ctx, e.Broker, loss.Limited(t, r.Rest.Record.Queues())))
	}
	r.Rest, err = r.inquiry.Plan(choices[r.choice])
	return r, err
}

func resumeWant(ctx context.Context, e *shell.Env, id int64, insist bool) (resume.Want, error) {
	chain, err := e.Journal.Chain(ctx, id)
	return resume.Want{
		Chain: chain, User: e.Broker.User(), Broker: e.Broker.Address(), Insist: insist, ReadOnly: e.ReadOnly,
		Record:  func(id int64) (plan.Record, error) { return e.Journal.Record(e.Work.Ctx, id) },
		Entries: func(id int64, each func(*plan.Entry) error) error { return e.Journal.Entries(e.Work.Ctx, id, each) },
		Reads:   reads(ctx, e.Broker, e.Broker),
		File: func(path string, each func(*message.Message) error) error {
			if e.Files == nil {
				return errors.New("files cannot be read here")
			}
			return e.Files.Read(e.Work.Ctx, path, each)
		},
	}, err
}

// turn goes on to the next choice, without a plan yet.
func (r Resuming) turn() Resuming {
	r.choice = (r.choice + 1) % len(choices)
	return r
}

func (r Resuming) promise() plan.Promise { return r.Rest.Promise() }

func (r Resuming) offer(d *shell.Dialog) *shell.Offer {
	o := &shell.Offer{Does: "go on"}
	if refuse(d, o, r.Rest.Refusal); o.Refusal != "" {
		return o
	}
	if len(r.Rest.Undecided) > 0 || r.choice > 0 {
		o.Turns = "other choice"
		o.Choice = map[resume.Choice]string{
			"":                  "stay as they are, and unknown",
			resume.PublishAgain: "are published again: they may be there twice",
			resume.LeaveThem:    "stay in their queue, and count as done",
		}[choices[r.choice]]
	}
	if n := r.Rest.Planned(); d.Env.Careful(n) {
		o.Carefully(d.Env, n, fmt.Sprintf("go on with the %s of at most %s of %s", r.Rest.Record.Operation,
			model.Plural(n, "message"), model.Printable(r.Rest.Record.From.Name)))
	}
	return o
}

func (r Resuming) run(e *shell.Env) (begun plan.Account, run shell.AccountRun) {
	begun = plan.Account{Operation: r.Rest.Record.Operation, From: r.Rest.Record.From, Planned: r.Rest.Planned()}
	resumer, rest := ports.Resumer(e.Broker), r.Rest.On(r.topology, r.want)
	return begun, func(ctx context.Context, progress func(plan.Account)) (plan.Account, error) {
		return resumer.Resume(ctx, rest, progress)
	}
}

func (r Resuming) did(e *shell.Env, _ *plan.Account) {
	e.Did(shell.Doing{Queue: r.Rest.Record.From, Unclear: true})
}

func (r Resuming) say(l *shell.DialogLines) (title string) {
	s, p := l.Styles, &r.Rest
	if record := &p.Record; record.ID > 0 {
		title = fmt.Sprintf("Resume %d: continue the %s", record.ID, record.Operation)
		sayRecord(l, model.Printable(record.From.String()), record)
		l.Say("to", model.Printable(record.To), s.Text)
		l.Say("the rest", model.Plural(p.Planned(), "message")+" at most", s.Strong)
	}
	for i, words := range p.Found() {
		label := ""
		if i == 0 {
			label = "found"
		}
		l.Say(label, model.Printable(words), s.Text)
	}
	for i, u := range p.Undecided {
		if i == shownUndecided {
			l.Stress("", "and "+model.Count(len(p.Undecided)-i)+" more", s.Warning)
			break
		}
		id := ""
		if u.MessageID != "" {
			id = " (" + model.Printable(u.MessageID) + ")"
		}
		l.Stress("undecided", fmt.Sprintf("%s%s: %s", model.Count(u.Position), id, model.Printable(u.Why)), s.Warning)
	}
	l.Warn(p.Rest.Warnings)
	return title
}

func (r Resuming) running(*plan.Account) string {
	return fmt.Sprintf("Resuming %s %d", r.Rest.Record.Operation, r.Rest.Record.ID)
}

func (r Resuming) tell(d *shell.Dialog, l *shell.DialogLines) {
	s, a := l.Styles, &d.Account
	look := s.Strong
	if !a.Complete() || d.Err != nil || len(r.Rest.Undecided) > 0 {
		look = s.Warning
	}
	if d.Err == nil {
		l.Say("", fmt.Sprintf("%s of %s %s", model.Count(int64(a.Moved+a.Dropped)),
			model.Plural(a.Planned, "message"), r.Rest.Record.Done()), look)
	}
	if n := r.Rest.Done + r.Rest.Acks(); n > 0 {
		l.Say("before", fmt.Sprintf("%s were done, or had arrived", model.Plural(n, "message")), s.Text)
	}
	l.Outcome(len(r.Rest.Undecided), "undecided", "they stay in their queue")
	l.Outcome(a.Gone, "gone", "someone else took them out, or they expired")
	l.Outcome(a.Refused, "refused", "they stay where they are")
	l.Outcome(a.Returned, "returned", "no queue took them")
	l.Outcome(a.Unknown, "unknown", "the connection or a queue's node was lost meanwhile: resume again to look for them")
	d.SayEnd(l)
}
