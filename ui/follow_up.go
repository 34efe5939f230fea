package ui

import (
	"cmp"
	"context"
	"fmt"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/ports"
)

// followUp is what can be done about a record of the journal: an undo, or a resume. It is empty until it is planned.
type followUp interface {
	// plan makes the plan: it reads the journal, and looks into queues where it is not certain what is there.
	plan(ctx context.Context, e *env, t *model.Topology, insist bool) (followUp, error)
	// again makes the plan again from another topology. What was looked for is not looked for again.
	again(ctx context.Context, e *env, t *model.Topology) (followUp, error)
	turn() followUp // the next choice, still without its plan
	promise() plan.Promise
	offer(d *dialog) *offer
	// say shows the plan, and returns a title that says more than the screen's own.
	say(l *dialogLines) (title string)
	running(a *plan.Account) string
	tell(d *dialog, l *dialogLines)
	did(e *env, a *plan.Account) // takes down what it did to queues
	run(e *env) (begun plan.Account, run accountRun)
}

// followUpScreen shows what a follow-up would do, does it, and shows what happened.
type followUpScreen struct {
	dialog
	name, title, looks string // in the path, above the box, and while the plan is made
	topology           *model.Topology
	is                 followUp
}

// newUndoScreen undoes the records of one action; 0 is the last action on this broker.
func newUndoScreen(e *env, ids ...int64) screen {
	f := followUpScreen{
		dialog: newDialog(e, dialogPlanning), name: "undo", title: "Undo", looks: "reading the journal …",
		is: undoing{id: ids[0]},
	}
	if len(ids) > 1 {
		var all undoingAll
		for _, id := range ids {
			all = append(all, undoing{id: id})
		}
		f.is = all
	}
	return f
}

// newResumeScreen goes on with a record whose action did not come to its end.
func newResumeScreen(e *env, id int64) screen {
	return followUpScreen{
		dialog: newDialog(e, dialogPlanning), name: "resume", title: fmt.Sprintf("Resume %d", id),
		looks: "looking for the messages whose outcome is unknown …", is: resuming{id: id},
	}
}

func (f followUpScreen) Init() tea.Cmd { return nil }

func (f followUpScreen) Title() string { return f.name }

func (f followUpScreen) Typing() bool { return f.typing(f.is.offer(&f.dialog)) }

// Busy reports whether ctrl-c stops what runs instead of the program.
func (f followUpScreen) Busy() bool { return f.busy() }

func (f followUpScreen) Keys() []key.Binding { return f.keys(f.is.offer(&f.dialog)) }

func (f followUpScreen) Update(msg tea.Msg) (_ screen, cmd tea.Cmd) {
	switch msg := msg.(type) {
	case topologyMsg:
		if first := f.topology == nil; first {
			f.topology = msg.topology
			cmd = f.replan()
		}
	case plannedMsg[followUp]:
		if msg.request == f.request {
			cmd = f.planned(msg)
		}
	case tea.KeyMsg:
		switch f.press(msg, f.is.offer(&f.dialog)) {
		case pressedBack:
			f.request = 0 // a plan that was agreed to may be on its way: it does not start
			return f, pop
		case pressedAgree:
			cmd = checking(&f.dialog, f.again())
		case pressedTurn: // an enter before its plan is there agrees to what is shown, and is asked again if it differs
			f.is = f.is.turn()
			cmd = planning(&f.dialog, f.topology, f.again())
		case pressedInsist:
			cmd = f.replan()
		}
	default:
		ended := f.state == dialogEnded
		cmd = f.executing(msg)
		if f.state == dialogEnded && !ended {
			f.is.did(f.env, &f.account)
		}
	}
	return f, cmd
}

func (f *followUpScreen) replan() tea.Cmd {
	f.state = dialogPlanning
	e, is, insist := f.env, f.is, f.insist
	return planning(&f.dialog, f.topology, func(ctx context.Context, t *model.Topology) (followUp, error) {
		return is.plan(ctx, e, t, insist)
	})
}

func (f *followUpScreen) again() func(context.Context, *model.Topology) (followUp, error) {
	e, is := f.env, f.is
	return func(ctx context.Context, t *model.Topology) (followUp, error) { return is.again(ctx, e, t) }
}

// planned takes a plan. One that was agreed to runs when it is what was agreed to; else it is shown with what is
// different, and asked about again.
func (f *followUpScreen) planned(msg plannedMsg[followUp]) tea.Cmd {
	agreed := f.state == dialogChecking
	if f.state, f.unchecked = dialogAsking, msg.unread; msg.unread != nil {
		return nil
	}
	was, is := f.is.promise(), msg.plan.promise()
	f.topology, f.is, f.err = msg.topology, msg.plan, msg.err
	if !agreed || f.err != nil || f.changed(was, is) || f.is.offer(&f.dialog).refusal != "" {
		return nil
	}
	return f.execute(f.is.run(f.env))
}

// View draws the follow-up as a box on a screen of its own.
func (f followUpScreen) View(width, height int) string {
	l := newDialogLines(f.env.styles, width)
	title := f.title
	switch f.state {
	case dialogPlanning:
		l.say("", f.looks, l.styles.Muted)
	case dialogChecking:
		l.say("", "reading the topology again …", l.styles.Muted)
	case dialogAsking:
		title = f.ask(l)
	case dialogRunning, dialogStopping:
		title = f.is.running(&f.account)
		f.sayProgress(l)
	case dialogEnded:
		title = "What happened"
		f.is.tell(&f.dialog, l)
	}
	return l.page(title, width, height)
}

// ask shows the plan and what the keys would do. It returns the title.
func (f *followUpScreen) ask(l *dialogLines) string {
	o := f.is.offer(&f.dialog)
	f.sayChanges(l)
	title := f.is.say(l)
	question := len(l.lines)
	if o.turns != "" {
		l.say("these", o.choice, l.styles.Strong)
	}
	f.sayAsked(l, o, f.Keys())
	l.question(question)
	return cmp.Or(title, f.title)
}

// sayRecord shows what happened to the messages of a record. what names the record.
func sayRecord(l *dialogLines, what string, r *plan.Record) {
	l.say("of", fmt.Sprintf("%s, %s, by %s", what, r.Began.Format("2006-01-02 15:04:05"), model.Printable(r.Who())),
		l.styles.Text)
	l.say("outcome", model.Printable(recordOutcome(r)), l.styles.Text)
}

// looksWith reads all of a queue for a plan.
func looksWith(ctx context.Context, b ports.Looker) func(peek.Plan, func(*message.Message) error) (string, error) {
	return func(look peek.Plan, each func(*message.Message) error) (string, error) {
		read, err := b.Read(ctx, look, each)
		return read.Stopped, err
	}
}
