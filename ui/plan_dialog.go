package ui

import (
	"slices"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/mend"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/term"
)

// replanMost is how many messages a plan may have that is made again with each poll.
const replanMost = 5000

// remendMost is the same where a program looks into each of them.
const remendMost = 500

// planDialog shows an action before it happens, while it happens, and what happened.
type planDialog struct {
	dialog
	topology  *model.Topology
	operation plan.Operation
	queue     model.QueueRef
	rows      []*messageRow // what it acts on
	one       string        // the id of that message, when it is one
	words     string        // how they were chosen
	others    otherMessages // what else is in the queue, and stays

	chooser queueChooser // of a move, and of a replay to a queue of choice
	target  string       // the queue that was chosen for a move; "": none yet

	modes []replayTarget // the last is a queue of choice
	mode  int
	planOptions
	ahead  []rowsOf      // what runs before: copies of it stay
	edit   *messageEdit  // what was made of the one message; nil: it is as it was
	mend   *mend.Program // that changes them; nil: none does
	plan   plan.Plan
	goOn   chan struct{} // tells a canary not to wait any longer
	waited time.Time     // since when what its canary does now is seen
}

// replayTarget is one of the targets that tab goes through.
type replayTarget struct {
	mode   plan.TargetMode
	fixed  model.Address
	name   string
	choice bool // the queue is chosen from all
}

func newPlanDialog(
	e *env, t *model.Topology, operation plan.Operation, queue model.QueueRef, rows []*messageRow, words string,
	others otherMessages,
) (planDialog, tea.Cmd) {
	d := planDialog{
		dialog:   newDialog(e, dialogPlanning),
		topology: t, operation: operation, queue: queue, rows: rows, words: words, others: others,
	}
	switch operation {
	case plan.Move:
		d.chooser, d.state = newQueueChooser(e, plan.MoveTargets(t, queue)), dialogChoosing
		return d, nil
	case plan.Replay:
		d.modes = []replayTarget{
			{mode: plan.ToAuto, name: "auto: the narrowest way to the worker"},
			{mode: plan.ToOrigin, name: "origin: where each was first published"},
		}
		for _, flow := range t.FlowsOf(queue) {
			d.modes = append(d.modes, queueTarget(flow.Worker.Queue, "by name"))
		}
		for _, later := range plan.Laters(t, queue) {
			d.modes = append(d.modes, laterTarget(&later))
		}
		d.modes = append(d.modes, replayTarget{mode: plan.ToQueue, name: "a queue of choice", choice: true})
	}
	cmd := d.work()
	return d, cmd
}

func queueTarget(queue model.QueueRef, why string) replayTarget {
	return replayTarget{
		mode: plan.ToQueue, fixed: model.Address{RoutingKey: queue.Name},
		name: "queue: " + model.Printable(queue.Name) + " " + why,
	}
}

// offerTargets adds the queues that a refused plan could mean to what tab goes through.
func (d *planDialog) offerTargets() {
	for _, o := range d.plan.Refusal {
		unclear, _ := o.ObjectionKind.(plan.NoWorker)
		for i := range unclear.Clues {
			c := &unclear.Clues[i]
			queue := func(t replayTarget) bool { return t.mode == plan.ToQueue && t.fixed.RoutingKey == c.Queue.Name }
			if choice := len(d.modes) - 1; !c.Gone && choice >= 0 && !slices.ContainsFunc(d.modes[:choice], queue) {
				d.modes = slices.Insert(d.modes, choice, queueTarget(c.Queue, "("+c.Source()+")"))
			}
		}
	}
}

// turnTarget goes on to the next target. That of choice is asked for. Who insisted did so for the target before.
func (d *planDialog) turnTarget() tea.Cmd {
	d.mode, d.insist = (d.mode+1)%len(d.modes), false
	if d.modes[d.mode].choice {
		d.chooser, d.state = newQueueChooser(d.env, plan.MoveTargets(d.topology, d.queue)), dialogChoosing
		return nil
	}
	return d.work()
}

// choose takes a key while a queue is chosen.
func (d *planDialog) choose(msg tea.KeyMsg) tea.Cmd {
	chosen := false
	switch {
	case !term.Is(msg, d.env.keys.Cancel):
		if chosen = d.chooser.handle(msg); !chosen {
			return nil
		}
	case d.operation == plan.Move:
		d.state = dialogClosed
		return nil
	default:
		d.mode = 0
	}
	switch q, ok := d.chooser.current(); {
	case !ok || !chosen:
	case d.operation == plan.Move:
		d.target, d.insist = q.Name, false
	default:
		d.modes[d.mode].fixed = model.Address{RoutingKey: q.Name}
		d.modes[d.mode].name = "queue: " + model.Printable(q.Name) + " of choice"
	}
	return d.work()
}

// asks reports whether a plan is shown, or made again after a key: a second key counts while it is, and enter does not.
func (d *planDialog) asks() bool {
	return d.state == dialogAsking || d.state == dialogPlanning && d.plan.Operation != ""
}

// work makes the plan.
func (d *planDialog) work() tea.Cmd {
	d.state = dialogPlanning
	return d.replan()
}

// polled makes the plan again from a newer poll while it is shown: what enter does must be what is read.
func (d *planDialog) polled(t *model.Topology) tea.Cmd {
	if d.state == dialogChoosing {
		d.topology = t
		d.chooser.polled(plan.MoveTargets(t, d.queue))
	}
	if d.state != dialogAsking || len(d.rows) > replanMost || d.mend != nil && len(d.rows) > remendMost {
		return nil
	}
	d.topology = t
	return d.replan()
}

