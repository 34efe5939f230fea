package ui

import (
	"fmt"
	"slices"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/term"
)

// causePlansScreen does something with the messages of a cause in several queues. They are read one queue after the
// other, shown together with where they go, and agreed to once: what was read then is what is acted on. The queues are
// gone through in the same order, each with its own plan, account and record in the journal; what does not go as
// planned ends it.
type causePlansScreen struct {
	env     *env
	only    ofCause
	wish    causeWish
	latest  topologyMsg
	state   causePlansState
	queues  []messagesScreen // in the order of the list; those that are planned have their dialog open
	at      int              // the one that is read, or that runs
	table   term.Table[model.QueueRef, causePlanRow]
	consent consent
	planOptions

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

func newCausePlansScreen(e *env, r causeRow, limits func(model.QueueRef) int, wish causeWish) screen {
	c := causePlansScreen{
		env: e, only: ofCause{&r.Group, r.text}, wish: wish, table: newCausePlanTable(e, wish),
		consent: newConsent(),
	}
	for _, q := range r.Queues {
		c.queues = append(c.queues, newCauseScreen(e, q.Of, c.only, limits(q.Of), nil).(messagesScreen))
	}
	c.show()
	return c
}

// actOnCause is the screen that does what a key does with all messages of a cause in several queues; nil: nothing.
func actOnCause(e *env, r causeRow, limits func(model.QueueRef) int, msg tea.KeyMsg) screen {
	if wish, ok := causeWishOf(e.keys, msg); ok && (wish.asks != asksPath || e.files != nil) {
		return newCausePlansScreen(e, r, limits, wish)
	}
	return nil
}

func (c causePlansScreen) Init() tea.Cmd { return nil }

// Title names what is done.
func (c causePlansScreen) Title() string { return c.wish.title() }

// Typing keeps all keys here while something is typed, or will be when the plans are made, and while something runs.
func (c causePlansScreen) Typing() bool {
	return c.state == causePlansWishing || c.state == causePlansRunning ||
		c.state == causePlansAsking && (c.consent.asked || c.offer().number > 0 ||
			c.planning() && c.env.careful(c.messages(c.planned())))
}

// planning reports whether plans are being made.
func (c *causePlansScreen) planning() bool {
	return slices.ContainsFunc(c.queues, func(q messagesScreen) bool { return q.dialog.state == dialogPlanning })
}

// Busy reports whether ctrl-c stops what runs instead of the program.
func (c causePlansScreen) Busy() bool {
	return c.state == causePlansRunning && c.running().busy() || c.wish.saving.busy()
}

// Close lets go of what was read of the queues.
func (c causePlansScreen) Close() {
	for _, q := range c.queues {
		q.Close()
	}
}

// running is the plan of the queue that is read, or that runs.
func (c *causePlansScreen) running() *planDialog { return &c.queues[c.at].dialog }

// ready are the plans that can run: they are shown, and not refused.
func (c *causePlansScreen) ready() (queues []int) {
	for i := range c.queues {
		if d := &c.queues[i].dialog; d.state == dialogAsking && d.offer().refusal == "" {
			queues = append(queues, i)
		}
	}
	return queues
}

// planned are the plans that are shown and have not run, also those that are refused.
func (c *causePlansScreen) planned() (queues []int) {
	for i := range c.queues {
		if c.queues[i].dialog.asks() {
			queues = append(queues, i)
		}
	}
	return queues
}

// messages are how many a number of plans act on.
func (c *causePlansScreen) messages(queues []int) (n int) {
	for _, i := range queues {
		n += len(c.queues[i].dialog.rows)
	}
	return n
}

// offer is what is asked.
func (c *causePlansScreen) offer() *offer {
	ready := c.ready()
	n, plans := c.messages(ready), make([]*plan.Plan, len(ready))
	for i, at := range ready {
		plans[i] = &c.queues[at].dialog.plan
	}
	o := &offer{does: doesTo(c.env, c.wish.operation, n)}
	if c.env.careful(n) {
		o.carefully(c.env, n, o.does+" of "+model.Plural(len(ready), "queue")+whereTo(plans...))
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
	if c.planning() || slices.ContainsFunc(c.queues, func(q messagesScreen) bool { return q.dialog.unread() }) {
		return false
	}
	return c.consent.given(c.offer())
}

// Keys are those of the state that it is in.
func (c causePlansScreen) Keys() []key.Binding {
	k := c.env.keys
	switch c.state {
	case causePlansWishing:
		return c.wishKeys()
	case causePlansAsking:
		var keys []key.Binding
		if c.agreeable() {
			keys = append(keys, term.Describe(k.Confirm, c.offer().does))
		}
		if c.consent.asked {
			return append(keys, k.Cancel)
		}
		return append(append(keys, c.options()...), k.Cancel)
	case causePlansRunning:
		return c.running().keys()
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
		return append(keys, term.Describe(k.Cancel, "close"))
	}
	return []key.Binding{k.Cancel}
}

// options are the keys that change all plans which have not run.
func (c *causePlansScreen) options() (keys []key.Binding) {
	k, planned := c.env.keys, c.planned()
	switch {
	case !c.wish.operation.Publishes() || len(planned) == 0:
		return nil
	case c.wish.asks == asksQueue:
		keys = append(keys, term.Describe(k.Target, "other queue"))
	case c.wish.asks == asksProgram:
		keys = append(keys, term.Describe(k.Mend, "edit"))
	}
	for _, i := range planned {
		for _, b := range c.queues[i].dialog.options() {
			if same := func(o key.Binding) bool { return o.Help().Key == b.Help().Key }; !slices.ContainsFunc(keys, same) {
				keys = append(keys, b)
			}
		}
	}
	return keys
}

// current is the queue under the cursor.
func (c *causePlansScreen) current() (*messagesScreen, bool) {
	r, ok := c.table.Current()
	if !ok {
		return nil, false
	}
	return &c.queues[r.index], true
}

func (c causePlansScreen) Update(msg tea.Msg) (screen, tea.Cmd) {
	c.queues = slices.Clone(c.queues)
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case topologyMsg:
		c.latest = msg
		cmd = c.polled()
	case tea.KeyMsg:
		cmd = c.handleKey(msg)
	case endedMsg[exportedFiles]:
		cmd = c.saved(msg)
	default: // the answer to what one of them asked for
		cmd = c.each(func(q messagesScreen) (screen, tea.Cmd) { return q.Update(msg) })
	}
	cmd = tea.Batch(cmd, c.onward())
	c.show()
	return c, cmd
}

// each has all queues take something.
func (c *causePlansScreen) each(take func(messagesScreen) (screen, tea.Cmd)) tea.Cmd {
	cmds := make([]tea.Cmd, len(c.queues))
	for i := range c.queues {
		cmds[i] = c.take(i, take)
	}
	return tea.Batch(cmds...)
}

func (c *causePlansScreen) take(i int, take func(messagesScreen) (screen, tea.Cmd)) tea.Cmd {
	next, cmd := take(c.queues[i])
	c.queues[i] = next.(messagesScreen)
	return cmd
}

// polled makes the plans again that nobody has agreed to yet. Those that were agreed to are made again when their turn
// comes.
func (c *causePlansScreen) polled() tea.Cmd {
	switch {
	case c.state == causePlansRunning:
		return nil
	case c.state == causePlansWishing && c.wish.asks == asksQueue:
		c.wish.chooser.polled(c.moveTargets())
		return nil
	case c.state == causePlansWishing:
		return nil // what is shown of a program is what it was tried on
	}
	return c.each(func(q messagesScreen) (screen, tea.Cmd) {
		if !q.asked {
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
		if c.wish.mending.state == mendTrying {
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
	for c.latest.topology != nil && c.state == causePlansReading {
		q := c.queues[c.at]
		switch {
		case !q.asked:
			cmds = append(cmds, c.take(c.at, func(q messagesScreen) (screen, tea.Cmd) { return q.Update(c.latest) }))
			continue
		case q.peek != 0:
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
	k := c.env.keys
	switch {
	case c.state == causePlansWishing:
		return c.wishKey(msg)
	case c.state == causePlansAsking && c.consent.explains(k, msg):
	case c.table.Motion(msg):
	case c.state == causePlansRunning:
		return c.runKey(msg)
	case term.Is(msg, k.Cancel):
		return pop
	case c.state == causePlansEnded:
		return c.endKey(msg)
	case c.state == causePlansReading:
	case term.Is(msg, k.Confirm):
		if c.agreeable() {
			if c.consent.explained(c.env) {
				return c.agree()
			}
			return nil
		}
		c.consent.wrong = !c.planning() && !c.consent.given(c.offer())
	case slices.ContainsFunc(c.options(), func(b key.Binding) bool { return term.Is(msg, b) }):
		return c.option(msg)
	case c.Typing():
		c.consent.typed(msg)
	}
	return nil
}

// option changes all plans that have not run, and makes them again.
func (c *causePlansScreen) option(msg tea.KeyMsg) tea.Cmd {
	switch k := c.env.keys; {
	case term.Is(msg, k.Target):
		c.wish.chooser, c.state = newQueueChooser(c.env, c.moveTargets()), causePlansWishing
		return nil
	case term.Is(msg, k.Mend):
		c.wish.mending.state, c.state = mendTyping, causePlansWishing
		c.wish.mending.messages, _ = c.read()
		return nil
	default:
		c.turn(k, msg)
	}
	return c.each(func(q messagesScreen) (screen, tea.Cmd) {
		if !q.dialog.asks() {
			return q, nil
		}
		cmd := c.optOne(&q.dialog)
		return q, cmd
	})
}

// optOne plans a queue with what was chosen for all.
func (c *causePlansScreen) optOne(d *planDialog) tea.Cmd {
	d.planOptions, d.target, d.mend, d.ahead = c.planOptions, c.wish.target, c.wish.program, nil
	for i := range c.queues {
		first := &c.queues[i].dialog
		if c.queues[i].queue == d.queue {
			break
		}
		if len(first.rows) > 0 && first.state != dialogEnded {
			d.ahead = append(d.ahead, rowsOf{first.queue, first.rows})
		}
	}
	if len(d.rows) == 1 {
		d.over = 0
	}
	return d.work()
}
