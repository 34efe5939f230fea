package causes

import (
	"fmt"
	"slices"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/action"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// causePlansScreen acts on the messages of a cause in several queues. They are read one queue after the other, shown
// together with where they go, and agreed to once: the action is on what was read then. The queues are processed in the
// same order, each with its own plan, account and record in the journal; anything unplanned ends it.
type causePlansScreen struct {
	env     *shell.Env
	only    messages.OfCause
	wish    causeWish
	latest  shell.TopologyMsg
	state   causePlansState
	queues  []messages.Screen // in the order of the list; planned ones have their dialog open
	at      int               // the one being read, or running
	typed   []tea.KeyMsg      // before there were plans: keys for their options are then applied
	table   term.Table[model.QueueRef, causePlanRow]
	consent shell.Consent
	act.PlanOptions

	listed, shown, hidden int // rows of the list that fit, and lines of the pane that fit and that do not
	scrolled              int // the first line of the pane that is shown, from 1; 0: as many as fit, by their importance

	stopped bool      // stopped by a key after the user agreed: no further queue begins
	endedAt time.Time // when it ended before its last queue
}

type causePlansState int

const (
	causePlansReading causePlansState = iota
	causePlansWishing                 // it asks for what the plans need
	causePlansAsking                  // nothing runs; what has ended stays
	causePlansRunning
	causePlansEnded
)

// actOnCause is the screen that acts on all messages of a cause in several queues.
func actOnCause(
	e *shell.Env, only messages.OfCause, limits func(model.QueueRef) int, wish messages.Wish,
) shell.Screen {
	c := causePlansScreen{
		env:     e,
		only:    only,
		wish:    causeWish{Wish: wish},
		table:   newCausePlanTable(e, wish),
		consent: shell.NewConsent(),
	}

	for _, q := range only.Queues {
		c.queues = append(c.queues, messages.NewCauseScreen(e, q.Of, only, limits(q.Of), nil))
	}

	c.show()
	return c
}

func (c causePlansScreen) Title() string {
	switch c.wish.Asks {
	case messages.AsksProgram:
		return "edit a cause"
	case messages.AsksPath:
		return "export a cause"
	}

	return string(c.wish.Operation) + " a cause"
}

// Typing keeps all keys here while something is typed, or will be when the plans are made, and during a run.
func (c causePlansScreen) Typing() bool {
	return c.state == causePlansWishing || c.state == causePlansRunning ||
		c.state == causePlansAsking && (c.consent.Asked || c.offer().Number > 0 ||
			c.planning() && c.env.Careful(c.messages(c.planned())))
}

func (c *causePlansScreen) where(is func(d *act.PlanDialog) bool) (queues []int) {
	for i := range c.queues {
		if is(&c.queues[i].Dialog) {
			queues = append(queues, i)
		}
	}

	return queues
}

func (c *causePlansScreen) planning() bool {
	return len(c.where(func(d *act.PlanDialog) bool { return d.State == shell.DialogPlanning })) > 0
}

func (c causePlansScreen) Busy() bool {
	return c.state == causePlansRunning && c.running().IsBusy() || c.wish.saving.IsBusy()
}

func (c causePlansScreen) Close() {
	for _, q := range c.queues {
		q.Close()
	}
}

// running is the plan of the queue being read, or running.
func (c *causePlansScreen) running() *act.PlanDialog { return &c.queues[c.at].Dialog }

// ready are the plans that can run: they are shown, and not refused.
func (c *causePlansScreen) ready() []int {
	return c.where(func(d *act.PlanDialog) bool { return d.State == shell.DialogAsking && d.Offer().Refusal == "" })
}

// planned are the plans that are shown and have not run, including refused ones.
func (c *causePlansScreen) planned() []int { return c.where((*act.PlanDialog).Asks) }

func (c *causePlansScreen) messages(queues []int) (n int) {
	for _, i := range queues {
		n += len(c.queues[i].Dialog.Rows)
	}
	return n
}

func (c *causePlansScreen) offer() *shell.Offer {
	ready := c.ready()
	n := c.messages(ready)
	actions := make([]*action.Messages, len(ready))
	for i, at := range ready {
		actions[i] = c.queues[at].Dialog.Action()
	}

	does, asks := action.Together(actions...)
	o := &shell.Offer{Does: does}
	if c.env.Careful(n) {
		o.Carefully(c.env, n, asks)
	}

	return o
}

// agreeable reports whether enter agrees: all plans are made, the number is typed if needed, and nothing has just
// changed.
func (c *causePlansScreen) agreeable() bool {
	ready := c.ready()
	unread := c.where(func(d *act.PlanDialog) bool { return d.Unread() })
	return c.state == causePlansAsking && len(ready) > 0 && !c.planning() && len(unread) == 0 &&
		c.consent.Given(c.offer())
}

func (c causePlansScreen) Keys() []term.Key { return term.Named(c.bindings()...) }

func (c *causePlansScreen) bindings() []key.Binding {
	k := c.env.Keys
	switch c.state {
	case causePlansWishing:
		return c.wishKeys()
	case causePlansAsking:
		var keys []key.Binding
		if c.agreeable() {
			keys = append(keys, term.Describe(k.Confirm, c.offer().Does))
		}
		if c.consent.Asked {
			return append(keys, k.Cancel)
		}
		return append(append(keys, c.options()...), k.Cancel)
	case causePlansRunning:
		return c.running().Keys()
	case causePlansEnded:
		var keys []key.Binding
		if len(c.ready()) > 0 {
			keys = append(keys, term.Describe(k.Confirm, "go on"))
		}

		n := len(c.undoable())
		switch {
		case n > 1:
			keys = append(keys, term.Describe(k.Undo, fmt.Sprintf("undo all %d", n)))
		case n > 0:
			keys = append(keys, k.Undo)
		}

		if done, planned := c.done(); done == planned && len(c.ready()) == 0 && c.unread() == "" {
			keys = append(keys, k.Resolve)
		}
		if len(c.ready()) == 0 {
			keys = append(keys, term.Describe(k.Confirm, "close"))
		}

		return append(keys, term.Describe(k.Cancel, "close"))
	}

	return []key.Binding{k.Cancel}
}

// options are the keys that change all plans which have not run.
func (c *causePlansScreen) options() (keys []key.Binding) {
	k, planned := c.env.Keys, c.planned()
	switch {
	case !c.wish.Operation.Publishes() || len(planned) == 0:
		return nil
	case c.wish.Asks == messages.AsksQueue:
		keys = append(keys, term.Describe(k.Target, "other queue"))
	case c.wish.Asks == messages.AsksProgram:
		keys = append(keys, term.Describe(k.Mend, "edit"))
	}

	for _, i := range planned {
		for _, b := range c.queues[i].Dialog.Options() {
			if same := func(o key.Binding) bool { return o.Help().Key == b.Help().Key }; !slices.ContainsFunc(keys, same) {
				keys = append(keys, b)
			}
		}
	}

	return keys
}

func (c causePlansScreen) Update(msg tea.Msg) (shell.Screen, tea.Cmd) {
	c.queues = slices.Clone(c.queues)
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case shell.TopologyMsg:
		c.latest = msg
		cmd = c.polled()
	case tea.KeyMsg:
		cmd = c.handleKey(msg)
	case shell.EndedMsg[act.ExportedFiles]:
		cmd = c.saved(msg)
	default: // the answer to a command of one of them
		cmds := make([]tea.Cmd, len(c.queues))
		for i := range c.queues {
			cmds[i] = c.give(i, msg)
		}
		cmd = tea.Batch(cmds...)
	}

	cmd = tea.Batch(cmd, c.onward())
	c.show()
	return c, cmd
}

