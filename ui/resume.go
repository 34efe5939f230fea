package ui

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
)

// shownUndecided bounds the list of undecided messages.
const shownUndecided = 5

// choices are what can be done with undecided messages. The key steps through them in this order.
var choices = []resume.Choice{"", resume.PublishAgain, resume.LeaveThem}

// resuming is the plan of a resume, with what it was made of.
type resuming struct {
	id       int64
	choice   int
	topology *model.Topology // that the plan was made from
	inquiry  resume.Inquiry
	want     resume.Want
	rest     resume.Plan
}

func (r resuming) plan(ctx context.Context, e *env, t *model.Topology, insist bool) (followUp, error) {
	r = resuming{id: r.id, topology: t}
	if e.readOnly {
		return r, nil
	}
	want, err := resumeWant(ctx, e, r.id, insist)
	if err != nil {
		return r, err
	}
	last := want.Chain[len(want.Chain)-1]
	if !last.Running {
		if err = e.broker.AwaitGone(ctx, &last, e.source.Connections, last.Queues()...); err != nil {
			return r, err
		}
	}
	want.Counts = counted(ctx, e.broker, loss.Limited(t, last.Queues()))
	if r.inquiry, err = resume.Inquire(t, want); err != nil {
		return r, err
	}
	r.want = want
	r.rest, err = r.inquiry.Plan(want.Choice)
	return r, err
}

func (r resuming) again(ctx context.Context, e *env, t *model.Topology) (_ followUp, err error) {
	if t != r.topology {
		r.topology = t
		r.inquiry = r.inquiry.On(t, counted(ctx, e.broker, loss.Limited(t, r.rest.Record.Queues())))
	}
	r.rest, err = r.inquiry.Plan(choices[r.choice])
	return r, err
}

// resumeWant is what a resume is planned from.
func resumeWant(ctx context.Context, e *env, id int64, insist bool) (resume.Want, error) {
	chain, err := e.journal.Chain(ctx, id)
	return resume.Want{
		Chain: chain, User: e.broker.User(), Broker: e.broker.Address(), Insist: insist, ReadOnly: e.readOnly,
		Record:  func(id int64) (plan.Record, error) { return e.journal.Record(e.work.ctx, id) },
		Entries: func(id int64, each func(*plan.Entry) error) error { return e.journal.Entries(e.work.ctx, id, each) },
		Look:    looksWith(ctx, e.broker),
		File: func(path string, each func(*message.Message) error) error {
			if e.files == nil {
				return errors.New("files cannot be read here")
			}
			return e.files.Read(e.work.ctx, path, each)
		},
	}, err
}

func (r resuming) turn() followUp {
	r.choice = (r.choice + 1) % len(choices)
	return r
}

func (r resuming) promise() plan.Promise { return r.rest.Promise() }

func (r resuming) offer(d *dialog) *offer {
	o := &offer{does: "go on", refusal: r.rest.Refusal.Words()}
	switch {
	case d.env.readOnly:
		o.refusal = readOnlyWords
	case d.err != nil:
		o.refusal = d.err.Error()
	default:
		o.insist(d.env, r.rest.Refusal)
	}
	if o.refusal != "" {
		return o
	}
	if len(r.rest.Undecided) > 0 || r.choice > 0 {
		o.turns = "other choice"
		o.choice = map[resume.Choice]string{
			"":                  "stay as they are, and unknown",
			resume.PublishAgain: "are published again: they may be there twice",
			resume.LeaveThem:    "stay in their queue, and count as done",
		}[choices[r.choice]]
	}
	if n := r.rest.Planned(); d.env.careful(n) {
		o.carefully(d.env, n, fmt.Sprintf("go on with the %s of at most %s of %s", r.rest.Record.Operation,
			model.Plural(n, "message"), model.Printable(r.rest.Record.From.Name)))
	}
	return o
}

func (r resuming) run(e *env) (begun plan.Account, run accountRun) {
	begun = plan.Account{Operation: r.rest.Record.Operation, From: r.rest.Record.From, Planned: r.rest.Planned()}
	resumer, rest := ports.Resumer(e.broker), r.rest.On(r.topology, r.want)
	return begun, func(ctx context.Context, progress func(plan.Account)) (plan.Account, error) {
		return resumer.Resume(ctx, rest, progress)
	}
}

func (r resuming) did(e *env, _ *plan.Account) {
	e.did(doing{queue: r.rest.Record.From, unclear: true})
}

func (r resuming) say(l *dialogLines) (title string) {
	s, p := l.styles, &r.rest
	if record := &p.Record; record.ID > 0 {
		title = fmt.Sprintf("Resume %d: continue the %s", record.ID, record.Operation)
		sayRecord(l, model.Printable(record.From.String()), record)
		if record.To != "" {
			l.say("to", model.Printable(record.To), s.Text)
		}
		l.say("the rest", model.Plural(p.Planned(), "message")+" at most", s.Strong)
	}
	for i, words := range p.Found() {
		label := ""
		if i == 0 {
			label = "found"
		}
		l.say(label, model.Printable(words), s.Text)
	}
	for i, u := range p.Undecided {
		if i == shownUndecided {
			l.stress("", "and "+model.Count(len(p.Undecided)-i)+" more", s.Warning)
			break
		}
		id := ""
		if u.MessageID != "" {
			id = " (" + model.Printable(u.MessageID) + ")"
		}
		l.stress("undecided", fmt.Sprintf("%s%s: %s", model.Count(u.Position), id, model.Printable(u.Why)), s.Warning)
	}
	l.warn(p.Rest.Warnings)
	return title
}

func (r resuming) running(*plan.Account) string {
	return fmt.Sprintf("Resuming %s %d", r.rest.Record.Operation, r.rest.Record.ID)
}

func (r resuming) tell(d *dialog, l *dialogLines) {
	s, a := l.styles, &d.account
	look := s.Strong
	if !a.Complete() || d.err != nil || len(r.rest.Undecided) > 0 {
		look = s.Warning
	}
	if d.err == nil {
		l.say("", fmt.Sprintf("%s of %s %s", model.Count(int64(a.Moved+a.Dropped)),
			model.Plural(a.Planned, "message"), r.rest.Record.Done()), look)
	}
	if n := r.rest.Done + r.rest.Acks(); n > 0 {
		l.say("before", fmt.Sprintf("%s were done, or had arrived", model.Plural(n, "message")), s.Text)
	}
	d.sayOutcomes(l,
		outcome{len(r.rest.Undecided), "undecided", "they stay in their queue"},
		outcome{a.Gone, "gone", "someone else took them out, or they expired"},
		outcome{a.Refused, "refused", "they stay where they are"},
		outcome{a.Returned, "returned", "no queue took them"},
		outcome{
			a.Unknown, "unknown", "the connection or a queue's node was lost meanwhile: resume again to look for them",
		})
}
