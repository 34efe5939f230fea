package ui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"dlxtop/model"
	"dlxtop/model/cause"
	"dlxtop/model/plan"
	"dlxtop/ui/term"
)

// causePlansScreen replays or drops the messages of a cause in several queues. They are read one queue after the other,
// shown together with where they go, and agreed to once: what was read then is what is acted on. The queues are gone
// through in the same order, each with its own plan, account and record in the journal; what does not end well ends it.
type causePlansScreen struct {
	env       *env
	only      ofCause
	operation plan.Operation
	latest    topologyMsg
	state     causePlansState
	queues    []messagesScreen // in the order of the list; those that were read have their dialog open
	at        int              // the one that is read, or that runs
	table     term.Table[model.QueueRef, causePlanRow]
	number    term.TextField // of the messages, where it has to be typed
	canary    bool
	tries     bool
	over      int // which of the spreads each queue takes
}

// causePlansState is how far it is.
type causePlansState int

const (
	causePlansReading causePlansState = iota
	causePlansAsking                  // nothing runs; what has ended stays
	causePlansRunning
	causePlansEnded
)

func newCausePlansScreen(e *env, r causeRow, limits func(model.QueueRef) int, operation plan.Operation) screen {
	c := causePlansScreen{
		env: e, only: ofCause{&r.Group, r.text}, operation: operation, table: newCausePlanTable(e, operation),
		number: term.NewTextField(""),
	}
	for _, q := range r.Queues {
		c.queues = append(c.queues, newCauseScreen(e, q.Of, c.only, limits(q.Of), nil).(messagesScreen))
	}
	c.show()
	return c
}

// actOnCause is the screen that does what a key does with all messages of a cause in several queues; nil: nothing.
func actOnCause(e *env, r causeRow, limits func(model.QueueRef) int, msg tea.KeyMsg) screen {
	switch k := e.keys; {
	case term.Is(msg, k.Replay), term.Is(msg, k.ReplayAll):
		return newCausePlansScreen(e, r, limits, plan.Replay)
	case term.Is(msg, k.Drop), term.Is(msg, k.DropAll):
		return newCausePlansScreen(e, r, limits, plan.Drop)
	}
	if then := causeAction(e.keys, msg); then != nil {
		return newCauseQueuesScreen(e, r, limits, then)
	}
	return nil
}

func (c causePlansScreen) Init() tea.Cmd { return nil }

// Title names what is done.
func (c causePlansScreen) Title() string { return string(c.operation) + " a cause" }

// Typing keeps all keys here while a number is typed, and while something runs.
func (c causePlansScreen) Typing() bool {
	return c.state == causePlansRunning || c.state == causePlansAsking && c.prompt() != ""
}

// Busy reports whether ctrl-c stops what runs instead of the program.
func (c causePlansScreen) Busy() bool { return c.state == causePlansRunning && c.running().busy() }

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

// prompt asks for the number of messages where a plain enter does not agree; else it is "".
func (c *causePlansScreen) prompt() string {
	n := c.messages(c.ready())
	if n == 0 || !c.env.careful(n) {
		return ""
	}
	why := "that many messages"
	if c.env.production {
		why = "production"
	}
	return fmt.Sprintf("To %s %s (%s), type their number:", c.operation, model.Plural(n, "message"), why)
}

// agreeable reports whether enter agrees: all plans are made, the number is typed where it is asked for, and nothing
// has just changed.
func (c *causePlansScreen) agreeable() bool {
	ready := c.ready()
	if c.state != causePlansAsking || len(ready) == 0 {
		return false
	}
	for i := range c.queues {
		if d := &c.queues[i].dialog; d.state == dialogPlanning || d.unread() {
			return false
		}
	}
	typed := strings.ReplaceAll(c.number.Text(), ",", "")
	return c.prompt() == "" || typed == strconv.Itoa(c.messages(ready))
}

// Keys are those of the state that it is in.
func (c causePlansScreen) Keys() []key.Binding {
	k := c.env.keys
	switch c.state {
	case causePlansAsking:
		var keys []key.Binding
		if c.agreeable() {
			keys = append(keys, term.Describe(k.Confirm, string(c.operation)))
		}
		return append(append(keys, c.options()...), k.Cancel)
	case causePlansRunning:
		return c.running().keys()
	case causePlansEnded:
		var keys []key.Binding
		if len(c.ready()) > 0 {
			keys = append(keys, term.Describe(k.Confirm, "go on"))
		}
		if q, ok := c.current(); ok && q.dialog.state == dialogEnded && q.dialog.canUndo() {
			keys = append(keys, k.Undo)
		}
		return append(keys, k.Resolve, term.Describe(k.Cancel, "close"))
	}
	return []key.Binding{k.Cancel}
}

