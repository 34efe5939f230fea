package causes

import (
	"fmt"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/action"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// causePlansScreen acts on the messages of a cause in several queues. They are read one queue after the other, shown
// together with where they go, and agreed to once: the action is on what was read then. The queues are processed in the
// same order, each with its own plan, account and record in the journal; anything unplanned ends it.
type causePlansScreen struct {
	oneCause
	latest  shell.TopologyMsg
	state   causePlansState
	reading *messages.Screen // reads one queue
	queues  []causeQueue     // in the order of the list
	at      int              // the one being read, or running
	typed   act.TypedAhead
	table   term.Table[int, int] // of indices of queues
	consent shell.Consent
	causeWish

	listed int          // rows of the list that fit
	window shell.Window // of the pane

	stopped bool      // stopped by a key after the user agreed: no further queue begins
	endedAt time.Time // when it ended before its last queue
}

// causeQueue is a queue of a cause: what was read of it, and the action on that.
type causeQueue struct {
	act.QueueAction
	wrong  string           // why it could not be read, printable
	bodies message.Messages // of the messages that were read; nil without any
}

type causePlansState int

const (
	causePlansReading causePlansState = iota
	causePlansWishing                 // it asks for what the plans need
	causePlansAsking                  // nothing runs; what has ended stays
	causePlansRunning
	causePlansEnded
)

// actOnCause returns the screen that acts on all messages of a cause in several queues.
func actOnCause(of oneCause, wish messages.Wish) shell.Screen {
	c := &causePlansScreen{
		oneCause:  of,
		causeWish: causeWish{Wish: wish, want: plan.ActionWant{Operation: wish.Operation}},
		consent:   shell.NewConsent(),
	}

	var rows []int
	for i, q := range of.Queues {
		c.queues = append(c.queues, causeQueue{QueueAction: act.QueueAction{Subject: act.Subject{Queue: q.Of}}})
		rows = append(rows, i)
	}

	c.table = c.newTable()
	c.table.Set(rows)
	c.readNext()
	return c
}

func (c *causePlansScreen) Title() string {
	switch c.Asks {
	case messages.AsksProgram:
		return "edit a cause"
	case messages.AsksPath:
		return "export a cause"
	}

	return string(c.Operation) + " a cause"
}

// Typing keeps all keys here while something is typed, or will be when the plans are made, and during a run.
func (c *causePlansScreen) Typing() bool {
	return c.state == causePlansWishing || c.state == causePlansRunning ||
		c.state == causePlansAsking && (c.consent.Asked || c.offer().Number > 0 ||
			c.planning() && c.env.Careful(c.messages(c.planned())))
}

func (c *causePlansScreen) where(is func(d *act.QueueAction) bool) (queues []int) {
	for i := range c.queues {
		if is(&c.queues[i].QueueAction) {
			queues = append(queues, i)
		}
	}

	return queues
}

func (c *causePlansScreen) planning() bool {
	return len(c.where(func(d *act.QueueAction) bool { return d.State == shell.DialogPlanning })) > 0
}

func (c *causePlansScreen) Busy() bool {
	return c.state == causePlansRunning && c.running().IsBusy() || c.saving.IsBusy()
}

// HowFar returns how far all of its queues have come.
func (c *causePlansScreen) HowFar() shell.Run {
	r := c.running().HowFar()
	r.What = c.Title()
	if c.state != causePlansRunning {
		r.State = shell.DialogEnded
	} else if !r.Runs() {
		r.State = shell.DialogRunning // the next queue is checked
	}

	r.Account = c.account()
	r.Account.Planned += c.messages(c.planned())
	return r
}

// account returns what became of the messages of the queues that have run, or run.
func (c *causePlansScreen) account() plan.Account {
	all := plan.Account{Operation: c.Operation}
	for i := range c.queues {
		if a := &c.queues[i].Account; a.Operation != "" {
			all, all.Planned = all.With(*a), all.Planned+a.Planned
		}
	}

	return all
}

func (c *causePlansScreen) Close() {
	c.reading.Close()
	for _, q := range c.queues {
		q.Close()
		if q.bodies != nil {
			_ = q.bodies.Close()
		}
	}
}

// running returns the plan of the queue being read, or running.
func (c *causePlansScreen) running() *act.QueueAction { return &c.queues[c.at].QueueAction }

// ready returns the plans that can run: they are shown, and not refused.
func (c *causePlansScreen) ready() []int {
	return c.where(func(d *act.QueueAction) bool { return d.State == shell.DialogAsking && d.Offer().Refusal == "" })
}

// planned returns the plans that are shown and have not run, including refused ones.
func (c *causePlansScreen) planned() []int { return c.where((*act.QueueAction).Asks) }

func (c *causePlansScreen) messages(queues []int) (n int) {
	for _, i := range queues {
		n += len(c.queues[i].Rows)
	}
	return n
}

func (c *causePlansScreen) offer() *shell.Offer {
	ready := c.ready()
	actions := model.Mapped(ready, func(at *int) *action.Messages { return c.queues[*at].Action() })

	does, asks := action.Together(actions...)
	o := &shell.Offer{Does: does}
	o.Carefully(c.env, c.messages(ready), asks)
	return o
}

// agreeable reports whether enter agrees: all plans are made, the number is typed if needed, and nothing has just
// changed.
func (c *causePlansScreen) agreeable() bool {
	ready := c.ready()
	return c.state == causePlansAsking && len(ready) > 0 && !c.planning() &&
		len(c.where((*act.QueueAction).Unread)) == 0 && c.consent.Given(c.offer())
}

func (c *causePlansScreen) Keys() []term.Key {
	switch c.state {
	case causePlansWishing:
		return c.asking().Keys()
	case causePlansRunning:
		return c.running().RunKeys(c.askAgain)
	}

	asking, ended := c.state == causePlansAsking, c.state == causePlansEnded
	rest, ids := len(c.ready()) > 0, c.undoable()
	undo, leave, leaving := "undo", "back", "back, nothing is done"
	if len(ids) > 1 {
		undo = fmt.Sprintf("undo all %d", len(ids))
	}
	if ended {
		leave, leaving = "close", ""
	}

	a := c.account()
	whole := a.Moved+a.Dropped == a.Planned && c.unread() == ""
	keys := []term.Key{term.On(press.Confirm, "", c.agree).As(c.offer().Does).When(asking).Shown(c.agreeable())}
	if !c.consent.Asked {
		keys = append(keys, c.options()...)
	}

	return append(keys,
		term.On(press.Confirm, "", c.goOn).As("go on").When(ended && rest),
		term.On(press.Undo, "", func() tea.Cmd { return shell.Push(act.UndoTogether(c.env, ids...)) }).As(undo).
			When(ended && len(ids) > 0),
		c.resolve(&c.latest).When(ended && !rest && whole),
		term.On(press.Confirm, "", c.leave).As("close").When(ended && !rest),
		term.On(press.Cancel, leaving, shell.Pop).As(leave))
}

// options returns the keys that change all plans which have not run.
func (c *causePlansScreen) options() (keys []term.Key) {
	planned := c.planned()
	if c.state != causePlansAsking || len(planned) == 0 {
		return nil
	}

	for _, at := range planned {
		for i, o := range c.queues[at].Options(&c.want, c.planAgain) {
			if i == len(keys) {
				keys = append(keys, o)
			} else if !keys[i].Enabled() {
				keys[i] = o
			}
		}
	}

	other := term.On(press.Target, "", c.ask).As("other queue").When(c.Asks == messages.AsksQueue)
	edit := term.On(press.Mend, "", func() {
		c.mending.State, c.state = act.MendTyping, causePlansWishing
		c.mending.Messages = c.messages(c.left())
	}).As("edit").When(c.Asks == messages.AsksProgram)
	return append([]term.Key{other, edit}, keys...)
}

func (c *causePlansScreen) Update(msg tea.Msg) tea.Cmd {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case shell.TopologyMsg:
		c.latest = msg
		cmd = c.polled()
	case tea.KeyMsg:
		cmd = c.handleKey(msg)
	case shell.EndedMsg[act.ExportedFiles]:
		cmd = c.saving.Update(msg)
	case messages.PeekedMsg:
		cmd = c.reading.Update(msg)
	default: // the answer to a command of one of them
		cmd = c.each(func(q *causeQueue) tea.Cmd { return q.Update(msg) })
	}

	return tea.Batch(cmd, c.onward())
}

