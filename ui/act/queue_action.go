package act

import (
	"cmp"
	"slices"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/target"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// replanMost is how many messages a plan may have to be made again with each poll; remendMost is that with a program.
const replanMost, remendMost = 5000, 500

// QueueAction is an action on messages of one queue: its plan, how far it came, and what became of them. A dialog asks
// about one, and the screen of a cause about those in all of its queues.
type QueueAction struct {
	shell.Dialog
	Subject
	plan.ActionWant        // what the user has chosen so far
	one             string // the id of the message, if it is a single one

	Modes []ReplayTarget // the last is a selected queue
	Mode  int            // of a replay: which of these
	Ahead []Subject      // what runs first: copies of it stay
	edit  messageEdit    // of the single message
	Plan  plan.Plan
	goOn  chan struct{} // makes a canary stop waiting

	Gone    []*shell.MessageRow // messages that left the queue
	Unclear bool                // which ones is unknown
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

func NewQueueAction(e *shell.Env, operation plan.Operation, about Subject) QueueAction {
	d := QueueAction{Dialog: shell.NewDialog(e, shell.DialogPlanning), Subject: about}
	d.Operation = operation
	if operation != plan.Replay {
		return d
	}

	d.Modes = []ReplayTarget{
		{mode: target.ToAuto, name: "auto: the narrowest way to the worker"},
		{mode: target.ToOrigin, name: "origin: where each was first published"},
	}
	for _, flow := range about.Topology.FlowsOf(about.Queue) {
		d.Modes = append(d.Modes, queueTarget(flow.Worker.Queue, "by name"))
	}

	for _, later := range plan.Laters(about.Topology, about.Queue) {
		words := model.Sayf("later: %s in the buffer %v", later.After, later.Buffer.Name)
		d.Modes = append(d.Modes, toQueue(later.Buffer.Name, words))
	}

	d.Modes = append(d.Modes, ReplayTarget{mode: target.ToQueue, name: "a queue of choice", choice: true})
	return d
}

func toQueue(name, words string) ReplayTarget {
	return ReplayTarget{mode: target.ToQueue, fixed: model.Address{RoutingKey: name}, name: words}
}

func queueTarget(queue model.QueueRef, why string) ReplayTarget {
	return toQueue(queue.Name, "queue: "+model.Printable(queue.Name)+" "+why)
}

// offerTargets adds the candidates of a refused plan to the targets of tab.
func (d *QueueAction) offerTargets() {
	for _, o := range d.Plan.Refusal {
		unclear, _ := o.(target.NoWorker)
		for c := range model.Each(unclear.Clues) {
			queue := func(t ReplayTarget) bool { return t.mode == target.ToQueue && t.fixed.RoutingKey == c.Queue.Name }
			if choice := len(d.Modes) - 1; !c.Gone && choice >= 0 && !slices.ContainsFunc(d.Modes[:choice], queue) {
				d.Modes = slices.Insert(d.Modes, choice, queueTarget(c.Queue, "("+c.Source()+")"))
			}
		}
	}
}

// Asks reports whether a plan is shown, or is being made again after a key: meanwhile a second key counts, but not
// enter.
func (d *QueueAction) Asks() bool {
	return d.State == shell.DialogAsking || d.State == shell.DialogPlanning && d.Plan.Operation != ""
}

func (d *QueueAction) Work() tea.Cmd {
	d.State = shell.DialogPlanning
	return d.replan()
}

// Polled makes the displayed plan again from a newer poll: enter must do what the user reads.
func (d *QueueAction) Polled(t *model.Topology) tea.Cmd {
	if d.State != shell.DialogAsking || len(d.Rows) > replanMost || d.Mend != nil && len(d.Rows) > remendMost {
		return nil
	}
	d.Topology = t
	return d.replan()
}

// Update handles plans, progress and the end.
func (d *QueueAction) Update(msg tea.Msg) (cmd tea.Cmd) {
	switch msg := msg.(type) {
	case shell.PlannedMsg[Acting]:
		if d.Agreed(msg.Planned, func() { d.take(msg) }, func() plan.Promise { return d.Plan.Promise() }) {
			cmd = d.run()
		}
	case shell.EndedMsg[model.Opt[int64]]:
		if msg.Request == d.Request {
			d.Others.Arrived = msg.Result.Or(d.Others.Arrived)
		}
	default:
		was := d.Account.Canary
		var ended bool
		cmd, ended = d.Executing(msg)
		if is := d.Account.Canary; is.Phase != was.Phase || is.Sent != was.Sent {
			d.ChangedAt = d.Env.Shown // an enter that was meant for the former state may still come
		}

		if ended {
			d.Env.ActTogether()
			d.settle()
			cmd = tea.Batch(d.countArrived(), shell.Following(d.Action(), d.Topology, &d.Account))
		}
	}

	return cmd
}

func (d *QueueAction) take(msg shell.PlannedMsg[Acting]) {
	if msg.Err != nil {
		d.Plan.Operation, d.Plan.From = d.Operation, d.Queue
		return
	}
	d.Topology, d.Plan, d.one = msg.Topology, msg.Plan.plan, cmp.Or(msg.Plan.one, d.one)
	d.Others.Arrived = msg.Plan.arrived.Or(d.Others.Arrived)
}

// settle notes which messages are no longer in the queue: what the account says, and nothing uncertain.
func (d *QueueAction) settle() {
	a := &d.Account
	stayed, told := message.Twins{}, 0
	for _, p := range a.Problems {
		if p.Outcome != plan.Unsure {
			stayed[p.Fingerprint]++
			told++
		}
	}

	uncertain := a.Unknown + a.Held
	if a.Moved+a.Dropped+a.Gone+uncertain == 0 {
		return
	}
	if d.Unclear = uncertain > 0 || a.Done() < len(d.Rows) || told < a.Refused+a.Returned; d.Unclear {
		d.Env.Did(shell.Doing{Queue: d.Queue, Unclear: true})
		return
	}

	gone := message.Twins{}
	for _, r := range d.Rows {
		if stayed[r.Id.Fingerprint] > 0 {
			stayed[r.Id.Fingerprint]--
			continue
		}
		d.Gone = append(d.Gone, r)
		gone[r.Id.Fingerprint]++
	}

	d.Env.Did(shell.Doing{Queue: d.Queue, Gone: gone, Record: a.JournalID})
}

func (d *QueueAction) Offer() *shell.Offer {
	o := offerOf(&d.Dialog, d.Action())
	switch {
	case d.Operation == plan.Move:
		o.Turns = "other queue"
	case len(d.Modes) > 1:
		o.Turns = "other target"
	}

	return o
}

// AsPlanned reports whether exactly what was agreed to was done. Messages that a program cannot change stay, as
// announced.
func (d *QueueAction) AsPlanned() bool {
	a := d.Account
	if m := d.Plan.Mended; m != nil && a.Refused <= m.Stay {
		a.Planned -= a.Refused
	}
	return d.Err == nil && a.Complete()
}

func (d *QueueAction) CanUndo() bool {
	a := &d.Account
	if _, none := d.Plan.Irrevocable(); none && d.Operation.Publishes() {
		return false
	}
	return a.JournalID > 0 && d.Env.Journal != nil && a.Moved+a.Dropped+a.Unknown > 0
}

func (d *QueueAction) canResume() bool { return d.Env.Journal != nil && d.Account.Resumable() }

// Spreads are the times over which messages can be spread; the first is as fast as the broker confirms.
var Spreads = []time.Duration{0, time.Minute, 5 * time.Minute, 15 * time.Minute, 25 * time.Minute}

// canaryWaits are how long a canary can watch; the first is as long as a message that fails again takes to come back.
var canaryWaits = []time.Duration{plan.CanaryAuto, 10 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute}

// Options returns the keys that change options of a want, with what they do now; work plans with the changed ones. They
// are disabled where this plan does not have them.
func (d *QueueAction) Options(w *plan.ActionWant, work func() tea.Cmd) []term.Key {
	p := &d.Plan
	refused := d.Env.ReadOnly || p.Acquire.Refusal.Refused()
	usable := d.Asks() && !d.Consent.Asked && !refused
	turn := func(b key.Binding, does string, offered bool, change func()) term.Key {
		return term.On(b, does, func() tea.Cmd {
			change()
			return work()
		}).When(usable && offered && d.Operation.Publishes())
	}

	after := func(all []time.Duration, now time.Duration, other, does string) (time.Duration, string) {
		next := all[(slices.Index(all, now)+1)%len(all)]
		if next <= 0 {
			return next, other
		}
		return next, does + model.ShortDuration(next)
	}
	wait, waits := after(canaryWaits, w.Canary, "wait as a retry takes", "wait ")
	over, spreads := after(Spreads, w.Over, "do not spread", "spread over ")

	can, canary := !p.Refusal.Refused(), w.Canary != 0
	replays := d.Operation == plan.Replay
	counts := can && d.edit.state == editNone && p.CountsTries()
	return []term.Key{
		turn(press.Canary, "begin with a canary", can || canary, func() {
			w.Canary = map[bool]time.Duration{false: plan.CanaryAuto}[canary]
		}).AsIf(canary, "no canary"),
		turn(press.CanaryWait, "how long the canary watches", can && canary, func() { w.Canary = wait }).As(waits),
		turn(press.KeepTries, "keep the counters of tries", replays && counts, func() { w.KeepTries = !w.KeepTries }).
			AsIf(w.KeepTries, "reset tries"),
		turn(press.Doubles, "replay also copies of what was replayed", replays && p.HoldsDoubles(),
			func() { w.Doubles = !w.Doubles }).AsIf(w.Doubles, "leave copies"),
		turn(press.Spread, "spread the messages over 1, 5, 15 or 25 minutes; again as fast as the broker confirms",
			can && len(d.Rows) > 1, func() { w.Over = over }).As(spreads),
	}
}

func (d *QueueAction) run() tea.Cmd {
	if d.Plan.Canary != nil {
		d.goOn = make(chan struct{}, 1)
	}

	return d.Execute(d.Action())
}

// RunKeys returns its keys while it runs, or is checked before; back leaves the check.
func (d *QueueAction) RunKeys(back func() tea.Cmd) []term.Key {
	return d.Dialog.Keys(&shell.Offer{}, shell.Answers{Back: back}, d.goingOn())
}

func (d *QueueAction) goingOn() term.Key {
	return term.On(press.GoOn, "do not wait longer for the canary", d.hurry).When(d.waits())
}

// waits reports whether a canary waits, so that the user may want to skip the wait.
func (d *QueueAction) waits() bool {
	return d.State == shell.DialogRunning && d.Plan.Canary != nil && d.Account.Canary.Waits()
}

// hurry ends the visible wait. One that has just begun cannot have been read: a key held down, or an enter meant for
// something else, ends no wait.
func (d *QueueAction) hurry() {
	if d.Unread() {
		return
	}
	select {
	case d.goOn <- struct{}{}: // it holds one
	default:
	}
}