func (c *causePlansScreen) give(i int, msg tea.Msg) tea.Cmd {
	next, cmd := c.queues[i].Update(msg)
	c.queues[i] = next.(messages.Screen)
	return cmd
}

// polled makes the plans again before the user agrees. Agreed ones are made again when their turn comes.
func (c *causePlansScreen) polled() tea.Cmd {
	switch {
	case c.state == causePlansRunning:
		return nil
	case c.state == causePlansWishing && c.wish.Asks == messages.AsksQueue:
		c.wish.chooser.Polled(c.moveTargets())
		return nil
	case c.state == causePlansWishing:
		return nil // the displayed results are those of the trial
	}

	var cmds []tea.Cmd
	for i := range c.queues {
		if c.queues[i].Asked { // otherwise it is read when its turn comes
			cmds = append(cmds, c.give(i, c.latest))
		}
	}

	return tea.Batch(cmds...)
}

// onward continues when the queue being read, or running, is done.
func (c *causePlansScreen) onward() tea.Cmd {
	switch c.state {
	case causePlansReading:
		return c.readOn()
	case causePlansWishing:
		if c.wish.mending.State == act.MendTrying {
			c.tried()
		}
	case causePlansAsking:
		return c.turnTyped()
	case causePlansRunning:
		return c.runOn()
	}

	return nil
}