// polled makes the plans again before the user agrees. Agreed ones are made again when their turn comes.
func (c *causePlansScreen) polled() tea.Cmd {
	switch {
	case c.state == causePlansRunning:
		return nil
	case c.state == causePlansWishing && c.Asks == messages.AsksQueue:
		c.chooser.Polled(c.moveTargets())
		return nil
	case c.state == causePlansWishing:
		return nil // the displayed results are those of the trial
	}

	return c.each(func(q *causeQueue) tea.Cmd { return q.Polled(c.latest.Topology) })
}

func (c *causePlansScreen) each(does func(*causeQueue) tea.Cmd) tea.Cmd {
	return tea.Batch(model.Mapped(c.queues, does)...)
}

// onward continues when the queue being read, or running, is done.
func (c *causePlansScreen) onward() tea.Cmd {
	switch c.state {
	case causePlansReading:
		return c.readOn()
	case causePlansWishing:
		switch {
		case c.mending.State == act.MendTrying:
			c.tried()
		case c.Asks == messages.AsksPath && !c.saving.Open():
			return shell.Pop
		}
	case causePlansAsking:
		if !c.planning() {
			return c.typed.Apply(c.options)
		}
	case causePlansRunning:
		return c.runOn()
	}

	return nil
}

// readNext begins to read the next queue.
func (c *causePlansScreen) readNext() {
	queue := c.queues[c.at].Queue
	c.reading = c.open(queue, nil)
}

