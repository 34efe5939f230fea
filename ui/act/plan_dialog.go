package act

import (
	"slices"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/mend"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/target"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// replanMost is how many messages a plan may have that is made again with each poll.
const replanMost = 5000

// remendMost is the same where a program looks into each of them.
const remendMost = 500

// PlanDialog shows an action before it happens, while it happens, and what happened.
type PlanDialog struct {
	shell.Dialog
	topology  *model.Topology
	Operation plan.Operation
	Queue     model.QueueRef
	Rows      []*shell.MessageRow // what it acts on
	one       string              // the id of that message, when it is one
	words     string              // how they were chosen
	Others    OtherMessages       // what else is in the queue, and stays

	chooser QueueChooser // of a move, and of a replay to a queue of choice
	Target  string       // the queue that was chosen for a move; "": none yet

	Modes []ReplayTarget // the last is a queue of choice
	Mode  int
	PlanOptions
	Ahead  []RowsOf      // what runs before: copies of it stay
	edit   *MessageEdit  // what was made of the one message; nil: it is as it was
	Mend   *mend.Program // that changes them; nil: none does
	Plan   plan.Plan
	goOn   chan struct{} // tells a canary not to wait any longer
	waited time.Time     // since when what its canary does now is seen
}

// ReplayTarget is one of the targets that tab goes through.
type ReplayTarget struct {
	mode   target.Mode
	fixed  model.Address
	name   string
	choice bool // the queue is chosen from all
}

func NewPlanDialog(
	e *shell.Env, t *model.Topology, operation plan.Operation, queue model.QueueRef,
	rows []*shell.MessageRow, words string,
	others OtherMessages,
) (PlanDialog, tea.Cmd) {
	d := PlanDialog{
		Dialog:   shell.NewDialog(e, shell.DialogPlanning),
		topology: t, Operation: operation, Queue: queue, Rows: rows, words: words, Others: others,
	}
	switch operation {
	case plan.Move:
		d.chooser, d.State = NewQueueChooser(e, plan.MoveTargets(t, queue)), shell.DialogChoosing
		return d, nil
	case plan.Replay:
		d.Modes = []ReplayTarget{
			{mode: target.ToAuto, name: "auto: the narrowest way to the worker"},
			{mode: target.ToOrigin, name: "origin: where each was first published"},
		}
		for _, flow := range t.FlowsOf(queue) {
			d.Modes = append(d.Modes, queueTarget(flow.Worker.Queue, "by name"))
		}
		for _, later := range plan.Laters(t, queue) {
			d.Modes = append(d.Modes, laterTarget(&later))
		}
		d.Modes = append(d.Modes, ReplayTarget{mode: target.ToQueue, name: "a queue of choice", choice: true})
	}
	cmd := d.Work()
	return d, cmd
}

func queueTarget(queue model.QueueRef, why string) ReplayTarget {
	return ReplayTarget{
		mode: target.ToQueue, fixed: model.Address{RoutingKey: queue.Name},
		name: "queue: " + model.Printable(queue.Name) + " " + why,
	}
}

// offerTargets adds the queues that a refused plan could mean to what tab goes through.
func (d *PlanDialog) offerTargets() {
	for _, o := range d.Plan.Refusal {
		unclear, _ := o.ObjectionKind.(target.NoWorker)
		for i := range unclear.Clues {
			c := &unclear.Clues[i]
			queue := func(t ReplayTarget) bool { return t.mode == target.ToQueue && t.fixed.RoutingKey == c.Queue.Name }
			if choice := len(d.Modes) - 1; !c.Gone && choice >= 0 && !slices.ContainsFunc(d.Modes[:choice], queue) {
				d.Modes = slices.Insert(d.Modes, choice, queueTarget(c.Queue, "("+c.Source()+")"))
			}
		}
	}
}

// turnTarget goes on to the next target. That of choice is asked for. Who insisted did so for the target before.
func (d *PlanDialog) turnTarget() tea.Cmd {
	d.Mode, d.Insist = (d.Mode+1)%len(d.Modes), false
	if d.Modes[d.Mode].choice {
		d.chooser, d.State = NewQueueChooser(d.Env, plan.MoveTargets(d.topology, d.Queue)), shell.DialogChoosing
		return nil
	}
	return d.Work()
}

// choose takes a key while a queue is chosen.
func (d *PlanDialog) choose(msg tea.KeyMsg) tea.Cmd {
	chosen := false
	switch {
	case !term.Is(msg, d.Env.Keys.Cancel):
		if chosen = d.chooser.Handle(msg); !chosen {
			return nil
		}
	case d.Operation == plan.Move:
		d.State = shell.DialogClosed
		return nil
	default:
		d.Mode = 0
	}
	switch q, ok := d.chooser.Current(); {
	case !ok || !chosen:
	case d.Operation == plan.Move:
		d.Target, d.Insist = q.Name, false
	default:
		d.Modes[d.Mode].fixed = model.Address{RoutingKey: q.Name}
		d.Modes[d.Mode].name = "queue: " + model.Printable(q.Name) + " of choice"
	}
	return d.Work()
}

// Asks reports whether a plan is shown, or made again after a key: a second key counts while it is, and enter does not.
func (d *PlanDialog) Asks() bool {
	return d.State == shell.DialogAsking || d.State == shell.DialogPlanning && d.Plan.Operation != ""
}

// Work makes the plan.
func (d *PlanDialog) Work() tea.Cmd {
	d.State = shell.DialogPlanning
	return d.replan()
}

// Polled makes the plan again from a newer poll while it is shown: what enter does must be what is read.
func (d *PlanDialog) Polled(t *model.Topology) tea.Cmd {
	if d.State == shell.DialogChoosing {
		d.topology = t
		d.chooser.Polled(plan.MoveTargets(t, d.Queue))
	}
	if d.State != shell.DialogAsking || len(d.Rows) > replanMost || d.Mend != nil && len(d.Rows) > remendMost {
		return nil
	}
	d.topology = t
	return d.replan()
}

// Offer is what is asked.
func (d *PlanDialog) Offer() *shell.Offer {
	does := DoesTo(d.Env, d.Operation, len(d.Rows))
	o := &shell.Offer{Does: string(d.Operation), Refusal: d.Plan.Refusal.Words(), Turns: d.other()}
	if d.Operation == plan.Drop {
		o.Does = does
	}
	if d.Env.ReadOnly {
		o.Refusal = shell.ReadOnlyWords
	} else {
		o.Insist(d.Env, d.Plan.Refusal)
	}
	if n := len(d.Rows); o.Refusal == "" && d.Env.Careful(n) {
		o.Carefully(d.Env, n, does+" of "+model.Printable(d.Queue.Name)+WhereTo(&d.Plan))
	}
	return o
}

// DoesTo is what an action does to a number of messages.
func DoesTo(e *shell.Env, operation plan.Operation, messages int) string {
	does := string(operation) + " " + model.Plural(messages, "message")
	if operation == plan.Drop && e.Journal == nil {
		does += " for good"
	}
	return does
}

// WhereTo are the queues that plans reach, behind what they do: their name, or their number.
func WhereTo(plans ...*plan.Plan) string {
	if to := RecipientsOf(plans...); to != "" {
		return " to " + to
	}
	return ""
}

// RecipientsOf are the queues that plans reach: the name of the one, or their number.
func RecipientsOf(plans ...*plan.Plan) string {
	reached := map[model.QueueRef]bool{}
	name := ""
	for _, p := range plans {
		for _, r := range p.Recipients {
			reached[r.Queue], name = true, model.Printable(r.Queue.Name)
		}
	}
	if len(reached) > 1 {
		return model.Plural(len(reached), "queue")
	}
	return name
}

func (d *PlanDialog) Keys() []key.Binding {
	k := d.Env.Keys
	var more []key.Binding
	switch d.State {
	case shell.DialogChoosing:
		return d.chooser.Keys()
	case shell.DialogAsking:
		if d.edit != nil {
			more = append(more, term.Describe(k.Edit, "edit again"))
		}
		if d.Mend != nil {
			more = append(more, term.Describe(k.Mend, "edit again"))
		}
		more = append(more, d.Options()...)
	case shell.DialogRunning:
		if d.Waits() {
			more = append(more, k.GoOn)
		}
	case shell.DialogEnded:
		if d.CanUndo() {
			more = append(more, k.Undo)
		}
	}
	return d.Dialog.KeysFor(d.Offer(), more...)
}

// EditsAgain reports whether a key opens the editor once more.
func (d *PlanDialog) EditsAgain(msg tea.KeyMsg) bool {
	return d.State == shell.DialogAsking && !d.Consent.Asked && d.edit != nil && term.Is(msg, d.Env.Keys.Edit)
}

// Update takes what concerns the dialog: keys and the answers to its commands.
func (d PlanDialog) Update(msg tea.Msg) (PlanDialog, tea.Cmd) {
	switch msg := msg.(type) {
	case shell.PlannedMsg[Acting]:
		if msg.Request == d.Request {
			return d.Planned(msg)
		}
	case tea.KeyMsg:
		return d.handleKey(msg)
	case arrivedMsg:
		if msg.request == d.Request {
			d.Others.Arrived = msg.messages
		}
	default:
		running, was := d.State != shell.DialogEnded, d.Account.Canary
		cmd := d.Executing(msg)
		if is := d.Account.Canary; is.Phase != was.Phase || is.Sent != was.Sent {
			d.waited = d.Env.Shown
		}
		if running && d.State == shell.DialogEnded {
			d.Env.Together = nil
			cmd = tea.Batch(cmd, d.countArrived(), shell.Following(&d.Plan, d.topology, &d.Account))
		}
		return d, cmd
	}
	return d, nil
}

func (d PlanDialog) handleKey(msg tea.KeyMsg) (PlanDialog, tea.Cmd) {
	k := d.Env.Keys
	switch {
	case d.State == shell.DialogChoosing:
		cmd := d.choose(msg)
		return d, cmd
	case key.Matches(msg, d.Options()...):
		d.Turn(k, msg)
		cmd := d.Work()
		return d, cmd
	case term.Is(msg, k.Target) && d.State == shell.DialogPlanning && d.Operation == plan.Replay:
		cmd := d.turnTarget()
		return d, cmd
	case term.Is(msg, k.GoOn) && d.Waits():
		d.hurry()
		return d, nil
	case d.State == shell.DialogEnded && d.CanUndo() && term.Is(msg, k.Undo):
		d.State = shell.DialogClosed
		return d, shell.Push(NewUndoScreen(d.Env, d.Account.JournalID))
	}
	switch d.Press(msg, d.Offer()) {
	case shell.PressedBack:
		d.State = shell.DialogClosed
		d.Close()
	case shell.PressedAgree:
		cmd := d.Check()
		return d, cmd
	case shell.PressedTurn:
		if d.Operation == plan.Move {
			d.State = shell.DialogChoosing
			return d, nil
		}
		cmd := d.turnTarget()
		return d, cmd
	case shell.PressedInsist:
		cmd := d.Work()
		return d, cmd
	}
	return d, nil
}

// Well reports whether all of it was done.
func (d *PlanDialog) Well() bool { return d.Err == nil && d.Account.Complete() }

// AsPlanned reports whether what was agreed to was done, and nothing else. What a program cannot change stays, as it
// was said.
func (d *PlanDialog) AsPlanned() bool {
	a := d.Account
	if m := d.Plan.Mended; m != nil && a.Refused <= m.Stay {
		a.Planned -= a.Refused
	}
	return d.Err == nil && a.Complete()
}

// CanUndo reports whether there is something to take back of what happened.
func (d *PlanDialog) CanUndo() bool {
	a := &d.Account
	if _, none := d.Plan.Irrevocable(); none && d.Operation.Publishes() {
		return false
	}
	return a.JournalID > 0 && d.Env.Journal != nil && a.Moved+a.Dropped+a.Unknown > 0
}
