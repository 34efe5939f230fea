package causes

import (
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/mend"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// causeWish is what is done with the messages of a cause in several queues, and what is asked for once they were read.
type causeWish struct {
	operation plan.Operation // "": a copy is written
	asks      causeAsks

	chooser act.QueueChooser
	target  string // where messages are moved to, in the virtual host of each queue; "": not yet chosen
	mending act.MendPrompt
	program *mend.Program // that changes the messages; nil: none does
	agreed  *mend.Program // the one that the plans were shown with last
	saving  act.ExportDialog
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
func causeWishOf(k *shell.KeyMap, msg tea.KeyMsg) (w causeWish, ok bool) {
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
		c.wish.chooser = act.NewQueueChooser(c.env, c.moveTargets())
	case asksProgram:
		c.wish.mending = act.NewMendPrompt(c.env, count, words)
	case asksPath:
		c.wish.saving = messages.NewCauseExport(c.env, c.queues, words)
	}
	return nil
}

// read is how many messages of the cause were read that nothing was done with yet, and in how many queues.
func (c *causePlansScreen) read() (count, queues int) {
	for i := range c.queues {
		if n := len(c.queues[i].Table.Shown); n > 0 && c.queues[i].Dialog.State != shell.DialogEnded {
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
		if q.Failed != nil || q.Refused.Refusal.Refused() {
			queues++
		} else if q.Asked && q.Peek == 0 {
			count += q.Others().Unread
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
		from := c.queues[i].Queue
		if vhosts[from.VHost] {
			continue
		}
		vhosts[from.VHost] = true
		for _, q := range plan.MoveTargets(c.latest.Topology, from) {
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
	if len(q.Table.Shown) == 0 || q.Dialog.State == shell.DialogEnded {
		return nil
	}
	rows, words := q.AllShown()
	q.Dialog, _ = act.NewPlanDialog(c.env, c.latest.Topology, c.wish.operation, q.Queue, rows, words, q.Others())
	return c.optOne(&q.Dialog)
}

// wishKey takes a key while something is asked for.
func (c *causePlansScreen) wishKey(msg tea.KeyMsg) tea.Cmd {
	w, k := &c.wish, c.env.Keys
	switch {
	case w.asks == asksProgram:
		return c.programKey(msg)
	case w.asks == asksPath:
		return c.saved(msg)
	case !term.Is(msg, k.Cancel):
		if w.chooser.Handle(msg) {
			q, _ := w.chooser.Current()
			w.target, c.state = q.Name, causePlansAsking
			return c.planAll()
		}
	case w.target == "":
		return shell.Pop
	default:
		c.state = causePlansAsking
	}
	return nil
}

// programKey takes a key while a program is asked for.
func (c *causePlansScreen) programKey(msg tea.KeyMsg) tea.Cmd {
	w := &c.wish
	switch w.mending.Press(msg) {
	case act.MendBack:
		if w.agreed == nil {
			return shell.Pop
		}
		w.program, c.state = w.agreed, causePlansAsking
		return c.planAll()
	case act.MendTry:
		program, keep := w.mending.Try()
		if program == nil {
			return nil
		}
		w.program = program
		return tea.Batch(keep, c.planAll())
	case act.MendAgree:
		w.agreed, c.state = w.program, causePlansAsking
	}
	return nil
}

// tried shows what the program makes of the messages of all queues, once the last of them was planned.
func (c *causePlansScreen) tried() {
	var all []*plan.Mended
	refusal, can := "", false
	for i := range c.queues {
		d := &c.queues[i].Dialog
		switch {
		case d.State == shell.DialogPlanning:
			return
		case d.State != shell.DialogAsking:
			continue
		}
		if d.Plan.Mended != nil {
			all = append(all, d.Plan.Mended)
		}
		if words := d.Offer().Refusal; words == "" {
			can = true
		} else if refusal == "" {
			refusal = words
		}
	}
	if can {
		refusal = ""
	}
	mended := plan.MendedTogether(all)
	c.wish.mending.Show(&mended, refusal)
}

// saved gives a message to the dialog of an export. When that closes there is nothing left to do here.
func (c *causePlansScreen) saved(msg tea.Msg) tea.Cmd {
	var cmd tea.Cmd
	if c.wish.saving, cmd = c.wish.saving.Update(msg); c.wish.saving.Open() {
		return cmd
	}
	return tea.Batch(cmd, shell.Pop)
}

// wishBox draws what is asked for; "" when nothing is.
func (c *causePlansScreen) wishBox(width, height int) string {
	switch w := &c.wish; {
	case c.state != causePlansWishing:
		return ""
	case w.asks == asksProgram:
		return w.mending.View(width)
	case w.asks == asksPath:
		return w.saving.View(width)
	default:
		l := shell.NewDialogLines(c.env.Styles, width)
		w.chooser.View(l, height-2)
		count, _ := c.read()
		return l.Box("Move " + model.Plural(count, "message"))
	}
}

// wishKeys are those of what is asked for.
func (c *causePlansScreen) wishKeys() []key.Binding {
	switch w := &c.wish; w.asks {
	case asksProgram:
		return w.mending.Keys()
	case asksPath:
		return w.saving.Keys()
	default:
		return w.chooser.Keys()
	}
}
