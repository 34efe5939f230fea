package ui

import (
	"context"
	"slices"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"dlxtop/model"
)

const (
	typedAbove  = 100         // messages: above that the queue's name has to be typed
	replanMost  = 5000        // messages: above that a plan is not made anew with each poll
	changeGuard = time.Second // enter does nothing for so long after a shown plan has changed

	readOnlyWords = "this is read-only: nothing is changed here. It is so by --read-only, or by read_only of the context"
)

// dialogState is how far an action is.
type dialogState int

// The states. An action runs once: only asking leads to running, and only one key press leads there.
const (
	dialogClosed   dialogState = iota
	dialogChoosing             // the queue to move to is being chosen
	dialogPlanning             // the plan is being worked out
	dialogAsking               // the plan is shown, and nothing has happened
	dialogRunning
	dialogStopping // it was asked to stop
	dialogEnded    // the account is shown
)

// planDialog shows an action before it happens, while it happens, and what happened.
type planDialog struct {
	env       *env
	topology  *model.Topology
	state     dialogState
	operation model.Operation
	queue     model.QueueRef
	rows      []*messageRow // what it acts on
	words     string        // how they were chosen
	left      int64         // messages of the queue that were not read and stay

	chooser queueChooser // of a move

	modes  []replayTarget
	mode   int
	insist bool
	canary bool         // it begins with one message
	edit   *messageEdit // what was made of the one message; nil: it is as it was
	plan   model.Plan

	changedAt time.Time // when a poll changed where it goes; zero: none did
	name      textField // what is typed, when the name is asked for

	request request // the plan or the run that is awaited
	stop    context.CancelFunc
	goOn    chan struct{} // tells a canary not to wait any longer
	feed    *progressFeed
	account model.Account
	err     error
}

// replayTarget is one of the targets that tab goes through.
type replayTarget struct {
	mode  model.TargetMode
	fixed model.Address
	name  string
}

// plannedMsg brings a plan.
type plannedMsg struct {
	request request
	plan    model.Plan
}

func newPlanDialog(e *env, t *model.Topology, operation model.Operation, queue model.QueueRef, rows []*messageRow, words string, left int64) (planDialog, tea.Cmd) {
	d := planDialog{
		env: e, topology: t, operation: operation, queue: queue, rows: rows, words: words, left: left,
		name: newTextField(""),
	}
	switch operation {
	case model.Move:
		d.chooser, d.state = newQueueChooser(e, t.MoveTargets(queue)), dialogChoosing
		return d, nil
	case model.Replay:
		d.modes = []replayTarget{
			{model.ToAuto, model.Address{}, "auto: the narrowest way to the worker"},
			{model.ToOrigin, model.Address{}, "origin: where each was first published"},
		}
		for _, flow := range t.FlowsOf(queue) {
			worker := flow.Worker.Queue
			d.modes = append(d.modes, replayTarget{
				model.ToQueue, model.Address{RoutingKey: worker.Name}, "queue: " + model.Printable(worker.Name) + " by name",
			})
		}
	}
	cmd := d.work()
	return d, cmd
}

func (d *planDialog) open() bool { return d.state != dialogClosed }

// work makes the plan.
func (d *planDialog) work() tea.Cmd {
	d.state = dialogPlanning
	return d.replan()
}

// polled makes the plan anew from a newer poll while it is shown: what enter does must be what is read.
func (d *planDialog) polled(t *model.Topology) tea.Cmd {
	if d.state == dialogChoosing {
		d.topology = t
		d.chooser.polled(t.MoveTargets(d.queue))
	}
	if d.state != dialogAsking || len(d.rows) > replanMost {
		return nil
	}
	d.topology = t
	return d.replan()
}

// replan starts making the plan. It looks at every chosen message, so it is made outside Update.
func (d *planDialog) replan() tea.Cmd {
	d.request = d.env.newRequest()
	id, t, rows, user := d.request, d.topology, d.rows, d.env.broker.User()
	want := model.ActionWant{Operation: d.operation, From: d.queue, Planned: len(rows), User: user, Insist: d.insist, Mark: true, Journaled: d.env.journal != nil}
	if d.edit != nil && !d.edit.was.Same(&d.edit.is) {
		edited := d.edit.is
		want.Edited = &edited
	}
	if d.canary {
		want.Canary = model.DefaultCanaryWait
	}
	if len(d.modes) > 0 {
		want.Mode, want.Fixed = d.modes[d.mode].mode, d.modes[d.mode].fixed
	}
	if q, ok := d.chooser.current(); ok && d.operation == model.Move {
		want.Mode, want.Fixed = model.ToQueue, model.Address{RoutingKey: q.Name}
	}
	return d.env.command(0, func(context.Context) tea.Msg {
		want.Sample, want.Selection = sampleOf(rows)
		return plannedMsg{id, t.Plan(want)}
	})
}

// forbidden is why nothing may be changed here, whatever the plan says; "" when it may.
func (d *planDialog) forbidden() string {
	if d.env.readOnly {
		return readOnlyWords
	}
	return d.plan.Refusal
}

// typed reports whether the queue's name has to be typed.
func (d *planDialog) typed() bool {
	n := len(d.rows)
	return n > typedAbove || n > 1 && d.env.production
}

// ready reports whether enter runs the plan.
func (d *planDialog) ready() bool {
	if !d.changedAt.IsZero() && d.env.now().Sub(d.changedAt) < changeGuard {
		return false
	}
	return d.state == dialogAsking && d.forbidden() == "" && (!d.typed() || d.name.text() == d.queue.Name)
}

