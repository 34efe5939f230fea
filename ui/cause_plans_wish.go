package ui

import (
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/mend"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/term"
)

// causeWish is what is done with the messages of a cause in several queues, and what is asked for once they were read.
type causeWish struct {
	operation plan.Operation // "": a copy is written
	asks      causeAsks

	chooser queueChooser
	target  string // where messages are moved to, in the virtual host of each queue; "": not yet chosen
	mending mendPrompt
	program *mend.Program // that changes the messages; nil: none does
	agreed  *mend.Program // the one that the plans were shown with last
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

// ask opens what asks for the rest, when all queues were read. Where nothing was read there is nothing to ask for.
func (c *causePlansScreen) ask() tea.Cmd {
	c.state = causePlansAsking
	count, queues := c.read()
	if count == 0 || c.wish.asks == asksNothing {
		return nil
	}
	c.state = causePlansWishing
	words := "all of the cause in " + model.Plural(queues, "queue")
	switch c.wish.asks {
	case asksQueue:
		c.wish.chooser = newQueueChooser(c.env, c.moveTargets())
	case asksProgram:
		c.wish.mending = newMendPrompt(c.env, count, words)
	case asksPath:
		c.wish.saving = newCauseExport(c.env, c.queues, words)
	}
	return nil
}

// read is how many messages of the cause were read that nothing was done with yet, and in how many queues.
func (c *causePlansScreen) read() (count, queues int) {
	for i := range c.queues {
		if n := len(c.queues[i].table.Shown); n > 0 && c.queues[i].dialog.state != dialogEnded {
			count, queues = count+n, queues+1
		}
	}
	return count, queues
}

// unread says what of the cause was not read, "" when all was: nothing is done with that.
func (c *causePlansScreen) unread() string {
	queues, count := 0, int64(0)
	for i := range c.queues {
		q := &c.queues[i]
		if q.failed != nil || q.refused.Refusal.Refused() {
			queues++
		} else if q.asked && q.peek == 0 {
			count += q.others().unread
		}
	}
	var words []string
	if queues > 0 {
		words = append(words, model.Plural(queues, "queue"))
	}
	if count > 0 {
		words = append(words, model.Plural(count, "message")+" behind what was read")
	}
	if len(words) == 0 {
		return ""
	}
	return "not read: " + strings.Join(words, ", ")
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
		if w.agreed == nil {
			return pop
		}
		w.program, c.state = w.agreed, causePlansAsking
		return c.planAll()
	case mendTry:
		program, keep := w.mending.try()
		if program == nil {
			return nil
		}
		w.program = program
		return tea.Batch(keep, c.planAll())
	case mendAgree:
		w.agreed, c.state = w.program, causePlansAsking
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
		count, _ := c.read()
		return l.box("Move " + model.Plural(count, "message"))
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
