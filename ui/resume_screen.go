package ui

import (
	"context"
	"errors"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/ports"
	"github.com/dlxtop/dlxtop/model/resume"
)

// choices are what can be done with messages that nobody can decide, in the order in which a key goes through them.
var choices = []resume.Choice{"", resume.PublishAgain, resume.LeaveThem}

// resumeScreen shows how an action that did not come to its end would be gone on with, does it, and tells what came
// of it.
type resumeScreen struct {
	dialog
	id       int64
	topology *model.Topology
	choice   int
	resuming
}

// resuming is the plan of a resume, with what it was made of.
type resuming struct {
	want    resume.Want
	inquiry resume.Inquiry
	plan    resume.Plan
}

func newResumeScreen(e *env, id int64) screen {
	return resumeScreen{dialog: newDialog(e, dialogPlanning), id: id}
}

func (r resumeScreen) Init() tea.Cmd { return nil }

func (r resumeScreen) Title() string { return "resume" }

func (r resumeScreen) Typing() bool { return r.typing(r.offer()) }

// Busy reports whether ctrl-c stops what runs instead of the program.
func (r resumeScreen) Busy() bool { return r.busy() }

func (r resumeScreen) Keys() []key.Binding { return r.keys(r.offer()) }

// offer is what is asked.
func (r *resumeScreen) offer() *offer {
	o := &offer{does: "go on", refusal: r.plan.Refusal.Words(), name: r.plan.Record.From.Name}
	switch {
	case r.env.readOnly:
		o.refusal = readOnlyWords
	case r.err != nil:
		o.refusal = r.err.Error()
	default:
		o.insist(r.env, r.plan.Refusal)
	}
	if o.refusal != "" {
		return o
	}
	if r.canChoose() {
		o.turns = "other choice"
	}
	if r.env.careful(r.plan.Planned()) {
		o.prompt = "To go on, type the queue's name:"
	}
	return o
}

// canChoose reports whether there are messages that nobody can decide, or a choice of what is done with them.
func (r *resumeScreen) canChoose() bool { return len(r.plan.Undecided) > 0 || r.choice > 0 }

func (r resumeScreen) Update(msg tea.Msg) (screen, tea.Cmd) {
	switch msg := msg.(type) {
	case topologyMsg:
		if first := r.topology == nil; first {
			r.topology = msg.topology
			cmd := r.replan()
			return r, cmd
		}
	case plannedMsg[resuming]:
		if msg.request == r.request {
			return r.planned(msg)
		}
	case tea.KeyMsg:
		switch r.press(msg, r.offer()) {
		case pressedBack:
			r.request = 0 // a plan that was agreed to may be on its way: it does not start
			return r, pop
		case pressedAgree:
			cmd := r.check()
			return r, cmd
		case pressedTurn:
			cmd := r.turn()
			return r, cmd
		case pressedInsist:
			cmd := r.replan()
			return r, cmd
		}
	default:
		cmd := r.executing(msg)
		return r, cmd
	}
	return r, nil
}

// replan makes the plan: it looks for what is uncertain.
func (r *resumeScreen) replan() tea.Cmd {
	if r.env.readOnly {
		r.state = dialogAsking
		return nil
	}
	r.state, r.choice = dialogPlanning, 0
	e, id, insist := r.env, r.id, r.insist
	return planning(&r.dialog, r.topology, func(ctx context.Context, t *model.Topology) (resuming, error) {
		want, err := resumeWant(ctx, e, id, insist)
		if err != nil {
			return resuming{want: want}, err
		}
		last := want.Chain[len(want.Chain)-1]
		if !last.Running {
			if err = e.broker.AwaitGone(ctx, &last, e.source.Connections, last.Queues()...); err != nil {
				return resuming{want: want}, err
			}
		}
		want.Counts = counted(ctx, e.broker, plan.LimitedAmong(t, last.Queues()))
		inquiry, err := resume.Inquire(t, want)
		if err != nil {
			return resuming{want: want}, err
		}
		p, err := inquiry.Plan(want.Choice)
		return resuming{want, inquiry, p}, err
	})
}

// turn makes the plan for the next choice: it may read the journal, or an import's file. Whoever agrees before it is
// there agrees to the choice that is shown, and is asked again where the plan is another one.
func (r *resumeScreen) turn() tea.Cmd {
	r.choice = (r.choice + 1) % len(choices)
	now, choice := r.resuming, choices[r.choice]
	return planning(&r.dialog, r.topology, func(context.Context, *model.Topology) (_ resuming, err error) {
		now.plan, err = now.inquiry.Plan(choice)
		return now, err
	})
}

// check makes the plan again when it was agreed to. What became of the messages is not looked for again.
func (r *resumeScreen) check() tea.Cmd {
	e, now, choice := r.env, r.resuming, choices[r.choice]
	return checking(&r.dialog, func(ctx context.Context, t *model.Topology) (_ resuming, err error) {
		now.inquiry = now.inquiry.On(t, counted(ctx, e.broker, plan.LimitedAmong(t, now.plan.Record.Queues())))
		now.plan, err = now.inquiry.Plan(choice)
		return now, err
	})
}

// planned takes a plan. One that was agreed to runs when it is what was agreed to; else it is shown with what is
// different, and asked about again.
func (r resumeScreen) planned(msg plannedMsg[resuming]) (screen, tea.Cmd) {
	agreed := r.state == dialogChecking
	if r.state, r.unchecked = dialogAsking, msg.unread; msg.unread != nil {
		return r, nil
	}
	was, is := r.plan.Promise(), msg.plan.plan.Promise()
	r.topology, r.resuming, r.err = msg.topology, msg.plan, msg.err
	if !agreed || r.err != nil || r.changed(was, is) || r.plan.Refusal.Refused() {
		return r, nil
	}
	cmd := r.run()
	return r, cmd
}

// resumeWant is what a resume is planned from.
func resumeWant(ctx context.Context, e *env, id int64, insist bool) (resume.Want, error) {
	chain, err := e.journal.Chain(ctx, id)
	return resume.Want{
		Chain: chain, User: e.broker.User(), Broker: e.broker.Address(), Insist: insist, ReadOnly: e.readOnly,
		Record:  func(id int64) (plan.Record, error) { return e.journal.Record(e.work.ctx, id) },
		Entries: func(id int64, each func(*plan.Entry) error) error { return e.journal.Entries(e.work.ctx, id, each) },
		Look: func(plan peek.Plan, each func(*message.Message) error) (string, error) {
			read, err := e.broker.Read(ctx, plan, each)
			return read.Stopped, err
		},
		File: func(path string, each func(*message.Message) error) error {
			if e.files == nil {
				return errors.New("files cannot be read here")
			}
			return e.files.Read(e.work.ctx, path, each)
		},
	}, err
}

// run goes on with the record.
func (r *resumeScreen) run() tea.Cmd {
	begun := plan.Account{
		Operation: r.plan.Record.Operation, From: r.plan.Record.From, Planned: r.plan.Planned(),
	}
	resumer, run := ports.Resumer(r.env.broker), r.plan.On(r.topology, r.want)
	return r.execute(begun, func(ctx context.Context, progress func(plan.Account)) (plan.Account, error) {
		return resumer.Resume(ctx, run, progress)
	})
}
