package causes

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/action"
	"github.com/dlxtop/dlxtop/model/mend"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

func (c *causePlansScreen) newTable() term.Table[int, int] {
	table := term.NewTable(c.env.Plain, func(i int) int { return i }, cmp.Compare[int], c.cells, term.Columns(`
		QUEUE:    20 flex 2 max 50 middle
		MESSAGES:  8 right danger
		TO:       14 flex 1 max 40 middle
		STATE:    20 flex 2
	`))
	if c.Asks == messages.AsksPath || !c.Operation.Publishes() {
		table.Hide([]string{"TO"})
	}

	return table
}

func (c *causePlansScreen) cells(i int) []any {
	q, to := &c.queues[i], ""
	var count model.Opt[int64]
	if n := len(q.Rows); n > 0 {
		count = model.Some(int64(n))
	}
	if q.Open() {
		to = action.Reached(q.Action())
	}

	return []any{q.Queue.Printable(), count, to, c.stateOf(i)}
}

func (c *causePlansScreen) stateOf(i int) term.Span {
	d, reading := &c.queues[i], c.state == causePlansReading
	switch {
	case reading && i > c.at:
		return term.Text.Span("")
	case reading && i == c.at:
		return term.Accent.Span("reading …")
	case d.wrong != "":
		return term.Danger.Span(term.MarkError + " not read")
	case !d.Open() && len(d.Rows) == 0:
		return term.Muted.Span("none is left")
	case !d.Open():
		return term.Text.Span("read")
	}

	switch d.State {
	case shell.DialogEnded:
		if d.Err == nil && d.Account.Complete() {
			return term.Good.Span(d.Summary())
		}
		return term.Warning.Span(d.Summary())
	case shell.DialogRunning, shell.DialogStopping:
		a := &d.Account
		return term.Accent.Span(model.Sayf("%v of %v", a.Done(), a.Planned))
	case shell.DialogChecking:
		return term.Muted.Span("reading the topology again …")
	case shell.DialogPlanning:
		return term.Muted.Span("working out where they go …")
	}

	switch {
	case d.Offer().Refusal != "":
		return term.Danger.Span(term.MarkError + " not possible")
	case d.Unchecked != nil:
		return term.Warning.Span(term.MarkWarning + " not checked")
	case !d.ChangedAt.IsZero():
		return term.Warning.Span(term.MarkWarning + " changed")
	case len(d.Plan.Warnings) > 0:
		return term.Warning.Span(term.MarkWarning + " ready")
	}

	return term.Good.Span("ready")
}

func (c *causePlansScreen) View(width, height int) string {
	foot := c.lines(width)
	c.foot(foot)
	lines := []string{ // headlines of them
		term.Strong.Render(term.Cut(" cause: "+c.Words, width-1)),
		" " + term.Cut(c.headline(), width-2),
	}
	rows, pane := c.split(height, len(lines)+len(foot.Lines))
	lines = append(lines, strings.Split(c.table.View(width, rows), "\n")...)
	lines = append(lines, strings.Split(term.Block(c.pane(width, pane), width, max(pane, 0)), "\n")...)
	page := term.Block(append(lines, foot.Indented()...), width, height)

	if c.state == causePlansWishing {
		return c.env.Overlay(page, c.asking().View(width, height), width, height)
	}

	return page
}

const headlines = 2

// split divides the room between the list and the pane below it.
func (c *causePlansScreen) split(height, others int) (rows, pane int) {
	room := height - others
	rows = max(min(len(c.queues)+1, room/2), 2)
	return rows, room - rows
}

// scrollPane moves what the pane shows where not all of it fits. Pages are those of the list where that does not fit,
// either.
func (c *causePlansScreen) scrollPane(msg tea.KeyMsg) bool {
	paged := key.Matches(msg, press.PageDown, press.PageUp) && c.listed >= len(c.queues)
	return (paged || key.Matches(msg, press.HalfDown, press.HalfUp)) && c.window.Scroll(msg)
}

