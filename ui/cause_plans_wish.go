package ui

import (
	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"dlxtop/model"
	"dlxtop/model/mend"
	"dlxtop/model/plan"
	"dlxtop/ui/term"
)

// causeWish is what is done with the messages of a cause in several queues, and what is asked for once they were read.
type causeWish struct {
	operation plan.Operation // "": a copy is written
	asks      causeAsks

	chooser queueChooser
	target  string // where messages are moved to, in the virtual host of each queue; "": not yet chosen
	mending mendPrompt
	program *mend.Program // that changes the messages; nil: none does
	saving  exportDialog
}

// causeAsks is what has to be known before there is a plan.
type causeAsks int

const (
	asksNothing causeAsks = iota
	asksQueue
	asksProgram
	asksPath
)

// causeWishOf is what a key does with all messages of a cause in several queues.
func causeWishOf(k *keyMap, msg tea.KeyMsg) (w causeWish, ok bool) {
	switch {
	case term.Is(msg, k.Replay), term.Is(msg, k.ReplayAll):
		return causeWish{operation: plan.Replay}, true
	case term.Is(msg, k.Drop), term.Is(msg, k.DropAll):
		return causeWish{operation: plan.Drop}, true
	case term.Is(msg, k.Move):
		return causeWish{operation: plan.Move, asks: asksQueue}, true
	case term.Is(msg, k.Mend):
		return causeWish{operation: plan.Replay, asks: asksProgram}, true
	case term.Is(msg, k.Export):
		return causeWish{asks: asksPath}, true
	}
	return w, false
}

func (w *causeWish) title() string {
	switch w.asks {
	case asksProgram:
		return "edit a cause"
	case asksPath:
		return "export a cause"
	}
	return string(w.operation) + " a cause"
}

// ask opens what asks for the rest, when all queues were read.
func (c *causePlansScreen) ask() tea.Cmd {
	c.state = causePlansWishing
	n := c.read()
	switch {
	case n == 0 && c.wish.asks != asksNothing:
		return tea.Batch(pop, notice("no message of this cause is in the queues any more", true))
	case c.wish.asks == asksQueue:
		c.wish.chooser = newQueueChooser(c.env, c.moveTargets())
	case c.wish.asks == asksProgram:
		c.wish.mending = newMendPrompt(c.env, n, "all of the cause in "+model.Plural(len(c.queues), "queue"))
	case c.wish.asks == asksPath:
		c.wish.saving = newCauseExport(c.env, c.queues)
	default:
		c.state = causePlansAsking
	}
	return nil
}

// read is how many messages of the cause were read.
func (c *causePlansScreen) read() (n int) {
	for i := range c.queues {
		n += len(c.queues[i].table.Shown)
	}
	return n
}

// moveTargets are the queues that messages can be moved to, each name once: each queue's go to that of the name in its
// own virtual host.
func (c *causePlansScreen) moveTargets() (targets []*model.Queue) {
	named, vhosts := map[string]bool{}, map[string]bool{}
	for i := range c.queues {
		from := c.queues[i].queue
		if vhosts[from.VHost] {
			continue
		}
		vhosts[from.VHost] = true
		for _, q := range plan.MoveTargets(c.latest.topology, from) {
			if !named[q.Name] {
				named[q.Name], targets = true, append(targets, q)
			}
		}
	}
	return targets
}

// planAll makes the plans for what was read, by the wish as it is now.
func (c *causePlansScreen) planAll() tea.Cmd {
	cmds := make([]tea.Cmd, len(c.queues))
	for i := range c.queues {
		cmds[i] = c.planOne(i)
	}
	return tea.Batch(cmds...)
}

// planOne plans what was read of a queue.
func (c *causePlansScreen) planOne(i int) tea.Cmd {
	q := &c.queues[i]
	if len(q.table.Shown) == 0 || q.dialog.state == dialogEnded {
		return nil
	}
	rows, words := q.allShown()
	q.dialog, _ = newPlanDialog(c.env, c.latest.topology, c.wish.operation, q.queue, rows, words, q.others())
	return c.optOne(&q.dialog)
}

// wishKey takes a key while something is asked for.
func (c *causePlansScreen) wishKey(msg tea.KeyMsg) tea.Cmd {
	w, k := &c.wish, c.env.keys
	switch {
	case w.asks == asksProgram:
		return c.programKey(msg)
	case w.asks == asksPath:
		return c.saved(msg)
	case !term.Is(msg, k.Cancel):
		if w.chooser.handle(msg) {
			q, _ := w.chooser.current()
			w.target, c.state = q.Name, causePlansAsking
			return c.planAll()
		}
	case w.target == "":
		return pop
	default:
		c.state = causePlansAsking
	}
	return nil
}

// programKey takes a key while a program is asked for.
func (c *causePlansScreen) programKey(msg tea.KeyMsg) tea.Cmd {
	w := &c.wish
	switch w.mending.press(msg) {
	case mendBack:
		return pop
	case mendTry:
		program, keep := w.mending.try()
		if program == nil {
			return nil
		}
		w.program = program
		return tea.Batch(keep, c.planAll())
	case mendAgree:
		c.state = causePlansAsking
	}
	return nil
}

// tried shows what the program makes of the messages of all queues, once the last of them was planned.
func (c *causePlansScreen) tried() {
	var all []*plan.Mended
	refusal, can := "", false
	for i := range c.queues {
		d := &c.queues[i].dialog
		switch {
		case d.state == dialogPlanning:
			return
		case d.state != dialogAsking:
			continue
		}
		if d.plan.Mended != nil {
			all = append(all, d.plan.Mended)
		}
		if words := d.offer().refusal; words == "" {
			can = true
		} else if refusal == "" {
			refusal = words
		}
	}
	if can {
		refusal = ""
	}
	mended := plan.MendedTogether(all)
	c.wish.mending.show(&mended, refusal)
}

// saved gives a message to the dialog of an export. When that closes there is nothing left to do here.
func (c *causePlansScreen) saved(msg tea.Msg) tea.Cmd {
	var cmd tea.Cmd
	if c.wish.saving, cmd = c.wish.saving.update(msg); c.wish.saving.open() {
		return cmd
	}
	return tea.Batch(cmd, pop)
}

// wishBox draws what is asked for; "" when nothing is.
func (c *causePlansScreen) wishBox(width, height int) string {
	switch w := &c.wish; {
	case c.state != causePlansWishing:
		return ""
	case w.asks == asksProgram:
		return w.mending.view(width)
	case w.asks == asksPath:
		return w.saving.view(width)
	default:
		l := newDialogLines(c.env.styles, width)
		w.chooser.view(l, height-2)
		return l.box("Move " + model.Plural(c.read(), "message"))
	}
}

// wishKeys are those of what is asked for.
func (c *causePlansScreen) wishKeys() []key.Binding {
	switch w := &c.wish; w.asks {
	case asksProgram:
		return w.mending.keys()
	case asksPath:
		return w.saving.keys()
	default:
		return w.chooser.keys()
	}
}
