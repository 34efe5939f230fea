package act

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// PlanDialog shows an action before it happens, while it happens, and its result. It is not copied once it has begun.
type PlanDialog struct {
	QueueAction
	chooser QueueChooser // of a move, and of a replay to a selected queue
	prompt  MendPrompt   // for the program; it is closed once the user agreed to its results
	typed   TypedAhead   // while the first plan is made
}

// Begin plans an action, or asks for what there is no plan without.
func (d *PlanDialog) Begin(e *shell.Env, operation plan.Operation, about Subject) tea.Cmd {
	d.reset(e, operation, about)
	if operation == plan.Move {
		d.askQueue()
		return nil
	}
	return d.Work()
}

// reset makes it a dialog for which no plan is being made yet.
func (d *PlanDialog) reset(e *shell.Env, operation plan.Operation, about Subject) {
	*d = PlanDialog{QueueAction: NewQueueAction(e, operation, about)}
}

// askQueue asks for the queue of a move, or of a replay to a selected one.
func (d *PlanDialog) askQueue() {
	d.State = shell.DialogChoosing
	d.chooser = NewQueueChooser(d.Env, plan.MoveTargets(d.Topology, d.Queue), ChooserAnswers{
		Choose: d.choose,
		Back:   d.leaveChoice,
		Title:  func() string { return d.Action().Words().Title },
	})
}

// Asking asks for what there is no plan without: a queue, a program, a path.
type Asking interface {
	Keys() []term.Key
	Press(msg tea.KeyMsg) tea.Cmd
	View(width, height int) string
}

// asking returns what asks now; nil: nothing does.
func (d *PlanDialog) asking() Asking {
	switch {
	case d.prompt.Open():
		return &d.prompt
	case d.edit.open():
		return editing{d}
	case d.State == shell.DialogChoosing:
		return &d.chooser
	}

	return nil
}

// turnTarget goes to the next target, and asks for one to be selected. Insisting only applied to the previous target.
func (d *PlanDialog) turnTarget() tea.Cmd {
	if d.Operation == plan.Move {
		d.State = shell.DialogChoosing
		return nil
	}

	d.Mode, d.Insist = (d.Mode+1)%len(d.Modes), false
	if d.Modes[d.Mode].choice {
		d.askQueue()
		return nil
	}

	return d.Work()
}

// choose plans with a chosen queue.
func (d *PlanDialog) choose(q *model.Queue) tea.Cmd {
	if d.Operation == plan.Move {
		d.ToQueue(q.Name)
		d.Insist = false
		return d.Work()
	}

	chosen := queueTarget(q.QueueRef, "of choice")
	chosen.choice = true
	d.Modes[d.Mode] = chosen
	return d.Work()
}

// leaveChoice goes back to the first target; a move has none.
func (d *PlanDialog) leaveChoice() tea.Cmd {
	if d.Operation == plan.Move {
		return d.leave()
	}
	d.Mode = 0
	return d.Work()
}

// Polled applies a newer poll: queues to choose from, and what a plan is made of.
func (d *PlanDialog) Polled(t *model.Topology) tea.Cmd {
	if d.State == shell.DialogChoosing {
		d.Topology = t
		if chooser, asks := d.asking().(*QueueChooser); asks {
			chooser.Polled(plan.MoveTargets(t, d.Queue))
		}
	}

	return d.QueueAction.Polled(t)
}

func (d *PlanDialog) Keys() []term.Key {
	if asks := d.asking(); asks != nil {
		return asks.Keys()
	}
	asking := d.State == shell.DialogAsking
	ended := d.State == shell.DialogEnded
	more := []term.Key{
		term.On(press.Edit, "edit again", d.openEditor).As("edit again").When(asking && d.edit.state == editDone),
		term.On(press.Mend, "edit the jq program again", func() {
			d.State, d.prompt.State = shell.DialogChoosing, MendTyping
		}).As("edit again").When(asking && d.Mend != nil),
		d.goingOn(),
		term.On(press.Undo, "undo what was just done", d.then(NewUndoScreen)).When(ended && d.CanUndo()),
		term.On(press.Resume, "", d.then(NewResumeScreen)).When(ended && d.canResume()),
	}

	for _, o := range d.Options(&d.ActionWant, d.Work) {
		more = append(more, o.Shown(asking))
	}

	on := shell.Answers{Agree: d.Check, Turn: d.turnTarget, Insist: d.Work, Back: d.leave}
	return d.Dialog.Keys(d.Offer(), on, more...)
}

func (d *PlanDialog) leave() tea.Cmd {
	d.State = shell.DialogClosed
	d.Close()
	return nil
}

// then opens a screen about the record of what was done, in place of the dialog.
func (d *PlanDialog) then(screen func(*shell.Env, int64) shell.Screen) func() tea.Cmd {
	return func() tea.Cmd {
		d.State = shell.DialogClosed
		return shell.Push(screen(d.Env, d.Account.JournalID))
	}
}

// OtherKeys returns the keys of a dialog, and those where a queue is chosen.
func OtherKeys(e *shell.Env) (dialog, choice []term.Key) {
	d := PlanDialog{QueueAction: QueueAction{Dialog: shell.NewDialog(e, shell.DialogPlanning)}}
	return d.Keys(), (&QueueChooser{}).Keys()
}

func (d *PlanDialog) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case shell.EndedMsg[*message.Message]:
		return d.drafted(msg)
	case shell.EndedMsg[[]byte]:
		return d.edited(msg)
	case tea.KeyMsg:
		return d.handleKey(msg)
	}

	planning := d.State == shell.DialogPlanning
	cmd := d.QueueAction.Update(msg)
	if planning && d.State == shell.DialogAsking {
		return d.planned()
	}
	return cmd
}

// TypedAhead are keys that were typed before there was a plan.
type TypedAhead []tea.KeyMsg

// Apply presses those that change an option of the plan; never one that agrees. Each plans again: the last one counts.
func (t *TypedAhead) Apply(options func() []term.Key) (cmd tea.Cmd) {
	for _, msg := range *t {
		if pressed, ok := term.Press(options(), msg); ok {
			cmd = pressed
		}
	}

	*t = nil
	return cmd
}

// planned shows what a program makes of the messages, and applies keys typed before there was a plan.
func (d *PlanDialog) planned() tea.Cmd {
	if d.prompt.State == MendTrying {
		d.State = shell.DialogChoosing
		d.prompt.Show(d.Plan.Mended, d.Plan.Refusal.Words())
	}

	d.offerTargets()
	return d.typed.Apply(func() []term.Key { return d.Options(&d.ActionWant, d.Work) })
}

func (d *PlanDialog) handleKey(msg tea.KeyMsg) tea.Cmd {
	if asks := d.asking(); asks != nil {
		return asks.Press(msg)
	}
	keys := d.Keys()
	if d.State == shell.DialogPlanning && !d.Asks() && !term.Offers(keys, msg) {
		d.typed = append(d.typed, msg)
		return nil
	}

	return d.Press(msg, d.Offer(), keys)
}