func (c *causePlansScreen) Prepare(width, height int) tea.Cmd {
	foot := c.lines(width)
	c.foot(foot)
	rows, _ := c.split(height, headlines+len(foot.Lines))
	c.listed = rows - 1
	if c.Asks == messages.AsksProgram && c.state == causePlansWishing {
		c.mending.Prepare(width, height)
	}
	return nil
}

func (c *causePlansScreen) headline() string {
	rest := c.ready()
	if c.state == causePlansWishing {
		rest = c.left()
	}

	what := model.Sayf("%v message(s) of %v queue(s)", c.messages(rest), len(rest))
	switch c.state {
	case causePlansReading:
		return fmt.Sprintf("reading queue %d of %d …", c.at+1, len(c.queues))
	case causePlansWishing:
		if unread := c.unread(); unread != "" {
			what += "; " + unread
		}
		return what
	case causePlansAsking:
		if len(c.where((*act.QueueAction).Open)) == 0 {
			return "nothing to " + string(c.Operation) + ": no message of this cause was read"
		}
		return string(c.Operation) + " " + what + c.asOf()
	case causePlansRunning:
		if len(rest) > 0 {
			return c.summary() + ", then " + what
		}
	}

	return c.summary()
}

func (c *causePlansScreen) summary() string {
	a := c.account()
	return act.DoneWords(c.Operation.Done(), &a)
}

func (c *causePlansScreen) asOf() string {
	var first time.Time
	arrived := int64(0)
	for q := range model.Each(c.queues) {
		if !q.Open() {
			continue
		}
		if at := q.Others.Frozen.At; first.IsZero() || at.Before(first) {
			first = at
		}
		arrived += q.Others.Arrived
	}

	words := ", as read at " + first.Local().Format("15:04:05")
	if later := plan.ArrivedWords(arrived); later != "" {
		words += "; " + later
	}

	return words
}

func (c *causePlansScreen) pane(width, height int) []string {
	i, ok := c.table.Current()
	if !ok || height < 1 {
		return nil
	}
	l := c.paneLines(width)
	position := cmp.Or(c.window.Fit(l, height-1), c.table.Position())
	head := term.Partition(c.queues[i].Queue.Printable(), position, width)
	return append([]string{head}, l.Indented()...)
}

// paneLines returns all lines about the queue under the cursor.
func (c *causePlansScreen) paneLines(width int) *shell.DialogLines {
	l := c.lines(width)
	i, ok := c.table.Current()
	if !ok {
		return l
	}
	q := &c.queues[i]
	switch {
	case q.wrong != "":
		l.Stress("not read", q.wrong, term.Danger)
	case q.Open() && q.Plan.Operation != "":
		if refusal := q.Offer().Refusal; refusal != "" && q.Asks() {
			l.Stress("", term.MarkError+" not possible: "+refusal, term.Danger)
		}
		q.Say(l)
	}

	return l
}

// lines are for a page of this width: lines longer than a dialog's are hard to read.
func (c *causePlansScreen) lines(width int) *shell.DialogLines {
	return shell.NewPaneLines(min(width, 126))
}

func (c *causePlansScreen) foot(l *shell.DialogLines) {
	warn := func(words string) {
		if words != "" {
			l.Say("", term.MarkWarning+" "+words, term.Warning)
		}
	}

	l.Blank()
	ready := c.ready()
	asking, ended := c.state == causePlansAsking, c.state == causePlansEnded
	left := len(c.planned()) - len(ready)
	switch {
	case c.state == causePlansWishing:
		return
	case c.state == causePlansRunning:
		c.running().SayStop(l)
		return
	case asking && left > 0:
		their := map[bool]string{true: "its", false: "their"}[left == 1]
		warn(model.Sayf("%v queue(s) left out: %s messages stay where they are", left, their))
	case ended && len(ready) > 0:
		warn(model.Sayf("it ended before %v queue(s): %v message(s) are untouched", len(ready), c.messages(ready)))
	}

	if asking || ended {
		warn(c.unread())
	}
	if asking {
		c.consent.Say(l, c.offer())
	}
	l.Keys(c.Keys()...)
}

// causeWish is what to do with the messages of a cause in several queues, and what is asked for once they were read.
type causeWish struct {
	messages.Wish
	chooser act.QueueChooser
	want    plan.ActionWant // by the keys; a move is into a queue of that name in the virtual host of each queue
	mending act.MendPrompt
	agreed  *mend.Program // that of the displayed plans
	saving  act.ExportDialog
}