// turnTyped applies keys typed before there were plans, if they are options; never one that agrees.
func (c *causePlansScreen) turnTyped() tea.Cmd {
	if c.planning() {
		return nil
	}
	typed := c.typed
	c.typed = nil
	var cmds []tea.Cmd
	for _, msg := range typed {
		if key.Matches(msg, c.options()...) {
			cmds = append(cmds, c.option(msg))
		}
	}

	return tea.Batch(cmds...)
}

// readOn reads the next queue. If nothing else is needed, it is planned at once.
func (c *causePlansScreen) readOn() tea.Cmd {
	var cmds []tea.Cmd
	for c.latest.Topology != nil && c.state == causePlansReading {
		q := c.queues[c.at]
		switch {
		case !q.Asked:
			cmds = append(cmds, c.give(c.at, c.latest))
			continue
		case q.Peek != 0:
			return tea.Batch(cmds...)
		case c.wish.Asks == messages.AsksNothing:
			cmds = append(cmds, c.planOne(c.at))
		}

		if c.at++; c.at == len(c.queues) {
			c.at = 0
			c.ask()
		}
	}

	return tea.Batch(cmds...)
}

func (c *causePlansScreen) handleKey(msg tea.KeyMsg) tea.Cmd {
	k := c.env.Keys
	switch {
	case c.state == causePlansWishing:
		return c.wishKey(msg)
	case c.state == causePlansAsking && c.consent.Explains(k, msg):
	case c.scrollPane(msg):
	case c.table.Motion(msg):
		c.scrolled = 0
	case c.state == causePlansRunning:
		return c.runKey(msg)
	case term.Is(msg, k.Cancel):
		return shell.Pop
	case c.state == causePlansEnded:
		return c.endKey(msg)
	case c.state == causePlansReading || c.state == causePlansAsking && c.planning() && len(c.options()) == 0:
		if c.wish.Asks == messages.AsksNothing {
			c.typed = append(c.typed, msg)
		}
	case term.Is(msg, k.Confirm) && c.agreeable():
		if c.consent.Explained(c.env) {
			for i := range c.queues {
				c.queues[i].Dialog.Request = c.env.NewRequest() // a plan that is on its way comes too late
			}

			c.stopped = false
			return c.start(c.ready()[0]) // the later ones stay agreed to, and those left out stay so
		}
	case term.Is(msg, k.Confirm):
		c.consent.Wrong = !c.planning() && !c.consent.Given(c.offer())
	case key.Matches(msg, c.options()...):
		return c.option(msg)
	case c.Typing():
		c.consent.Typed(msg)
	}

	return nil
}

