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

func (d *PlanDialog) choose(msg tea.KeyMsg) tea.Cmd {
	cancel := term.Is(msg, d.Env.Keys.Cancel)
	move := d.Operation == plan.Move
	q, ok := d.chooser.Current()
	switch {
	case cancel && move:
		d.State = shell.DialogClosed
		return nil
	case cancel:
		d.Mode = 0
	case !d.chooser.Handle(msg) || !ok:
		return nil
	case move:
		d.Target, d.Insist = q.Name, false
	default:
		chosen := queueTarget(q.QueueRef, "of choice")
		chosen.choice = true
		d.Modes[d.Mode] = chosen
	}

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

func (d *PlanDialog) Keys() []key.Binding {
	k := d.Env.Keys
	var more []key.Binding
	asking := d.State == shell.DialogAsking
	switch {
	case d.prompt.Open():
		return d.prompt.Keys()
	case d.edit.open():
		return d.editKeys()
	case d.State == shell.DialogChoosing:
		return d.chooser.Keys()
	case asking && d.edit.state == editDone:
		more = append(more, term.Describe(k.Edit, "edit again"))
	case asking && d.Mend != nil:
		more = append(more, term.Describe(k.Mend, "edit again"))
	case d.waits():
		more = append(more, k.GoOn)
	case d.State == shell.DialogEnded:
		more = append(more, d.after()...)
	}

	if d.State == shell.DialogAsking {
		more = append(more, d.Options()...)
	}

	return d.Dialog.KeysFor(d.Offer(), more...)
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
	k := d.Env.Keys
	again := d.State == shell.DialogAsking && !d.Consent.Asked
	switch {
	case d.prompt.Open():
		return d.mendKey(msg)
	case d.edit.open():
		return d.editKey(msg)
	case d.State == shell.DialogChoosing:
		return d.choose(msg)
	case again && d.edit.state == editDone && term.Is(msg, k.Edit):
		return d.openEditor()
	case again && d.Mend != nil && term.Is(msg, k.Mend):
		d.State, d.prompt.State = shell.DialogChoosing, MendTyping
		return nil

	case key.Matches(msg, d.Options()...):
		d.Turn(k, msg)
		return d.Work()
	case term.Is(msg, k.Target) && d.State == shell.DialogPlanning && d.Operation == plan.Replay:
		return d.turnTarget()
	case d.State == shell.DialogPlanning && !d.Asks() && !term.Is(msg, k.Cancel):
		d.typed = append(d.typed, msg)
		return nil
	case term.Is(msg, k.GoOn) && d.waits():
		d.hurry()
		return nil
	case d.State == shell.DialogEnded && d.CanUndo() && term.Is(msg, k.Undo):
		d.State = shell.DialogClosed
		return shell.Push(NewUndoScreen(d.Env, d.Account.JournalID))
	case d.State == shell.DialogEnded && d.canResume() && term.Is(msg, k.Resume):
		d.State = shell.DialogClosed
		return shell.Push(NewResumeScreen(d.Env, d.Account.JournalID))
	}

	switch d.Press(msg, d.Offer()) {
	case shell.PressedBack:
		d.State = shell.DialogClosed
		d.Close()
	case shell.PressedAgree:
		return d.Check()
	case shell.PressedTurn:
		return d.turnTarget()
	case shell.PressedInsist:
		return d.Work()
	}

	return nil
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

// after are the keys for what can be done about what was done.
func (d *PlanDialog) after() (keys []key.Binding) {
	if d.CanUndo() {
		keys = append(keys, d.Env.Keys.Undo)
	}
	if d.canResume() {
		keys = append(keys, d.Env.Keys.Resume)
	}
	return keys
}

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

func (o *PlanOptions) Turn(k *shell.KeyMap, msg tea.KeyMsg) {
	switch {
	case term.Is(msg, k.Canary):
		o.canary = !o.canary
	case term.Is(msg, k.CanaryWait):
		o.wait = (o.wait + 1) % len(canaryWaits)
	case term.Is(msg, k.KeepTries):
		o.tries = !o.tries
	case term.Is(msg, k.Doubles):
		o.doubles = !o.doubles
	case term.Is(msg, k.Spread):
		o.Over = (o.Over + 1) % len(Spreads)
	}
}

// Options are the keys for this plan's options, with what they do now.
func (d *PlanDialog) Options() (keys []key.Binding) {
	k, p := d.Env.Keys, &d.Plan
	if !d.Asks() || d.Consent.Asked || !d.Operation.Publishes() || d.Env.ReadOnly || p.Acquire.Refusal.Refused() {
		return nil
	}
	add := func(offered, on bool, b key.Binding, off string) {
		if offered && on {
			b = term.Describe(b, off)
		}
		if offered {
			keys = append(keys, b)
		}
	}

	can := !p.Refusal.Refused()
	replays := d.Operation == plan.Replay
	add(can || d.canary, d.canary, k.Canary, "no canary")
	waits := "wait as a retry takes"

	if wait := canaryWaits[(d.wait+1)%len(canaryWaits)]; wait > 0 {
		waits = "wait " + model.ShortDuration(wait)
	}

	add(can && d.canary, true, k.CanaryWait, waits)
	add(can && replays && d.edit.state == editNone && p.CountsTries(), d.tries, k.KeepTries, "reset tries")
	add(replays && p.HoldsDoubles(), d.doubles, k.Doubles, "leave copies")
	next := "do not spread"
	if over := Spreads[(d.Over+1)%len(Spreads)]; over > 0 {
		next = "spread over " + model.ShortDuration(over)
	}

	add(can && len(d.Rows) > 1, true, k.Spread, next)
	return keys
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