// readOn reads on. If nothing else is needed, what was read is planned at once.
func (c *causePlansScreen) readOn() tea.Cmd {
	var cmds []tea.Cmd
	for c.latest.Topology != nil && c.state == causePlansReading {
		r, q := c.reading, &c.queues[c.at]
		switch {
		case !r.Asked:
			cmds = append(cmds, r.Update(c.latest))
			continue
		case r.Peek != 0:
			return tea.Batch(cmds...)
		case r.Failed != nil:
			q.wrong = shell.ReadableError(r.Failed)
		case r.Refused.Refusal.Refused():
			q.wrong = r.Refused.Refusal.Words()
		}

		q.bodies = r.Peeked.Messages
		q.Subject = r.Subject(r.AllShown())
		c.reading = &messages.Screen{}
		if c.Asks == messages.AsksNothing {
			cmds = append(cmds, c.planOne(q))
		}

		if c.at++; c.at < len(c.queues) {
			c.readNext()
			continue
		}
		c.at = 0
		c.ask()
	}

	return tea.Batch(cmds...)
}

func (c *causePlansScreen) handleKey(msg tea.KeyMsg) tea.Cmd {
	asking := c.state == causePlansAsking
	reading := c.state == causePlansReading || asking && c.planning() && len(c.options()) == 0
	switch {
	case c.state == causePlansWishing:
		return c.asking().Press(msg)
	case asking && c.consent.Explains(msg), c.scrollPane(msg):
		return nil
	case c.table.Motion(msg):
		c.window = shell.Window{}
		return nil
	case c.state == causePlansRunning:
		return c.runKey(msg)
	}

	cmd, pressed := term.Press(c.Keys(), msg)
	switch {
	case pressed:
	case reading && c.Asks == messages.AsksNothing:
		c.typed = append(c.typed, msg)
	case !reading && c.Typing():
		c.consent.Typed(msg)
	}

	return cmd
}

// agree begins what is asked, if it can be agreed to.
func (c *causePlansScreen) agree() tea.Cmd {
	if c.planning() {
		return nil
	}

	return c.consent.Agreed(c.env, c.offer(), c.agreeable(), func() tea.Cmd {
		for i := range c.queues {
			c.queues[i].Request = c.env.NewRequest() // a plan that is on its way comes too late
		}

		c.stopped = false
		return c.start(c.ready()[0]) // the later ones stay agreed to, and those left out stay so
	})
}

// planAgain makes all plans again that have not run.
func (c *causePlansScreen) planAgain() tea.Cmd {
	return c.each(func(q *causeQueue) tea.Cmd {
		if !q.Asks() {
			return nil
		}
		return c.optOne(&q.QueueAction)
	})
}

// optOne plans a queue with the options selected for all.
func (c *causePlansScreen) optOne(d *act.QueueAction) tea.Cmd {
	d.ActionWant, d.Ahead = c.want, nil
	for first := range model.Each(c.queues) {
		if first.Queue == d.Queue {
			break
		}
		if isLeft(&first.QueueAction) {
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
	d, rest := c.running(), c.ready()
	switch {
	case d.State == shell.DialogAsking:
		c.state, c.consent = causePlansAsking, shell.NewConsent()
	case d.State != shell.DialogEnded:
	case d.AsPlanned() && !c.stopped && len(rest) > 0:
		return c.start(rest[0])
	default:
		c.state, c.endedAt = causePlansEnded, c.env.Shown
		c.env.ActTogether(c.undoable()...)
	}

	return nil
}

func (c *causePlansScreen) start(i int) tea.Cmd {
	c.at, c.state = i, causePlansRunning
	c.table.MoveTo(slices.Index(c.table.Shown, i))
	return c.queues[i].Check()
}

// runKey stops the run, and ends the wait of a canary. Before the run, nothing has happened.
func (c *causePlansScreen) runKey(msg tea.KeyMsg) tea.Cmd {
	cmd, _ := term.Press(c.Keys(), msg)
	c.stopped = c.stopped || c.running().State == shell.DialogStopping // the queue itself may be done already
	return cmd
}

// askAgain leaves the check of a plan.
func (c *causePlansScreen) askAgain() tea.Cmd {
	d := c.running()
	d.State, d.Request = shell.DialogAsking, c.env.NewRequest()
	return nil
}

// late reports whether the end can have been read. An enter meant for the wait of a canary does nothing.
func (c *causePlansScreen) late() bool { return c.env.Shown.Sub(c.endedAt) >= shell.ChangeGuard }

func (c *causePlansScreen) leave() tea.Cmd {
	if c.late() {
		return shell.Pop
	}
	return nil
}

// goOn asks about the plans that have not run.
func (c *causePlansScreen) goOn() tea.Cmd {
	if !c.late() {
		return nil
	}
	c.state = causePlansAsking
	return c.polled()
}

// undoable returns the records of what was done, newest first.
func (c *causePlansScreen) undoable() (ids []int64) {
	for _, i := range slices.Backward(c.where(func(d *act.QueueAction) bool {
		return d.State == shell.DialogEnded && d.CanUndo()
	})) {
		ids = append(ids, c.queues[i].Account.JournalID)
	}

	return ids
}