// sameWay reports whether two plans do the same, whatever has changed about the consumers.
func sameWay(a, b *model.Plan) bool {
	sameQueue := func(x, y model.Recipient) bool { return x.Queue == y.Queue }
	sameAddress := func(x, y model.PlannedWay) bool { return x.Address == y.Address }
	return a.Refusal == b.Refusal && slices.EqualFunc(a.Recipients, b.Recipients, sameQueue) && slices.EqualFunc(a.Ways, b.Ways, sameAddress)
}

func (d *planDialog) keys() []key.Binding {
	k := d.env.keys
	var keys []key.Binding
	switch d.state {
	case dialogChoosing:
		return d.chooser.keys()
	case dialogAsking:
		if d.ready() {
			keys = append(keys, describe(k.Confirm, string(d.operation)))
		}
		if d.edit != nil {
			keys = append(keys, describe(k.Edit, "edit again"))
		}
		if d.canCanary() {
			keys = append(keys, describe(k.Canary, d.canaryWords()))
		}
		if d.other() != "" {
			keys = append(keys, describe(k.Target, d.other()))
		}
		if d.canInsist() {
			keys = append(keys, k.Insist)
		}
	case dialogRunning:
		if d.waits() {
			keys = append(keys, k.GoOn)
		}
		return append(keys, describe(k.Cancel, "stop"), describe(k.ForceQuit, "stop"))
	case dialogStopping:
		return []key.Binding{describe(k.ForceQuit, "quit")}
	case dialogEnded:
		if d.canUndo() {
			keys = append(keys, k.Undo)
		}
		return append(keys, describe(k.Confirm, "close"), describe(k.Cancel, "close"))
	}
	return append(keys, k.Cancel)
}

// editsAgain reports whether a key opens the editor once more.
func (d *planDialog) editsAgain(msg tea.KeyMsg) bool {
	return d.state == dialogAsking && d.edit != nil && is(msg, d.env.keys.Edit)
}

func (d *planDialog) canInsist() bool {
	return !d.env.readOnly && d.plan.Acquire.Refusal != "" && d.plan.Acquire.Override != ""
}

// update takes what concerns the dialog: keys and the answers to its commands.
func (d planDialog) update(msg tea.Msg) (planDialog, tea.Cmd) {
	switch msg := msg.(type) {
	case plannedMsg:
		switch {
		case msg.request != d.request:
		case d.state == dialogPlanning:
			d.plan, d.state, d.changedAt = msg.plan, dialogAsking, time.Time{}
		case d.state == dialogAsking:
			if !sameWay(&d.plan, &msg.plan) {
				d.changedAt = d.env.now()
			}
			d.plan = msg.plan
		}
	case progressMsg:
		if msg.request == d.request && (d.state == dialogRunning || d.state == dialogStopping) {
			d.account = msg.account
			return d, d.feed.next(d.request)
		}
	case executedMsg:
		if msg.request == d.request && (d.state == dialogRunning || d.state == dialogStopping) {
			d.stop()
			d.account, d.err, d.state = msg.account, msg.err, dialogEnded
		}
	case tea.KeyMsg:
		return d.handleKey(msg)
	}
	return d, nil
}

func (d planDialog) handleKey(msg tea.KeyMsg) (planDialog, tea.Cmd) {
	k := d.env.keys
	switch d.state {
	case dialogChoosing:
		switch {
		case is(msg, k.Cancel):
			d.state = dialogClosed
		case d.chooser.handle(msg):
			cmd := d.work()
			return d, cmd
		}
	case dialogPlanning:
		if is(msg, k.Cancel) {
			d.state = dialogClosed
		}
	case dialogAsking:
		switch {
		case is(msg, k.Cancel):
			d.state = dialogClosed
		case is(msg, k.Confirm):
			if d.ready() {
				return d.run()
			}
		case is(msg, k.Target) && d.operation == model.Move:
			d.state = dialogChoosing
		case is(msg, k.Target) && len(d.modes) > 1:
			d.mode = (d.mode + 1) % len(d.modes)
			cmd := d.work()
			return d, cmd
		case is(msg, k.Canary) && d.canCanary():
			d.canary = !d.canary
			cmd := d.work()
			return d, cmd
		case is(msg, k.Insist) && d.canInsist():
			d.insist = true
			cmd := d.work()
			return d, cmd
		case d.typed() && d.forbidden() == "":
			d.name.update(msg)
		}
	case dialogRunning:
		switch {
		case is(msg, k.Cancel), is(msg, k.ForceQuit):
			d.state = dialogStopping
			d.stop()
		case is(msg, k.GoOn) && d.waits():
			select {
			case d.goOn <- struct{}{}: // it holds one: the wait that is seen ends
			default:
			}
		}
	case dialogEnded:
		if d.canUndo() && is(msg, k.Undo) {
			d.state = dialogClosed
			return d, push(newUndoScreen(d.env, d.account.JournalID))
		}
		if is(msg, k.Confirm) || is(msg, k.Cancel) || is(msg, k.Quit) {
			d.state = dialogClosed
		}
	}
	return d, nil
}

// canUndo reports whether there is something to take back of what happened.
func (d *planDialog) canUndo() bool {
	a := &d.account
	return a.JournalID > 0 && d.env.journal != nil && a.Moved+a.Dropped+a.Unknown > 0
}

// busy reports whether ctrl-c stops an action instead of the program.
func (d *planDialog) busy() bool { return d.state == dialogRunning }
