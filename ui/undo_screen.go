package ui

import (
	"cmp"
	"context"
	"errors"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

// undoScreen shows how an action would be taken back, does it, and tells what came of it.
type undoScreen struct {
	dialog
	id       int64 // of the record; 0 is the last action on this broker
	topology *model.Topology
	undoing
}

// undoing is the plan of an undo, with what it was made of.
type undoing struct {
	want plan.UndoWant
	plan plan.UndoPlan
}

func newUndoScreen(e *env, id int64) screen {
	return undoScreen{dialog: newDialog(e, dialogPlanning), id: id}
}

// undo opens the undo of the last action.
func (a app) undo() (tea.Model, tea.Cmd) {
	if a.env.journal == nil {
		a.notice = noticeMsg{text: "there is no journal to undo from: dlxtop was started with --no-journal", bad: true}
		return a, nil
	}
	if _, open := a.top().(undoScreen); open {
		return a, nil
	}
	return a.push(newUndoScreen(a.env, 0))
}

func (u undoScreen) Init() tea.Cmd { return nil }

func (u undoScreen) Title() string { return "undo" }

func (u undoScreen) Typing() bool { return u.typing(u.offer()) }

// Busy reports whether ctrl-c stops the undo instead of the program.
func (u undoScreen) Busy() bool { return u.busy() }

func (u undoScreen) Keys() []key.Binding { return u.keys(u.offer()) }

// offer is what is asked.
func (u *undoScreen) offer() *offer {
	o := &offer{does: "bring back", refusal: u.plan.Refusal.Words(), name: u.plan.Back.Name}
	refusal := u.plan.Refusal
	if u.err != nil {
		o.refusal, refusal = u.err.Error(), nil
		if why := (*plan.UndoNotLooked)(nil); errors.As(u.err, &why) {
			refusal = why.Refusal()
		}
	}
	if u.env.readOnly {
		o.refusal, refusal = readOnlyWords, nil
	}
	o.insist(u.env, refusal)
	if o.refusal == "" && u.plan.Gone() == plan.GoneEither {
		o.insists = u.env.keys.Insist.Help().Desc
	}
	if o.refusal == "" && u.env.careful(u.plan.Planned()) {
		o.prompt = "To bring them back, type the queue's name:"
	}
	return o
}

func (u undoScreen) Update(msg tea.Msg) (screen, tea.Cmd) {
	switch msg := msg.(type) {
	case topologyMsg:
		if first := u.topology == nil; first {
			u.topology = msg.topology
			cmd := u.replan()
			return u, cmd
		}
	case plannedMsg[undoing]:
		if msg.request == u.request {
			return u.planned(msg)
		}
	case tea.KeyMsg:
		switch u.press(msg, u.offer()) {
		case pressedBack:
			u.request = 0 // a plan that was agreed to may be on its way: it does not start
			return u, pop
		case pressedAgree:
			cmd := u.check()
			return u, cmd
		case pressedInsist:
			cmd := u.replan()
			return u, cmd
		}
	default:
		cmd := u.executing(msg)
		return u, cmd
	}
	return u, nil
}

// planned takes a plan. One that was agreed to runs when it is what was agreed to; else it is shown with what is
// different, and asked about again.
func (u undoScreen) planned(msg plannedMsg[undoing]) (screen, tea.Cmd) {
	agreed := u.state == dialogChecking
	u.id = cmp.Or(msg.plan.want.Record.ID, u.id) // the last one may be another one soon
	was, is := u.plan.Promise(), msg.plan.plan.Promise()
	u.state, u.unchecked = dialogAsking, msg.unread
	switch {
	case msg.unread != nil:
		return u, nil
	case msg.err != nil:
		u.err = msg.err
		return u, nil
	}
	u.topology, u.undoing, u.err = msg.topology, msg.plan, nil
	if !agreed || u.changed(was, is) {
		return u, nil
	}
	cmd := u.run()
	return u, cmd
}

// run starts the undo.
func (u *undoScreen) run() tea.Cmd {
	begun := plan.Account{Operation: plan.Undo, From: u.plan.Back, Planned: u.plan.Planned()}
	e, p := u.env, u.plan
	return u.execute(begun, func(ctx context.Context, progress func(plan.Account)) (plan.Account, error) {
		return e.broker.Undo(ctx, p, e.entries(ctx, p.Record.ID), progress)
	})
}
