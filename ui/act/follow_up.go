package act

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// FollowUp is what can be done about a record of the journal: an undo, or a resume. It is empty until it is planned.
type FollowUp interface {
	// plan makes the plan: it reads the journal, and looks into queues if it is uncertain what they contain.
	plan(ctx context.Context, e *shell.Env, t *model.Topology, insist bool) (FollowUp, error)
	// again makes the plan again from another topology, without looking again.
	again(ctx context.Context, e *shell.Env, t *model.Topology) (FollowUp, error)
	promise() plan.Promise
	offer(d *shell.Dialog) *shell.Offer
	// say shows the plan, and may return a more specific title than the screen's own.
	say(l *shell.DialogLines) (title string)
	running(a *plan.Account) string
	tell(d *shell.Dialog, l *shell.DialogLines)
	did(e *shell.Env, a *plan.Account) // records what it did to queues
	run(e *shell.Env) (begun plan.Account, run shell.AccountRun)
}

// FollowUpScreen shows what a follow-up would do, does it, and shows the result.
type FollowUpScreen struct {
	shell.Dialog
	name, title, looks string // in the path, above the box, and while the plan is made
	topology           *model.Topology
	Is                 FollowUp
}

// NewUndoScreen undoes the records of one action; 0 is the last action on this broker.
func NewUndoScreen(e *shell.Env, ids ...int64) shell.Screen {
	var is Undoing
	for _, id := range ids {
		is = append(is, recordUndo{Id: id})
	}
	return FollowUpScreen{
		Dialog: shell.NewDialog(e, shell.DialogPlanning), name: "undo", title: "Undo", looks: "reading the journal …",
		Is: is,
	}
}

func NewResumeScreen(e *shell.Env, id int64) shell.Screen {
	return FollowUpScreen{
		Dialog: shell.NewDialog(e, shell.DialogPlanning), name: "resume", title: fmt.Sprintf("Resume %d", id),
		looks: "looking for the messages whose outcome is unknown …", Is: Resuming{Id: id},
	}
}

func (f FollowUpScreen) Title() string { return f.name }

func (f FollowUpScreen) Typing() bool { return f.TypingIn(f.Is.offer(&f.Dialog)) }

func (f FollowUpScreen) Busy() bool { return f.IsBusy() }

func (f FollowUpScreen) Keys() []key.Binding { return f.KeysFor(f.Is.offer(&f.Dialog)) }

func (f FollowUpScreen) Update(msg tea.Msg) (_ shell.Screen, cmd tea.Cmd) {
	switch msg := msg.(type) {
	case shell.TopologyMsg:
		if first := f.topology == nil; first {
			f.topology = msg.Topology
			cmd = f.replan()
		}
	case shell.PlannedMsg[FollowUp]:
		if msg.Request == f.Request {
			cmd = f.planned(msg)
		}
	case tea.KeyMsg:
		switch f.Press(msg, f.Is.offer(&f.Dialog)) {
		case shell.PressedBack:
			f.Request = 0 // an agreed plan may be on its way: it does not start
			return f, shell.Pop
		case shell.PressedAgree:
			cmd = shell.Checking(&f.Dialog, f.again())
		case shell.PressedTurn: // an enter before its plan is there agrees to the displayed one, and asks again if it differs
			f.Is = f.Is.(Resuming).turn()
			cmd = shell.Planning(&f.Dialog, f.topology, f.again())
		case shell.PressedInsist:
			cmd = f.replan()
		}
	default:
		ended := f.State == shell.DialogEnded
		cmd = f.Executing(msg)
		if f.State == shell.DialogEnded && !ended {
			f.Is.did(f.Env, &f.Account)
		}
	}
	return f, cmd
}

func (f *FollowUpScreen) replan() tea.Cmd {
	f.State = shell.DialogPlanning
	e, is, insist := f.Env, f.Is, f.Insist
	return shell.Planning(&f.Dialog, f.topology, func(ctx context.Context, t *model.Topology) (FollowUp, error) {
		return is.plan(ctx, e, t, insist)
	})
}

func (f *FollowUpScreen) again() func(context.Context, *model.Topology) (FollowUp, error) {
	e, is := f.Env, f.Is
	return func(ctx context.Context, t *model.Topology) (FollowUp, error) { return is.again(ctx, e, t) }
}

// planned takes in a plan. An agreed one runs if it is what was agreed to; otherwise it is shown with the differences,
// and asked about again.
func (f *FollowUpScreen) planned(msg shell.PlannedMsg[FollowUp]) tea.Cmd {
	agreed := f.State == shell.DialogChecking
	if f.State, f.Unchecked = shell.DialogAsking, msg.Unread; msg.Unread != nil {
		return nil
	}
	was, is := f.Is.promise(), msg.Plan.promise()
	f.topology, f.Is, f.Err = msg.Topology, msg.Plan, msg.Err
	if !agreed || f.Err != nil || f.Changed(was, is) || f.Is.offer(&f.Dialog).Refusal != "" {
		return nil
	}
	return f.Execute(f.Is.run(f.Env))
}

func (f FollowUpScreen) View(width, height int) string {
	l := shell.NewDialogLines(f.Env.Styles, width)
	title := f.title
	switch f.State {
	case shell.DialogPlanning:
		l.Say("", f.looks, l.Styles.Muted)
	case shell.DialogChecking:
		l.Say("", "reading the topology again …", l.Styles.Muted)
	case shell.DialogAsking:
		title = f.ask(l)
	case shell.DialogRunning, shell.DialogStopping:
		title = f.Is.running(&f.Account)
		f.SayProgress(l)
	case shell.DialogEnded:
		title = "What happened"
		f.Is.tell(&f.Dialog, l)
	}
	return l.Page(title, width, height)
}

// ask shows the plan and what the keys would do. It returns the title.
func (f *FollowUpScreen) ask(l *shell.DialogLines) string {
	o := f.Is.offer(&f.Dialog)
	f.SayChanges(l)
	title := f.Is.say(l)
	question := len(l.Lines)
	l.Say("these", o.Choice, l.Styles.Strong)
	f.SayAsked(l, o, f.Keys())
	l.Question(question)
	return cmp.Or(title, f.title)
}

// refuse says why a follow-up is refused, and offers to insist, if either applies. r is its plan's refusal.
func refuse(d *shell.Dialog, o *shell.Offer, r model.Refusal) {
	switch {
	case d.Env.ReadOnly:
		o.Refusal = shell.ReadOnlyWords
	case d.Err != nil:
		o.Refusal = d.Err.Error()
		if why, ok := errors.AsType[*plan.UndoNotLooked](d.Err); ok {
			o.Insist(d.Env, why.Refusal())
		}
	default:
		o.Refusal = r.Words()
		o.Insist(d.Env, r)
	}
}

// sayRecord shows the outcomes of a record. what names the record.
func sayRecord(l *shell.DialogLines, what string, r *plan.Record) {
	l.Say("of", fmt.Sprintf("%s, %s, by %s", what, r.Began.Format("2006-01-02 15:04:05"), model.Printable(r.Who())),
		l.Styles.Text)
	l.Say("outcome", model.Printable(r.ToldSince()), l.Styles.Text)
}
