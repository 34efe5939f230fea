package act

import (
	"slices"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/mend"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/target"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// replanMost is how many messages a plan may have to be made again with each poll.
const replanMost = 5000

// remendMost is the same for plans with a program.
const remendMost = 500

// PlanDialog shows an action before it happens, while it happens, and its result.
type PlanDialog struct {
	shell.Dialog
	Subject
	Operation plan.Operation
	one       string // the id of the message, if it is a single one

	chooser QueueChooser // of a move, and of a replay to a selected queue
	Target  string       // the selected queue of a move; "": none yet

	Modes []ReplayTarget // the last is a selected queue
	Mode  int
	PlanOptions
	Ahead  []Subject     // what runs first: copies of it stay
	edit   messageEdit   // of the single message
	prompt MendPrompt    // for the program; it is closed once the user agreed to its results
	Mend   *mend.Program // changes them; nil without one
	Plan   plan.Plan
	typed  []tea.KeyMsg  // while the first plan is made: keys for its options are then applied
	goOn   chan struct{} // makes a canary stop waiting
	waited time.Time     // since when the canary's current state is visible
}

// Subject is what an action is about.
type Subject struct {
	Topology *model.Topology
	Queue    model.QueueRef
	Rows     []*shell.MessageRow
	Words    string        // how they were selected
	Others   OtherMessages // what else is in the queue, and stays
}

// ReplayTarget is one of the targets that tab cycles through.
type ReplayTarget struct {
	mode   target.Mode
	fixed  model.Address
	name   string
	choice bool // the user selects a queue
}

func NewPlanDialog(e *shell.Env, operation plan.Operation, about Subject) (PlanDialog, tea.Cmd) {
	d := newDialog(e, operation, about)
	if operation == plan.Move {
		return d, nil
	}
	cmd := d.Work()
	return d, cmd
}

// newDialog is a dialog for which no plan is being made yet.
func newDialog(e *shell.Env, operation plan.Operation, about Subject) PlanDialog {
	d := PlanDialog{Dialog: shell.NewDialog(e, shell.DialogPlanning), Subject: about, Operation: operation}
	t, queue := about.Topology, about.Queue
	switch operation {
	case plan.Move:
		d.chooser = NewQueueChooser(e, plan.MoveTargets(t, queue))
		d.State = shell.DialogChoosing
	case plan.Replay:
		d.Modes = []ReplayTarget{
			{mode: target.ToAuto, name: "auto: the narrowest way to the worker"},
			{mode: target.ToOrigin, name: "origin: where each was first published"},
		}

		for _, flow := range t.FlowsOf(queue) {
			d.Modes = append(d.Modes, queueTarget(flow.Worker.Queue, "by name"))
		}

		for _, later := range plan.Laters(t, queue) {
			words := "later: " + model.ShortDuration(later.After) + " in the buffer " + model.Printable(later.Buffer.Name)
			d.Modes = append(d.Modes, toQueue(later.Buffer.Name, words))
		}

		d.Modes = append(d.Modes, ReplayTarget{mode: target.ToQueue, name: "a queue of choice", choice: true})
	}

	return d
}

func toQueue(name, words string) ReplayTarget {
	return ReplayTarget{mode: target.ToQueue, fixed: model.Address{RoutingKey: name}, name: words}
}

func queueTarget(queue model.QueueRef, why string) ReplayTarget {
	return toQueue(queue.Name, "queue: "+model.Printable(queue.Name)+" "+why)
}

// offerTargets adds the candidates of a refused plan to the targets of tab.
func (d *PlanDialog) offerTargets() {
	for _, o := range d.Plan.Refusal {
		unclear, _ := o.(target.NoWorker)
		for i := range unclear.Clues {
			c := &unclear.Clues[i]
			queue := func(t ReplayTarget) bool { return t.mode == target.ToQueue && t.fixed.RoutingKey == c.Queue.Name }
			if choice := len(d.Modes) - 1; !c.Gone && choice >= 0 && !slices.ContainsFunc(d.Modes[:choice], queue) {
				d.Modes = slices.Insert(d.Modes, choice, queueTarget(c.Queue, "("+c.Source()+")"))
			}
		}
	}
}

// turnTarget goes to the next target, and asks for one to be selected. Insisting only applied to the previous target.
func (d *PlanDialog) turnTarget() tea.Cmd {
	if d.Operation == plan.Move {
		d.State = shell.DialogChoosing
		return nil
	}

	d.Mode, d.Insist = (d.Mode+1)%len(d.Modes), false
	if d.Modes[d.Mode].choice {
		d.chooser = NewQueueChooser(d.Env, plan.MoveTargets(d.Topology, d.Queue))
		d.State = shell.DialogChoosing
		return nil
	}

	return d.Work()
}

// choose plans with a chosen queue.
func (d *PlanDialog) choose(q *model.Queue) tea.Cmd {
	if d.Operation == plan.Move {
		d.Target, d.Insist = q.Name, false
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
		d.State = shell.DialogClosed
		return nil
	}
	d.Mode = 0
	return d.Work()
}

// Asks reports whether a plan is shown, or is being made again after a key: meanwhile a second key counts, but not
// enter.
func (d *PlanDialog) Asks() bool {
	return d.State == shell.DialogAsking || d.State == shell.DialogPlanning && d.Plan.Operation != ""
}

func (d *PlanDialog) Work() tea.Cmd {
	d.State = shell.DialogPlanning
	return d.replan()
}

// Polled makes the displayed plan again from a newer poll: enter must do what the user reads.
func (d *PlanDialog) Polled(t *model.Topology) tea.Cmd {
	if d.State == shell.DialogChoosing {
		if d.Topology = t; !d.prompt.Open() && !d.edit.open() {
			d.chooser.Polled(plan.MoveTargets(t, d.Queue))
		}
	}

	if d.State != shell.DialogAsking || len(d.Rows) > replanMost || d.Mend != nil && len(d.Rows) > remendMost {
		return nil
	}
	d.Topology = t
	return d.replan()
}

func (d *PlanDialog) Offer() *shell.Offer {
	o := offerOf(&d.Dialog, d.Action())
	switch {
	case d.Operation == plan.Move:
		o.Turns = "other queue"
	case len(d.Modes) > 1:
		o.Turns = "other target"
	}

	return o
}

func (d *PlanDialog) Keys() []term.Key {
	switch {
	case d.prompt.Open():
		return d.mendKeys()
	case d.edit.open():
		return d.editKeys()
	case d.State == shell.DialogChoosing:
		return d.chooser.Keys(d.choose, d.leaveChoice)
	}

	k := d.Env.Keys
	asking := d.State == shell.DialogAsking
	ended := d.State == shell.DialogEnded
	more := []term.Key{
		term.On(k.Edit, "edit again", d.openEditor).As("edit again").When(asking && d.edit.state == editDone),
		term.On(k.Mend, "edit the jq program again", func() {
			d.State, d.prompt.State = shell.DialogChoosing, MendTyping
		}).As("edit again").When(asking && d.Mend != nil),
		term.On(k.GoOn, "do not wait longer for the canary", d.hurry).When(d.waits()),
		term.On(k.Undo, "undo what was just done", d.then(func() shell.Screen {
			return NewUndoScreen(d.Env, d.Account.JournalID)
		})).When(ended && d.CanUndo()),
		term.On(k.Resume, "", d.then(func() shell.Screen {
			return NewResumeScreen(d.Env, d.Account.JournalID)
		})).When(ended && d.canResume()),
	}

	for _, o := range d.Options(&d.PlanOptions, d.Work) {
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
func (d *PlanDialog) then(screen func() shell.Screen) func() tea.Cmd {
	return func() tea.Cmd {
		d.State = shell.DialogClosed
		return shell.Push(screen())
	}
}

// OtherKeys are the keys of a dialog, and those where a queue is chosen.
func OtherKeys(e *shell.Env) (dialog, choice []term.Key) {
	d := PlanDialog{Dialog: shell.NewDialog(e, shell.DialogPlanning)}
	c := QueueChooser{env: e}
	return d.Keys(), c.Keys(nil, nil)
}

func (d PlanDialog) Update(msg tea.Msg) (_ PlanDialog, cmd tea.Cmd) {
	switch msg := msg.(type) {
	case shell.PlannedMsg[Acting]:
		if msg.Request == d.Request {
			cmd = d.planned(msg)
		}
	case shell.EndedMsg[*message.Message]:
		cmd = d.drafted(msg)
	case shell.EndedMsg[[]byte]:
		cmd = d.edited(msg)
	case tea.KeyMsg:
		cmd = d.handleKey(msg)
	case shell.EndedMsg[model.Opt[int64]]:
		if msg.Request == d.Request {
			d.Others.Arrived = msg.Result.Or(d.Others.Arrived)
		}
	default:
		running := d.State != shell.DialogEnded
		was := d.Account.Canary
		cmd = d.Executing(msg)
		if is := d.Account.Canary; is.Phase != was.Phase || is.Sent != was.Sent {
			d.waited = d.Env.Shown
		}

		if running && d.State == shell.DialogEnded {
			d.Env.ActTogether()
			cmd = tea.Batch(cmd, d.countArrived(), shell.Following(d.Action(), d.Topology, &d.Account))
		}
	}

	return d, cmd
}

func (d *PlanDialog) handleKey(msg tea.KeyMsg) tea.Cmd {
	keys := d.Keys()
	offered := term.Offers(keys, msg)
	switch {
	case d.prompt.Open():
		return d.prompt.Press(msg, keys)
	case d.edit.open():
		cmd, _ := term.Press(keys, msg)
		return cmd
	case d.State == shell.DialogChoosing:
		return d.chooser.Press(msg, keys)
	case d.State == shell.DialogPlanning && !d.Asks() && !offered:
		d.typed = append(d.typed, msg)
		return nil
	}

	return d.Press(msg, d.Offer(), keys)
}

// AsPlanned reports whether exactly what was agreed to was done. Messages that a program cannot change stay, as
// announced.
func (d *PlanDialog) AsPlanned() bool {
	a := d.Account
	if m := d.Plan.Mended; m != nil && a.Refused <= m.Stay {
		a.Planned -= a.Refused
	}
	return d.Err == nil && a.Complete()
}

func (d *PlanDialog) CanUndo() bool {
	a := &d.Account
	if _, none := d.Plan.Irrevocable(); none && d.Operation.Publishes() {
		return false
	}
	return a.JournalID > 0 && d.Env.Journal != nil && a.Moved+a.Dropped+a.Unknown > 0
}

func (d *PlanDialog) canResume() bool { return d.Env.Journal != nil && d.Account.Resumable() }

// Spreads are the times over which messages can be spread; the first is as fast as the broker confirms.
var Spreads = []time.Duration{0, time.Minute, 5 * time.Minute, 15 * time.Minute, plan.LongestSpread}

// canaryWaits are how long a canary can watch; the first is as long as a message that fails again takes to come back.
var canaryWaits = []time.Duration{plan.CanaryAuto, 10 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute}

type PlanOptions struct {
	canary  bool // it begins with one message
	wait    int  // the index in canaryWaits
	tries   bool // keep counters of tries
	doubles bool // replay copies of replayed messages, too
	Over    int  // the index in Spreads
}

// Options are the keys that change options, with what they do now; work plans with the changed ones. They are disabled
// where this plan does not have them.
func (d *PlanDialog) Options(o *PlanOptions, work func() tea.Cmd) []term.Key {
	k, p := d.Env.Keys, &d.Plan
	refused := d.Env.ReadOnly || p.Acquire.Refusal.Refused()
	usable := d.Asks() && !d.Consent.Asked && !refused
	turn := func(b key.Binding, does string, offered bool, change func()) term.Key {
		return term.On(b, does, func() tea.Cmd {
			change()
			return work()
		}).When(usable && offered && d.Operation.Publishes())
	}

	flip := func(b key.Binding, does, off string, offered bool, is *bool) term.Key {
		option := turn(b, does, offered, func() { *is = !*is })
		if *is {
			option = option.As(off)
		}
		return option
	}

	waits := "wait as a retry takes"
	wait := (o.wait + 1) % len(canaryWaits)
	if canaryWaits[wait] > 0 {
		waits = "wait " + model.ShortDuration(canaryWaits[wait])
	}

	spreads := "do not spread"
	over := (o.Over + 1) % len(Spreads)
	if Spreads[over] > 0 {
		spreads = "spread over " + model.ShortDuration(Spreads[over])
	}

	can := !p.Refusal.Refused()
	replays := d.Operation == plan.Replay
	counts := can && d.edit.state == editNone && p.CountsTries()
	return []term.Key{
		flip(k.Canary, "begin with a canary", "no canary", can || o.canary, &o.canary),
		turn(k.CanaryWait, "how long the canary watches", can && o.canary, func() { o.wait = wait }).As(waits),
		flip(k.KeepTries, "keep the counters of tries", "reset tries", replays && counts, &o.tries),
		flip(k.Doubles, "replay also copies of what was replayed", "leave copies", replays && p.HoldsDoubles(), &o.doubles),
		turn(k.Spread, "spread the messages over 1, 5, 15 or 25 minutes; again as fast as the broker confirms",
			can && len(d.Rows) > 1, func() { o.Over = over }).As(spreads),
	}
}

func (d *PlanDialog) run() tea.Cmd {
	if d.Plan.Canary != nil {
		d.goOn = make(chan struct{}, 1)
	}

	d.Env.SetActing(d.Queue, true)
	return d.Execute(d.Action())
}

// waits reports whether a canary waits, so that the user may want to skip the wait.
func (d *PlanDialog) waits() bool {
	return d.State == shell.DialogRunning && d.Plan.Canary != nil && d.Account.Canary.Waits()
}

// hurry ends the visible wait. One that has just begun cannot have been read: a key held down, or an enter meant for
// something else, ends no wait.
func (d *PlanDialog) hurry() {
	if d.Env.Shown.Sub(d.waited) < shell.ChangeGuard {
		return
	}
	select {
	case d.goOn <- struct{}{}: // it holds one
	default:
	}
}