// option changes all plans that have not run, and makes them again.
func (c *causePlansScreen) option(msg tea.KeyMsg) tea.Cmd {
	k := c.env.Keys
	switch {
	case term.Is(msg, k.Target):
		c.wish.chooser = act.NewQueueChooser(c.env, c.moveTargets())
		c.state = causePlansWishing
		return nil
	case term.Is(msg, k.Mend):
		c.wish.mending.State = act.MendTyping
		c.state = causePlansWishing
		c.wish.mending.Messages, _ = c.read()
		return nil
	default:
		c.Turn(k, msg)
	}

	var cmds []tea.Cmd
	for _, i := range c.planned() {
		cmds = append(cmds, c.optOne(&c.queues[i].Dialog))
	}

	return tea.Batch(cmds...)
}

// optOne plans a queue with the options selected for all.
func (c *causePlansScreen) optOne(d *act.PlanDialog) tea.Cmd {
	d.PlanOptions = c.PlanOptions
	d.Target = c.wish.target
	d.Mend = c.wish.program
	d.Ahead = nil
	for i := range c.queues {
		first := &c.queues[i].Dialog
		if c.queues[i].Queue == d.Queue {
			break
		}
		if len(first.Rows) > 0 && first.State != shell.DialogEnded {
			d.Ahead = append(d.Ahead, first.Subject)
		}
	}

	if len(d.Rows) == 1 {
		d.Over = 0
	}

	return d.Work()
}

// runOn starts the next plan after one that ended well. One that is no longer what was agreed to is asked about again.
func (c *causePlansScreen) runOn() tea.Cmd {
	d := c.running()
	switch d.State {
	case shell.DialogAsking:
		c.state = causePlansAsking
	case shell.DialogEnded:
		rest := c.ready()
		if !d.AsPlanned() || c.stopped || len(rest) == 0 {
			c.state, c.endedAt = causePlansEnded, c.env.Shown
			c.env.ActTogether(c.undoable()...)
			return nil
		}
		return c.start(rest[0])
	default:
		return nil
	}

	c.consent = shell.NewConsent()
	return nil
}

func (c *causePlansScreen) start(i int) tea.Cmd {
	c.at, c.state = i, causePlansRunning
	c.table.MoveTo(slices.IndexFunc(c.table.Shown, func(r causePlanRow) bool { return r.index == i }))
	return c.queues[i].Dialog.Check()
}

// runKey stops the run, and ends the wait of a canary. Before the run, nothing has happened.
func (c *causePlansScreen) runKey(msg tea.KeyMsg) tea.Cmd {
	k, d := c.env.Keys, c.running()
	if d.State == shell.DialogChecking {
		if term.Is(msg, k.Cancel) || term.Is(msg, k.ForceQuit) {
			d.State, d.Request = shell.DialogAsking, c.env.NewRequest()
		}
		return nil
	}

	cmd := c.give(c.at, msg)
	c.stopped = c.stopped || c.running().State == shell.DialogStopping // the queue itself may be done already
	return cmd
}

// endKey handles a key after the end of what was agreed to. An enter meant for the wait of a canary does not continue:
// the end cannot have been read yet.
func (c *causePlansScreen) endKey(msg tea.KeyMsg) tea.Cmd {
	k := c.env.Keys
	switch {
	case term.Is(msg, k.Confirm):
		switch {
		case c.env.Shown.Sub(c.endedAt) < shell.ChangeGuard:
			return nil
		case len(c.ready()) == 0:
			return shell.Pop
		}
		c.state = causePlansAsking
		return c.polled()
	case term.Is(msg, k.Resolve):
		return c.env.Marks.Turn(c.latest.Topology, c.only.Group, cause.Resolved)
	case term.Is(msg, k.Undo):
		if ids := c.undoable(); len(ids) > 0 {
			return shell.Push(act.NewUndoScreen(c.env, ids...))
		}
	}

	return nil
}

// undoable are the records of what was done, newest first.
func (c *causePlansScreen) undoable() (ids []int64) {
	for _, i := range slices.Backward(c.where(func(d *act.PlanDialog) bool {
		return d.State == shell.DialogEnded && d.CanUndo()
	})) {
		ids = append(ids, c.queues[i].Dialog.Account.JournalID)
	}

	return ids
}
