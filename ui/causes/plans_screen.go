package causes

import (
	"fmt"
	"slices"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// causePlansScreen does something with the messages of a cause in several queues. They are read one queue after the
// other, shown together with where they go, and agreed to once: what was read then is what is acted on. The queues are
// gone through in the same order, each with its own plan, account and record in the journal; what does not go as
// planned ends it.
type causePlansScreen struct {
	env     *shell.Env
	only    messages.OfCause
	wish    causeWish
	latest  shell.TopologyMsg
	state   causePlansState
	queues  []messages.Screen // in the order of the list; those that are planned have their dialog open
	at      int               // the one that is read, or that runs
	table   term.Table[model.QueueRef, causePlanRow]
	consent shell.Consent
	act.PlanOptions

	stopped bool      // by a key, since what runs was agreed to: no further queue begins
	endedAt time.Time // when it ended before its last queue
}

// causePlansState is how far it is.
type causePlansState int

const (
	causePlansReading causePlansState = iota
	causePlansWishing                 // what the plans need to know is asked for
	causePlansAsking                  // nothing runs; what has ended stays
	causePlansRunning
	causePlansEnded
)

func newCausePlansScreen(e *shell.Env, r causeRow, limits func(model.QueueRef) int, wish causeWish) shell.Screen {
	c := causePlansScreen{
		env: e, only: messages.OfCause{Group: &r.Group, Words: r.text}, wish: wish, table: newCausePlanTable(e, wish),
		consent: shell.NewConsent(),
	}
	for _, q := range r.Queues {
		c.queues = append(c.queues, messages.NewCauseScreen(e, q.Of, c.only, limits(q.Of), nil).(messages.Screen))
	}
	c.show()
	return c
}

// actOnCause is the screen that does what a key does with all messages of a cause in several queues; nil: nothing.
func actOnCause(e *shell.Env, r causeRow, limits func(model.QueueRef) int, msg tea.KeyMsg) shell.Screen {
	if wish, ok := causeWishOf(e.Keys, msg); ok && (wish.asks != asksPath || e.Files != nil) {
		return newCausePlansScreen(e, r, limits, wish)
	}
	return nil
}

// Title names what is done.
func (c causePlansScreen) Title() string { return c.wish.title() }

// Typing keeps all keys here while something is typed, or will be when the plans are made, and while something runs.
func (c causePlansScreen) Typing() bool {
	return c.state == causePlansWishing || c.state == causePlansRunning ||
		c.state == causePlansAsking && (c.consent.Asked || c.offer().Number > 0 ||
			c.planning() && c.env.Careful(c.messages(c.planned())))
}

// planning reports whether plans are being made.
func (c *causePlansScreen) planning() bool {
	return slices.ContainsFunc(c.queues, func(q messages.Screen) bool { return q.Dialog.State == shell.DialogPlanning })
}

// Busy reports whether ctrl-c stops what runs instead of the program.
func (c causePlansScreen) Busy() bool {
	return c.state == causePlansRunning && c.running().IsBusy() || c.wish.saving.IsBusy()
}

// Close lets go of what was read of the queues.
func (c causePlansScreen) Close() {
	for _, q := range c.queues {
		q.Close()
	}
}

// running is the plan of the queue that is read, or that runs.
func (c *causePlansScreen) running() *act.PlanDialog { return &c.queues[c.at].Dialog }

// ready are the plans that can run: they are shown, and not refused.
func (c *causePlansScreen) ready() (queues []int) {
	for i := range c.queues {
		if d := &c.queues[i].Dialog; d.State == shell.DialogAsking && d.Offer().Refusal == "" {
			queues = append(queues, i)
		}
	}
	return queues
}

// planned are the plans that are shown and have not run, also those that are refused.
func (c *causePlansScreen) planned() (queues []int) {
	for i := range c.queues {
		if c.queues[i].Dialog.Asks() {
			queues = append(queues, i)
		}
	}
	return queues
}

// messages are how many a number of plans act on.
func (c *causePlansScreen) messages(queues []int) (n int) {
	for _, i := range queues {
		n += len(c.queues[i].Dialog.Rows)
	}
	return n
}

// offer is what is asked.
func (c *causePlansScreen) offer() *shell.Offer {
	ready := c.ready()
	n, plans := c.messages(ready), make([]*plan.Plan, len(ready))
	for i, at := range ready {
		plans[i] = &c.queues[at].Dialog.Plan
	}
	o := &shell.Offer{Does: act.DoesTo(c.env, c.wish.operation, n)}
	if c.env.Careful(n) {
		o.Carefully(c.env, n, o.Does+" of "+model.Plural(len(ready), "queue")+act.WhereTo(plans...))
	}
	return o
}

// agreeable reports whether enter agrees: all plans are made, the number is typed where it is asked for, and nothing
// has just changed.
func (c *causePlansScreen) agreeable() bool {
	ready := c.ready()
	if c.state != causePlansAsking || len(ready) == 0 {
		return false
	}
	if c.planning() || slices.ContainsFunc(c.queues, func(q messages.Screen) bool { return q.Dialog.Unread() }) {
		return false
	}
	return c.consent.Given(c.offer())
}

// Keys are those of the state that it is in.
func (c causePlansScreen) Keys() []key.Binding {
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
		switch n := len(c.undoable()); {
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
	case !c.wish.operation.Publishes() || len(planned) == 0:
		return nil
	case c.wish.asks == asksQueue:
		keys = append(keys, term.Describe(k.Target, "other queue"))
	case c.wish.asks == asksProgram:
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

// current is the queue under the cursor.
func (c *causePlansScreen) current() (*messages.Screen, bool) {
	r, ok := c.table.Current()
	if !ok {
		return nil, false
	}
	return &c.queues[r.index], true
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
	default: // the answer to what one of them asked for
		cmd = c.each(func(q messages.Screen) (shell.Screen, tea.Cmd) { return q.Update(msg) })
	}
	cmd = tea.Batch(cmd, c.onward())
	c.show()
	return c, cmd
}

// each has all queues take something.
func (c *causePlansScreen) each(take func(messages.Screen) (shell.Screen, tea.Cmd)) tea.Cmd {
	cmds := make([]tea.Cmd, len(c.queues))
	for i := range c.queues {
		cmds[i] = c.take(i, take)
	}
	return tea.Batch(cmds...)
}

func (c *causePlansScreen) take(i int, take func(messages.Screen) (shell.Screen, tea.Cmd)) tea.Cmd {
	next, cmd := take(c.queues[i])
	c.queues[i] = next.(messages.Screen)
	return cmd
}

// polled makes the plans again that nobody has agreed to yet. Those that were agreed to are made again when their turn
// comes.
func (c *causePlansScreen) polled() tea.Cmd {
	switch {
	case c.state == causePlansRunning:
		return nil
	case c.state == causePlansWishing && c.wish.asks == asksQueue:
		c.wish.chooser.Polled(c.moveTargets())
		return nil
	case c.state == causePlansWishing:
		return nil // what is shown of a program is what it was tried on
	}
	return c.each(func(q messages.Screen) (shell.Screen, tea.Cmd) {
		if !q.Asked {
			return q, nil // it is read when its turn comes
		}
		return q.Update(c.latest)
	})
}

// onward goes on when the queue that is read, or that runs, is done with.
func (c *causePlansScreen) onward() tea.Cmd {
	switch c.state {
	case causePlansReading:
		return c.readOn()
	case causePlansWishing:
		if c.wish.mending.State == act.MendTrying {
			c.tried()
		}
	case causePlansRunning:
		return c.runOn()
	}
	return nil
}

// readOn reads the next queue. What needs to know no more is planned at once.
func (c *causePlansScreen) readOn() tea.Cmd {
	var cmds []tea.Cmd
	for c.latest.Topology != nil && c.state == causePlansReading {
		q := c.queues[c.at]
		switch {
		case !q.Asked:
			cmds = append(cmds, c.take(c.at, func(q messages.Screen) (shell.Screen, tea.Cmd) { return q.Update(c.latest) }))
			continue
		case q.Peek != 0:
			return tea.Batch(cmds...)
		case c.wish.asks == asksNothing:
			cmds = append(cmds, c.planOne(c.at))
		}
		if c.at++; c.at == len(c.queues) {
			c.at = 0
			cmds = append(cmds, c.ask())
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
	case c.table.Motion(msg):
	case c.state == causePlansRunning:
		return c.runKey(msg)
	case term.Is(msg, k.Cancel):
		return shell.Pop
	case c.state == causePlansEnded:
		return c.endKey(msg)
	case c.state == causePlansReading:
	case term.Is(msg, k.Confirm):
		if c.agreeable() {
			if c.consent.Explained(c.env) {
				return c.agree()
			}
			return nil
		}
		c.consent.Wrong = !c.planning() && !c.consent.Given(c.offer())
	case slices.ContainsFunc(c.options(), func(b key.Binding) bool { return term.Is(msg, b) }):
		return c.option(msg)
	case c.Typing():
		c.consent.Typed(msg)
	}
	return nil
}

// option changes all plans that have not run, and makes them again.
func (c *causePlansScreen) option(msg tea.KeyMsg) tea.Cmd {
	switch k := c.env.Keys; {
	case term.Is(msg, k.Target):
		c.wish.chooser, c.state = act.NewQueueChooser(c.env, c.moveTargets()), causePlansWishing
		return nil
	case term.Is(msg, k.Mend):
		c.wish.mending.State, c.state = act.MendTyping, causePlansWishing
		c.wish.mending.Messages, _ = c.read()
		return nil
	default:
		c.Turn(k, msg)
	}
	return c.each(func(q messages.Screen) (shell.Screen, tea.Cmd) {
		if !q.Dialog.Asks() {
			return q, nil
		}
		cmd := c.optOne(&q.Dialog)
		return q, cmd
	})
}

// optOne plans a queue with what was chosen for all.
func (c *causePlansScreen) optOne(d *act.PlanDialog) tea.Cmd {
	d.PlanOptions, d.Target, d.Mend, d.Ahead = c.PlanOptions, c.wish.target, c.wish.program, nil
	for i := range c.queues {
		first := &c.queues[i].Dialog
		if c.queues[i].Queue == d.Queue {
			break
		}
		if len(first.Rows) > 0 && first.State != shell.DialogEnded {
			d.Ahead = append(d.Ahead, act.RowsOf{Queue: first.Queue, Rows: first.Rows})
		}
	}
	if len(d.Rows) == 1 {
		d.Over = 0
	}
	return d.Work()
}
