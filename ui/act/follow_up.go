package act

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/action"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// FollowUp is what can be done about a record of the journal: an undo, or a resume. It is empty until it is planned.
type FollowUp interface {
	// plan makes the plan: it reads the journal, and looks into queues if it is uncertain what they contain; nil makes it
	// again from another topology, without looking again.
	plan(ctx context.Context, e *shell.Env, t *model.Topology, by *looking) (FollowUp, error)
	// barred returns why a topology alone refuses each of its records.
	barred(t *model.Topology) []plan.Refusal
	action() action.Action
	// options adds what else keys do about the plan.
	options(e *shell.Env, o *shell.Offer)
	// noteDone records what was done to queues.
	noteDone(e *shell.Env, a *plan.Account)
}

// looking is how a follow-up may look into queues.
type looking struct {
	insist bool
	free   bool // only where that has no cost
}

// affords says that queues must not be looked at, if that is so.
func (by *looking) affords(t *model.Topology, queues ...model.QueueRef) error {
	for _, ref := range queues {
		if look := peek.For(t, ref, peek.Want{}); by.free && look.Allowed() && !look.Free {
			return model.Errorf("it is no longer refused, but a look at %v has a cost: close this, and open it again",
				ref)
		}
	}

	return nil
}

// FollowUpScreen shows what a follow-up would do, does it, and shows the result.
type FollowUpScreen struct {
	shell.Dialog
	name, title, looks string // in the path, above the box, and while the plan is made
	topology           *model.Topology
	Is                 FollowUp
}

// NewUndoScreen undoes one record; 0 is the last action on this broker.
func NewUndoScreen(e *shell.Env, id int64) shell.Screen { return UndoTogether(e, id) }

// UndoTogether undoes the records of one action.
func UndoTogether(e *shell.Env, ids ...int64) shell.Screen {
	var is Undoing
	for _, id := range ids {
		is = append(is, recordUndo{Id: id})
	}

	return &FollowUpScreen{
		Dialog: shell.NewDialog(e, shell.DialogPlanning),
		name:   "undo",
		title:  "Undo",
		looks:  "reading the journal …",
		Is:     is,
	}
}

func NewResumeScreen(e *shell.Env, id int64) shell.Screen {
	return &FollowUpScreen{
		Dialog: shell.NewDialog(e, shell.DialogPlanning),
		name:   "resume",
		title:  fmt.Sprintf("Resume %d", id),
		looks:  "looking for the messages whose outcome is unknown …",
		Is:     Resuming{Id: id},
	}
}

func (f *FollowUpScreen) Title() string { return f.name }

func (f *FollowUpScreen) Typing() bool { return f.TypingIn(f.offer()) }

func (f *FollowUpScreen) Busy() bool { return f.IsBusy() }

func (f *FollowUpScreen) Keys() []term.Key {
	return f.Dialog.Keys(f.offer(), shell.Answers{
		Agree:  func() tea.Cmd { return shell.Checking(&f.Dialog, f.planner(nil)) },
		Insist: func() tea.Cmd { return f.plan(looking{insist: true}) },
		Turn: func() tea.Cmd {
			f.Is, f.State = f.Is.(Resuming).turn(), shell.DialogPlanning
			return shell.Planning(&f.Dialog, f.topology, f.planner(nil))
		},
		Back: func() tea.Cmd {
			f.Request = 0 // an agreed plan may be on its way: it does not start
			return shell.Pop
		},
	})
}

func (f *FollowUpScreen) Update(msg tea.Msg) (cmd tea.Cmd) {
	switch msg := msg.(type) {
	case shell.TopologyMsg:
		switch {
		case f.topology == nil:
			f.topology = msg.Topology
			cmd = f.plan(looking{})
		case f.refused() && !reflect.DeepEqual(f.Is.barred(f.topology), f.Is.barred(msg.Topology)):
			f.topology = msg.Topology
			cmd = f.plan(looking{free: true})
		}
	case shell.PlannedMsg[FollowUp]:
		take := func() { f.topology, f.Is = msg.Topology, msg.Plan }
		if f.Agreed(msg.Planned, take, func() plan.Promise { return f.Is.action().Promise() }) {
			cmd = f.Execute(f.Is.action())
		}
	case tea.KeyMsg:
		cmd = f.Press(msg, f.offer(), f.Keys())
	default:
		var ended bool
		if cmd, ended = f.Executing(msg); ended {
			f.Is.noteDone(f.Env, &f.Account)
			cmd = shell.Following(f.Is.action(), f.topology, &f.Account)
		}
	}

	return cmd
}

// refused reports whether it shows a refusal that nobody is answering.
func (f *FollowUpScreen) refused() bool {
	if f.State != shell.DialogAsking || f.offer().Refusal == "" {
		return false
	}
	return !f.Insist && !f.Typing()
}

func (f *FollowUpScreen) plan(by looking) tea.Cmd {
	if !by.free { // otherwise the refusal stays to be read
		f.State = shell.DialogPlanning
	}
	return shell.Planning(&f.Dialog, f.topology, f.planner(&by))
}

func (f *FollowUpScreen) planner(by *looking) func(context.Context, *model.Topology) (FollowUp, error) {
	e, is := f.Env, f.Is
	return func(ctx context.Context, t *model.Topology) (FollowUp, error) { return is.plan(ctx, e, t, by) }
}

func (f *FollowUpScreen) View(width, height int) string {
	l := shell.NewDialogLines(width)
	planned, a := f.Is.action(), &f.Account
	shown := shownAction{Action: planned, title: f.title, planning: f.looks}
	if f.State == shell.DialogAsking && len(planned.Facts(shell.MostNamed)) > 0 {
		shown.title = planned.Words().Title // there is a plan
	}

	shown.summary = model.Sayf("%v of %v message(s) %s", a.Moved+a.Dropped, a.Planned, planned.Words().Done)

	title := shown.draw(l, &f.Dialog, f.offer(), f.Keys())
	f.Fit(l, height-3)
	return l.Page(title, width, height)
}

func (f *FollowUpScreen) offer() *shell.Offer {
	o := offerOf(&f.Dialog, f.Is.action())
	if o.Refusal == "" && f.State == shell.DialogAsking {
		f.Is.options(f.Env, o)
	}
	return o
}

// offerOf returns what enter would do about an action, or why it is refused, and whether a user may insist.
func offerOf(d *shell.Dialog, a action.Action) *shell.Offer {
	outline, words := a.Outline(), a.Words()
	o := &shell.Offer{Does: words.Does}
	switch {
	case d.Env.ReadOnly:
		o.Refusal = shell.ReadOnlyWords
	case d.Err != nil:
		o.Refusal = d.Err.Error()
		if why, ok := errors.AsType[*plan.UndoNotLooked](d.Err); ok {
			o.Insist(why.Refusal())
		}
	case d.State == shell.DialogAsking && d.Env.Acting(outline.From):
		o.Refusal = "a job is acting on " + outline.From.Printable() + " already: :jobs shows it"
	default:
		o.Refusal = outline.Refusal.Words()
		o.Insist(outline.Refusal)
	}

	if o.Refusal == "" {
		o.Carefully(d.Env, outline.Planned, words.Asks)
	}

	return o
}