// ask asks for the rest, when all queues were read. If nothing was read there is nothing to ask for.
func (c *causePlansScreen) ask() {
	c.state = causePlansAsking
	left := c.left()
	if len(left) == 0 || c.Asks == messages.AsksNothing {
		return
	}
	c.state = causePlansWishing
	words := model.Sayf("all of the cause in %v queue(s)", len(left))

	switch c.Asks {
	case messages.AsksQueue:
		c.chooser = act.NewQueueChooser(c.env, c.moveTargets(), act.ChooserAnswers{
			Choose: func(q *model.Queue) tea.Cmd {
				c.want.ToQueue(q.Name)
				c.state = causePlansAsking
				return c.planAll()
			},
			Back:  c.unask,
			Title: func() string { return model.Sayf("Move %v message(s)", c.messages(c.left())) },
		})

	case messages.AsksProgram:
		c.mending = act.NewMendPrompt(c.env, c.messages(left), words, act.MendAnswers{
			Back: c.unask,
			Try: func(program *mend.Program) tea.Cmd {
				c.want.Mend = program
				return c.planAll()
			},
			Agree: func() tea.Cmd {
				c.agreed, c.state = c.want.Mend, causePlansAsking
				return nil
			},
		})

	case messages.AsksPath:
		subjects := model.Mapped(c.queues, func(q *causeQueue) act.Subject { return q.Subject })
		c.saving = messages.NewCauseExport(c.env, subjects, words)
	}
}

// left returns the queues with messages of the cause that were read and not acted on yet.
func (c *causePlansScreen) left() []int { return c.where(isLeft) }

func isLeft(d *act.QueueAction) bool { return len(d.Rows) > 0 && d.State != shell.DialogEnded }

// unread says what of the cause was not read, "" when all was: it is not acted on.
func (c *causePlansScreen) unread() string {
	queues, count := 0, int64(0)
	for i := range c.queues {
		count += c.queues[i].Others.Unread
		if c.queues[i].wrong != "" {
			queues++
		}
	}

	var words []string
	if queues > 0 {
		words = append(words, model.Plural(queues, "queue"))
	}
	if count > 0 {
		words = append(words, model.Sayf("%v message(s) behind what was read", count))
	}
	if len(words) == 0 {
		return ""
	}

	return "not read: " + strings.Join(words, ", ")
}

// moveTargets returns the queues that messages can be moved to, each name once: it stands for the queue of that name in
// each virtual host.
func (c *causePlansScreen) moveTargets() (targets []*model.Queue) {
	named := map[string]bool{}
	vhosts := map[string]bool{}
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

// planAll makes the plans for what was read, by the current wish.
func (c *causePlansScreen) planAll() tea.Cmd { return c.each(c.planOne) }

func (c *causePlansScreen) planOne(q *causeQueue) tea.Cmd {
	if !isLeft(&q.QueueAction) {
		return nil
	}
	q.Topology = c.latest.Topology
	q.QueueAction = act.NewQueueAction(c.env, c.Operation, q.Subject)
	return c.optOne(&q.QueueAction)
}

// asking returns what asks for the rest.
func (c *causePlansScreen) asking() act.Asking {
	switch c.Asks {
	case messages.AsksProgram:
		return &c.mending
	case messages.AsksPath:
		return &c.saving
	default:
		return &c.chooser
	}
}

// tried shows what the program makes of the messages of all queues, once the last of them was planned.
func (c *causePlansScreen) tried() {
	var all []*plan.Mended
	refusal, can := "", false
	for d := range model.Each(c.queues) {
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
	c.mending.Show(&mended, refusal)
}

// unask goes back to the plans that were made before it asked, if there are any.
func (c *causePlansScreen) unask() tea.Cmd {
	c.state = causePlansAsking
	switch {
	case c.want.Mode == "" && c.agreed == nil:
		return shell.Pop
	case c.agreed == nil:
		return nil
	}

	c.want.Mend = c.agreed
	return c.planAll()
}