// options are the keys that change all plans which have not run.
func (c *causePlansScreen) options() (keys []key.Binding) {
	k, planned := c.env.keys, c.planned()
	if !c.operation.Publishes() || c.env.readOnly || len(c.ready()) == 0 && !c.canary || len(planned) == 0 {
		return nil
	}
	d := c.queues[planned[0]].dialog
	d.canary, d.tries, d.over = c.canary, c.tries, c.over
	keys = append(keys, term.Describe(k.Canary, d.canaryWords()))
	counts := func(i int) bool { return c.queues[i].dialog.plan.CountsTries() }
	if slices.ContainsFunc(planned, counts) {
		keys = append(keys, term.Describe(k.KeepTries, d.triesWords()))
	}
	return append(keys, term.Describe(k.Spread, d.spreadWords()))
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
	if c.state == causePlansRunning {
		return nil
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
	case causePlansRunning:
		return c.runOn()
	}
	return nil
}

// readOn plans what was read of a queue, and reads the next.
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
		case len(q.table.Shown) > 0:
			cmds = append(cmds, c.take(c.at, func(q messagesScreen) (screen, tea.Cmd) {
				return q.act(c.operation, q.allShown)
			}))
		}
		if c.at++; c.at == len(c.queues) {
			c.at, c.state = 0, causePlansAsking
		}
	}
	return tea.Batch(cmds...)
}

// runOn starts the next plan when one has ended well. One that is no longer what was agreed to is asked about again.
func (c *causePlansScreen) runOn() tea.Cmd {
	switch d := c.running(); d.state {
	case dialogAsking:
		c.state = causePlansAsking
	case dialogEnded:
		rest := c.ready()
		if !d.well() || len(rest) == 0 {
			c.state = causePlansEnded
			return nil
		}
		return c.start(rest[0])
	default:
		return nil
	}
	c.number.Set("")
	return nil
}

// start checks a plan that was agreed to, and runs it.
func (c *causePlansScreen) start(i int) tea.Cmd {
	c.at, c.state = i, causePlansRunning
	c.table.MoveTo(i)
	return c.take(i, func(q messagesScreen) (screen, tea.Cmd) {
		cmd := q.dialog.check()
		return q, cmd
	})
}

// agree starts the first plan. Those behind it stay as they were agreed to.
func (c *causePlansScreen) agree() tea.Cmd {
	ready := c.ready()
	for _, i := range ready {
		c.queues[i].dialog.request = c.env.newRequest() // a plan that is on its way comes too late
	}
	return c.start(ready[0])
}

func (c *causePlansScreen) handleKey(msg tea.KeyMsg) tea.Cmd {
	k := c.env.keys
	switch {
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
			return c.agree()
		}
	case slices.ContainsFunc(c.options(), func(b key.Binding) bool { return term.Is(msg, b) }):
		return c.option(msg)
	case c.prompt() != "":
		c.number.Update(msg)
	}
	return nil
}

// option changes all plans that have not run, and makes them again.
func (c *causePlansScreen) option(msg tea.KeyMsg) tea.Cmd {
	switch k := c.env.keys; {
	case term.Is(msg, k.Canary):
		c.canary = !c.canary
	case term.Is(msg, k.KeepTries):
		c.tries = !c.tries
	default:
		c.over = (c.over + 1) % len(spreads)
	}
	return c.each(func(q messagesScreen) (screen, tea.Cmd) {
		d := &q.dialog
		if !d.asks() {
			return q, nil
		}
		d.canary, d.tries, d.over = c.canary, c.tries, 0
		if len(d.rows) > 1 {
			d.over = c.over
		}
		cmd := d.work()
		return q, cmd
	})
}

// runKey stops what runs, and ends the wait of a canary. Before it runs, nothing has happened.
func (c *causePlansScreen) runKey(msg tea.KeyMsg) tea.Cmd {
	k, d := c.env.keys, c.running()
	if d.state == dialogChecking {
		if term.Is(msg, k.Cancel) || term.Is(msg, k.ForceQuit) {
			d.state, d.request = dialogAsking, c.env.newRequest()
		}
		return nil
	}
	return c.take(c.at, func(q messagesScreen) (screen, tea.Cmd) { return q.Update(msg) })
}

// endKey takes a key when what was agreed to has ended.
func (c *causePlansScreen) endKey(msg tea.KeyMsg) tea.Cmd {
	k := c.env.keys
	switch q, ok := c.current(); {
	case term.Is(msg, k.Confirm):
		if len(c.ready()) == 0 {
			return pop
		}
		c.state = causePlansAsking
		return c.polled()
	case term.Is(msg, k.Resolve):
		return c.env.marks.turn(c.latest.topology, c.only.Group, cause.Resolved)
	case term.Is(msg, k.Undo) && ok && q.dialog.state == dialogEnded && q.dialog.canUndo():
		return push(newUndoScreen(c.env, q.dialog.account.JournalID))
	}
	return nil
}