// offer is what is asked.
func (d *planDialog) offer() *offer {
	does := doesTo(d.env, d.operation, len(d.rows))
	o := &offer{does: string(d.operation), refusal: d.plan.Refusal.Words(), turns: d.other()}
	if d.operation == plan.Drop {
		o.does = does
	}
	if d.env.readOnly {
		o.refusal = readOnlyWords
	} else {
		o.insist(d.env, d.plan.Refusal)
	}
	if n := len(d.rows); o.refusal == "" && d.env.careful(n) {
		o.carefully(d.env, n, does+" of "+model.Printable(d.queue.Name)+whereTo(&d.plan))
	}
	return o
}

// doesTo is what an action does to a number of messages.
func doesTo(e *env, operation plan.Operation, messages int) string {
	does := string(operation) + " " + model.Plural(messages, "message")
	if operation == plan.Drop && e.journal == nil {
		does += " for good"
	}
	return does
}

// whereTo are the queues that plans reach, behind what they do: their name, or their number.
func whereTo(plans ...*plan.Plan) string {
	if to := recipientsOf(plans...); to != "" {
		return " to " + to
	}
	return ""
}

// recipientsOf are the queues that plans reach: the name of the one, or their number.
func recipientsOf(plans ...*plan.Plan) string {
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

func (d *planDialog) keys() []key.Binding {
	k := d.env.keys
	var more []key.Binding
	switch d.state {
	case dialogChoosing:
		return d.chooser.keys()
	case dialogAsking:
		if d.edit != nil {
			more = append(more, term.Describe(k.Edit, "edit again"))
		}
		if d.mend != nil {
			more = append(more, term.Describe(k.Mend, "edit again"))
		}
		more = append(more, d.options()...)
	case dialogRunning:
		if d.waits() {
			more = append(more, k.GoOn)
		}
	case dialogEnded:
		if d.canUndo() {
			more = append(more, k.Undo)
		}
	}
	return d.dialog.keys(d.offer(), more...)
}

// editsAgain reports whether a key opens the editor once more.
func (d *planDialog) editsAgain(msg tea.KeyMsg) bool {
	return d.state == dialogAsking && !d.consent.asked && d.edit != nil && term.Is(msg, d.env.keys.Edit)
}

// update takes what concerns the dialog: keys and the answers to its commands.
func (d planDialog) update(msg tea.Msg) (planDialog, tea.Cmd) {
	switch msg := msg.(type) {
	case plannedMsg[acting]:
		if msg.request == d.request {
			return d.planned(msg)
		}
	case tea.KeyMsg:
		return d.handleKey(msg)
	case arrivedMsg:
		if msg.request == d.request {
			d.others.arrived = msg.messages
		}
	default:
		running, was := d.state != dialogEnded, d.account.Canary
		cmd := d.executing(msg)
		if is := d.account.Canary; is.Phase != was.Phase || is.Sent != was.Sent {
			d.waited = d.env.shown
		}
		if running && d.state == dialogEnded {
			d.env.together = nil
			cmd = tea.Batch(cmd, d.countArrived())
		}
		return d, cmd
	}
	return d, nil
}

func (d planDialog) handleKey(msg tea.KeyMsg) (planDialog, tea.Cmd) {
	k := d.env.keys
	switch {
	case d.state == dialogChoosing:
		cmd := d.choose(msg)
		return d, cmd
	case key.Matches(msg, d.options()...):
		d.turn(k, msg)
		cmd := d.work()
		return d, cmd
	case term.Is(msg, k.Target) && d.state == dialogPlanning && d.operation == plan.Replay:
		cmd := d.turnTarget()
		return d, cmd
	case term.Is(msg, k.GoOn) && d.waits():
		d.hurry()
		return d, nil
	case d.state == dialogEnded && d.canUndo() && term.Is(msg, k.Undo):
		d.state = dialogClosed
		return d, push(newUndoScreen(d.env, d.account.JournalID))
	}
	switch d.press(msg, d.offer()) {
	case pressedBack:
		d.state = dialogClosed
		d.Close()
	case pressedAgree:
		cmd := d.check()
		return d, cmd
	case pressedTurn:
		if d.operation == plan.Move {
			d.state = dialogChoosing
			return d, nil
		}
		cmd := d.turnTarget()
		return d, cmd
	case pressedInsist:
		cmd := d.work()
		return d, cmd
	}
	return d, nil
}

// well reports whether all of it was done.
func (d *planDialog) well() bool { return d.err == nil && d.account.Complete() }

// asPlanned reports whether what was agreed to was done, and nothing else. What a program cannot change stays, as it
// was said.
func (d *planDialog) asPlanned() bool {
	a := d.account
	if m := d.plan.Mended; m != nil && a.Refused <= m.Stay {
		a.Planned -= a.Refused
	}
	return d.err == nil && a.Complete()
}

// canUndo reports whether there is something to take back of what happened.
func (d *planDialog) canUndo() bool {
	a := &d.account
	if _, none := d.plan.Irrevocable(); none && d.operation.Publishes() {
		return false
	}
	return a.JournalID > 0 && d.env.journal != nil && a.Moved+a.Dropped+a.Unknown > 0
}
